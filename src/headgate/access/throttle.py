"""Slowing down guesses at passwords, by user, address and known browser."""

from __future__ import annotations

import ipaddress
import math
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.access.tokens import token_hash
from headgate.storage.access import login_attempts
from headgate.storage.access.known_browsers import is_known_browser
from headgate.storage.access.login_attempts import FORGET_AFTER, Patience
from headgate.storage.database import Tx

_NAME_LENGTH = 100


@dataclass(frozen=True)
class Limit:
    """How many failures are free, and the longest wait after that."""

    free_failures: int
    longest_s: float


_OF_A_USER = Limit(5, 60.0)
"""Short, or anybody could lock a person out by their name; also of one known browser."""
_OF_AN_ADDRESS = Limit(20, 900.0)
_IPV6_SITE = 64
"""One site has all addresses of a /64 to choose from."""


class Throttled(Exception):
    """Too many attempts; the next one counts after the wait."""

    def __init__(self, wait_s: int) -> None:
        super().__init__(f"too many attempts; wait {wait_s} s")
        self.wait_s = wait_s


@dataclass(frozen=True)
class Attempt:
    """Who tries a password, from where."""

    name: str
    address: str
    browser: str = ""
    """Secret of a browser; if it signed this user in before, only its own failures count against it."""


@dataclass(frozen=True)
class Counted:
    """Under which keys an attempt was counted."""

    slate: str
    """Of the user or the browser; wiped by the right password."""
    address: str | None = None


def network_of(address: str) -> str:
    """Return what addresses of one site have in common."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, _IPV6_SITE), strict=False))


async def count_attempt(tx: Tx, attempt: Attempt, user_id: UUID | None, *, now: datetime) -> Counted:
    """Count an attempt before the password is checked; raise `Throttled` if it has to wait.

    The exception rolls the count back: knocking at a closed door does not keep it closed. Users are counted
    by id, so that no other spelling of a name has a slate of its own.
    """
    browser = token_hash(attempt.browser) if attempt.browser else b""
    if user_id and browser and await is_known_browser(tx, browser, user_id=user_id, now=now):
        counted = Counted(f"browser:{browser.hex()}")
        await _count(tx, counted.slate, _OF_A_USER, now=now)
        return counted
    slate = f"user:{user_id}" if user_id else f"name:{attempt.name.casefold()[:_NAME_LENGTH]}"
    address = f"address:{network_of(attempt.address)}"
    await _count(tx, address, _OF_AN_ADDRESS, now=now)
    await _count(tx, slate, _OF_A_USER, now=now)
    return Counted(slate, address)


async def _count(tx: Tx, key: str, limit: Limit, *, now: datetime) -> None:
    patience = Patience(limit.free_failures, limit.longest_s, forget_before=now - FORGET_AFTER)
    if not await login_attempts.count_attempt(tx, key, patience, now=now):
        until = await login_attempts.blocked_until(tx, key)
        raise Throttled(max(1, math.ceil((until - now).total_seconds())) if until else 1)


async def forgive(tx: Tx, counted: Counted, *, now: datetime) -> None:
    """Note that the password was right."""
    await login_attempts.forget_attempts(tx, counted.slate)
    if counted.address is not None:
        await login_attempts.take_back_attempt(tx, counted.address)
    await login_attempts.delete_old_attempts(tx, forget_before=now - FORGET_AFTER)
