"""Keeps the connections of a push out of this machine's network, whichever library opens them.

The services of Apprise connect through requests, smtplib and plain sockets, and resolve names by themselves.
All of them end in a socket's `connect` or `sendto`, which Python announces to audit hooks together with the
address. A hook that raises ends the call. So the address that is judged is the one that would be connected
to, and neither a redirect nor a name that changes its address leads inside.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from headgate.domain.public_addresses import is_public

_EVENTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})


class Barred(OSError):
    """The address is on this machine or the local network."""


@dataclass
class Guard:
    """What was refused while it held."""

    refused: list[str] = field(default_factory=list[str])

    def check(self, kind: int, address: object) -> None:
        """Raise unless this is an address of the open internet, written as a number.

        A name is refused too: it was resolved inside the call, and to what is not told.
        """
        if address is None or _is_outside(kind, address):
            return
        self.refused.append(str(address))
        raise Barred(f"{address} is on this machine or the local network")


_current: ContextVar[Guard | None] = ContextVar("push guard", default=None)


@contextmanager
def guarded() -> Generator[Guard, None, None]:
    """Let this task, and threads that inherit its context, connect to the open internet alone."""
    _install()
    guard = Guard()
    token = _current.set(guard)
    try:
        yield guard
    finally:
        _current.reset(token)


def _is_outside(kind: int, address: object) -> bool:
    if kind not in {socket.AF_INET, socket.AF_INET6} or not isinstance(address, tuple):
        return False
    try:
        return is_public(str(cast("tuple[object, ...]", address)[0]))
    except ValueError:
        return False


@cache
def _install() -> None:
    # A hook stays for as long as the process lives, so there is one, put in by the first push that needs it.
    sys.addaudithook(_on_event)


def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _EVENTS and (guard := _current.get()) is not None:
        guard.check(arguments[0].family, arguments[1])
