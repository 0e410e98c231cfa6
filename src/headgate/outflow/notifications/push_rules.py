"""Which addresses anybody may add, and which administrators alone.

A push is sent by this machine, from inside its network, to an address that a user wrote. So a member may not
name what acts on this machine itself, what reads files of it, or a host of its network. Names of hosts are
resolved when the address is added, so that the person learns at once what is wrong with it. Whether a push
may go there is decided again at every connection, by the owner's role at that time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address

from headgate.connectors.resolving import UnknownName, resolve
from headgate.domain.errors import UserError
from headgate.domain.notifications.push_reach import PushLimits, Reach
from headgate.domain.public_addresses import is_public

RESOLVING_S = 2.0
_THREADS = ThreadPoolExecutor(max_workers=8, thread_name_prefix="push-resolve")
"""Apart from those that feeds are resolved in: names that people try out must not hold these up."""


async def check_reach(reach: Reach, limits: PushLimits) -> None:
    """Raise `UserError` for what may not be added within these limits."""
    if limits.machine:
        return
    if reach.machine:
        raise UserError(
            "This address acts on the machine that Headgate runs on, which only administrators may set up.",
            remedy="Choose a service that is reached over the internet.",
        )
    if reach.files:
        raise UserError(
            "This address reads a file, which only administrators may set up.",
            remedy="Leave that part of the address out.",
        )
    if limits.network:
        return
    if reach.unguarded:
        raise UserError(
            "Headgate cannot check where this service connects to, so only administrators may set it up.",
            remedy="Choose another service.",
        )
    for host in reach.hosts:
        if not await _leads_outside(host):
            raise UserError(
                "This address leads to this machine or the local network, which only administrators may"
                " set up.",
                remedy="Ask an administrator to set HEADGATE_NOTIFY_ALLOW_PRIVATE=true if every user may.",
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
    """Return the addresses of a name; none if it does not resolve, as a push would not arrive either."""
    try:
        async with asyncio.timeout(RESOLVING_S):
            return await resolve(host, threads=_THREADS)
    except TimeoutError as error:
        raise UserError(
            f"The address of {host} could not be looked up in time.", remedy="Try again in a moment."
        ) from error
    except UnknownName:
        return ()
