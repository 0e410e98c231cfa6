"""Slowing down whoever guesses passwords, by name and by address."""

from __future__ import annotations

import ipaddress
import math
from dataclasses import dataclass
from datetime import datetime

from headgate.storage import login_attempts
from headgate.storage.database import Tx
from headgate.storage.login_attempts import FORGET_AFTER, Patience

_NAME_LENGTH = 100

_OF_A_NAME = (5, 60.0)
"""Free failures and the longest wait. Short, or anybody could lock a person out by their name."""
_OF_AN_ADDRESS = (20, 900.0)
_IPV6_SITE = 64
"""One site has all addresses of a /64 to choose from."""


class Throttled(Exception):
    """Too many attempts; the next one counts after the wait."""

    def __init__(self, wait_s: int) -> None:
        super().__init__(f"too many attempts; wait {wait_s} s")
        self.wait_s = wait_s


@dataclass(frozen=True)
class Attempt:
    """Who tries to sign in, from where."""

    name: str
    address: str

    @property
    def name_key(self) -> str:
        return f"name:{self.name.strip().lower()[:_NAME_LENGTH]}"

    @property
    def address_key(self) -> str:
        return f"address:{_network(self.address)}"


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, _IPV6_SITE), strict=False))


async def count_attempt(tx: Tx, attempt: Attempt, *, now: datetime) -> None:
    """Count the attempt before the password is looked at; raise `Throttled` if one must wait.

    The exception rolls the count back: knocking at a closed door does not keep it closed.
    """
    for key, (free_failures, longest_s) in (
        (attempt.address_key, _OF_AN_ADDRESS),
        (attempt.name_key, _OF_A_NAME),
    ):
        patience = Patience(free_failures, longest_s, forget_before=now - FORGET_AFTER)
        if not await login_attempts.count_attempt(tx, key, patience, now=now):
            until = await login_attempts.blocked_until(tx, key)
            raise Throttled(max(1, math.ceil((until - now).total_seconds())) if until else 1)


async def forgive(tx: Tx, attempt: Attempt, *, now: datetime) -> None:
    """Note that the password was right."""
    await login_attempts.forgive(tx, name_key=attempt.name_key, address_key=attempt.address_key)
    await login_attempts.delete_old_attempts(tx, forget_before=now - FORGET_AFTER)
