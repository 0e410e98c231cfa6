"""From the name of a host to the addresses that may be connected to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

from headgate.domain.errors import HeadgateError
from headgate.domain.public_addresses import is_public

MAX_ADDRESSES = 4


class UnknownName(HeadgateError):
    """The name has no address."""


class PrivateAddress(HeadgateError):
    """All addresses of the name are on this machine or the local network."""


async def resolve_allowed(host: str, port: int, *, allow_private: bool) -> Sequence[str]:
    """Return the addresses of a host that may be connected to.

    Connect to one of these and never by the name: the name may have another address the next moment.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UnknownName(host) from error
    addresses = dict.fromkeys(str(where[0]) for *_, where in found)
    allowed = [one for one in addresses if allow_private or is_public(one)]
    if not allowed:
        raise PrivateAddress(host)
    return allowed[:MAX_ADDRESSES]
