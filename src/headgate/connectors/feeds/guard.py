"""Whom feeds may be fetched from: by default nobody on this machine or the local network.

A name is resolved here, its addresses are judged, and the connection goes to the address that was judged: so
neither a redirect nor a name that changes its mind between two questions leads inside.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import cast

import httpcore
import httpx

from headgate.domain.errors import Malformed, Transient

# By which networks of IPv6 alone reach IPv4, and which were once meant for local networks.
_NAT64 = ip_network("64:ff9b::/96")
_SITE_LOCAL = ip_network("fec0::/10")
_MOST_ADDRESSES = 4
_ONE_OF_MANY_S = 5.0
_CONNECTIONS = 20
_KEPT_OPEN = 10
_KEPT_OPEN_S = 5.0


def is_public(address: str) -> bool:
    """Tell whether an address belongs to the open internet, also when one of version 4 is wrapped in it."""
    found = ip_address(address.partition("%")[0])
    if found in _SITE_LOCAL or any(not is_public(str(one)) for one in _wrapped(found)):
        return False
    # An address of version 4 in the form of version 6 is not global by itself, but was judged above.
    return getattr(found, "ipv4_mapped", None) is not None or (found.is_global and not found.is_multicast)


def _wrapped(address: IPv4Address | IPv6Address) -> Iterable[IPv4Address]:
    if isinstance(address, IPv4Address):
        return ()
    teredo = address.teredo or ()
    translated = IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None
    found = (address.ipv4_mapped, address.sixtofour, translated, *teredo)
    return (one for one in found if one is not None)


class GuardedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to names whose addresses are allowed."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private
        self._network = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface has it
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = await self._allowed(host, port)
        if len(addresses) > 1:
            timeout = _ONE_OF_MANY_S if timeout is None else min(timeout, _ONE_OF_MANY_S)
        refusal: Exception | None = None
        for address in addresses:
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                refusal = error
        raise refusal or httpcore.ConnectError(f"{host} has no address")

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface has it
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        raise Malformed("feeds are not read from sockets of this machine")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)

    async def _allowed(self, host: str, port: int) -> list[str]:
        addresses = await _resolve(host, port)
        allowed = [one for one in addresses if self._allow_private or is_public(one)]
        if not allowed:
            raise Malformed(
                f"{host} is on this machine or the local network, which feeds are not read from. "
                "If this feed is meant, set HEADGATE_FEEDS_ALLOW_PRIVATE=true."
            )
        return allowed[:_MOST_ADDRESSES]


async def _resolve(host: str, port: int) -> list[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Transient(f"the name {host} is not known: is it written right?") from error
    return list(dict.fromkeys(str(where[0]) for *_, where in found))


class GuardedTransport(httpx.AsyncHTTPTransport):
    """HTTP over the guarded network."""

    def __init__(self, *, allow_private: bool, certificates: ssl.SSLContext) -> None:
        super().__init__(verify=certificates)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=certificates,
            max_connections=_CONNECTIONS,
            max_keepalive_connections=_KEPT_OPEN,
            keepalive_expiry=_KEPT_OPEN_S,
            network_backend=GuardedNetwork(allow_private=allow_private),
        )
