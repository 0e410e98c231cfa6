"""Whom feeds may be fetched from: by default nobody on this machine or the local network.

A name is resolved here, its addresses are judged, and the connection goes to the address that was judged: so
neither a redirect nor a name that changes its mind between two questions leads inside.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Sequence
from typing import cast

import httpcore
import httpx

from headgate.connectors.resolving import PrivateAddress, UnknownName, resolve_allowed
from headgate.domain.errors import Malformed, Transient

_ONE_OF_MANY_S = 5.0
_CONNECTIONS = 20
_KEPT_OPEN = 10
_KEPT_OPEN_S = 5.0


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

    async def _allowed(self, host: str, port: int) -> Sequence[str]:
        try:
            return await resolve_allowed(host, port, allow_private=self._allow_private)
        except UnknownName as error:
            raise Transient(f"the name {host} is not known: is it written right?") from error
        except PrivateAddress:
            raise Malformed(
                f"{host} is on this machine or the local network, which feeds are not read from. "
                "If this feed is meant, set HEADGATE_FEEDS_ALLOW_PRIVATE=true."
            ) from None


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
