"""Which addresses anybody may add, and which administrators alone.

A push is sent by this machine, from inside its network, to an address that a user wrote. So a member may not
name what acts on this machine itself, what reads files of it, or a host of its network. Names of hosts are
resolved once, when the address is added. What that does not cover: a name that leads elsewhere later, or has
no address yet; a service on the open internet that redirects or refers inwards; addresses that somebody added
as an administrator who is none any more. Whoever must rule these out keeps the machine's outgoing connections
from its network by a firewall.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from ipaddress import ip_address

from headgate.domain.errors import UserError
from headgate.domain.public_addresses import is_public
from headgate.domain.push_reach import Reach

RESOLVING_S = 2.0
_ASK = "Ask an administrator to add it"


async def check_reach(reach: Reach, *, allow_private: bool) -> None:
    """Raise `UserError` for what a member may not add."""
    if reach.machine:
        raise UserError(
            "This address acts on the machine that Headgate runs on, which only administrators may set up.",
            remedy=f"{_ASK}, or choose a service that is reached over the internet.",
        )
    if reach.files:
        raise UserError(
            "This address names a file to be read, which only administrators may set up.",
            remedy=f"Leave that part of the address out. {_ASK} if it is needed.",
        )
    for host in () if allow_private else reach.hosts:
        if not await _leads_outside(host):
            raise UserError(
                "This address leads to this machine or the local network, which only administrators may"
                " set up.",
                remedy=f"{_ASK}, or to set HEADGATE_NOTIFY_ALLOW_PRIVATE=true if every user may.",
            )


async def _leads_outside(host: str) -> bool:
    host = host.strip().strip("[]").rstrip(".").lower()
    try:
        return is_public(str(ip_address(host.partition("%")[0])))
    except ValueError:
        # A name without a dot is one of the local network; one that ends so never is of another.
        if "." not in host or host.endswith((".local", ".localhost", ".internal", ".lan", ".home.arpa")):
            return False
    return all(is_public(address) for address in await _resolve(host))


async def _resolve(host: str) -> Sequence[str]:
    """Return the addresses of a name; none if nobody knows it, for then a push reaches nobody either."""
    try:
        async with asyncio.timeout(RESOLVING_S):
            found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except TimeoutError as error:
        raise UserError(f"Nobody tells in time where {host} is.", remedy="Try again in a moment.") from error
    except (OSError, UnicodeError):
        return ()
    return [str(where[0]) for *_, where in found]
