"""From the name of a host to the addresses that may be connected to.

Names are resolved in threads of their own: a resolver that does not answer must not keep the threads busy
that passwords are checked in.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ipaddress import ip_address

from headgate.domain.errors import HeadgateError
from headgate.domain.public_addresses import is_public

MAX_ADDRESSES = 4
_THREADS = ThreadPoolExecutor(max_workers=16, thread_name_prefix="resolve")


class UnknownName(HeadgateError):
    """The name has no address."""


class PrivateAddress(HeadgateError):
    """All addresses of the name are on this machine or the local network."""


async def resolve(host: str, port: int = 0, *, threads: ThreadPoolExecutor = _THREADS) -> Sequence[str]:
    """Return all addresses of a host, each once."""
    try:
        return [str(ip_address(host))]
    except ValueError:
        ask = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    try:
        found = await asyncio.get_running_loop().run_in_executor(threads, ask)
    except (OSError, UnicodeError) as error:
        raise UnknownName(host) from error
    return list(dict.fromkeys(str(where[0]) for *_, where in found))


async def resolve_allowed(host: str, port: int, *, allow_private: bool) -> Sequence[str]:
    """Return the addresses of a host that may be connected to.

    Connect to one of these and never by the name: the name may have another address the next moment.
    """
    allowed = [one for one in await resolve(host, port) if allow_private or is_public(one)]
    if not allowed:
        raise PrivateAddress(host)
    return allowed[:MAX_ADDRESSES]
