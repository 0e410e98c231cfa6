"""Fetching: one answer over any number of redirects, within bounds of time, size and hops."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

from headgate.connectors.feeds.addresses import Address
from headgate.connectors.feeds.answers import failure_of
from headgate.connectors.feeds.bodies import ACCEPTED, read_body
from headgate.connectors.feeds.entries import MAX_ENTRIES
from headgate.connectors.feeds.http1 import Http1, Response
from headgate.domain.errors import Malformed, Transient
from headgate.kernel.clock import Clock

_MAX_REDIRECTS = 10
_PERMANENT = {301, 308}
_REDIRECTS = {301, 302, 303, 307, 308}
_ACCEPT = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, "
    "application/json;q=0.8, text/xml;q=0.8, text/html;q=0.5, */*;q=0.1"
)


@dataclass(frozen=True)
class FeedBounds:
    """How far the connector goes to read a feed."""

    timeout_s: float = 20.0
    max_bytes: int = 10 * 2**20
    user_agent: str = "Headgate"
    allow_private: bool = False
    """Whether feeds on this machine and the local network may be read."""
    per_minute: float = 30.0
    """Requests to one host at most."""
    max_entries: int = MAX_ENTRIES
    """Entries of one document that are read at most, the newest of them."""


@dataclass(frozen=True)
class Fetched:
    """What a server answered, and where that was in the end."""

    address: Address
    status: int
    headers: Mapping[str, str]
    body: bytes
    moved: bool
    """There were redirects, and all of them for good."""

    @property
    def unchanged(self) -> bool:
        return self.status == 304


class Fetcher:
    """Fetches documents; one a link."""

    def __init__(self, bounds: FeedBounds, clock: Clock, certificates: ssl.SSLContext) -> None:
        self._bounds = bounds
        self._clock = clock
        self._http = Http1(certificates, allow_private=bounds.allow_private)
        self._headers = {"User-Agent": bounds.user_agent, "Accept": _ACCEPT, "Accept-Encoding": ACCEPTED}

    async def fetch(self, address: Address, conditions: Mapping[str, str] | None = None) -> Fetched:
        """Fetch a document; `conditions` are headers that ask for changes alone."""
        try:
            async with self._clock.timeout(self._bounds.timeout_s):
                return await self._follow(address, conditions or {})
        except TimeoutError as error:
            raise Transient(f"{address} was not read within {self._bounds.timeout_s:g} s") from error

    async def close(self) -> None:
        self._http.close()

    async def _follow(self, address: Address, conditions: Mapping[str, str]) -> Fetched:
        permanent = True
        for hop in range(_MAX_REDIRECTS + 1):
            answer = await self._ask(address, conditions, moved=permanent and hop > 0)
            if answer.status not in _REDIRECTS or "location" not in answer.headers:
                return self._checked(answer, conditions)
            permanent = permanent and answer.status in _PERMANENT
            address = address.redirected(answer.headers["location"])
        raise Malformed(f"{address} redirects more than {_MAX_REDIRECTS} times, perhaps in a circle")

    async def _ask(self, address: Address, conditions: Mapping[str, str], *, moved: bool) -> Fetched:
        headers = {"Host": address.netloc, **self._headers, **conditions}
        if address.login:
            login = ":".join(address.login).encode()
            headers["Authorization"] = f"Basic {base64.b64encode(login).decode()}"
        async with self._http.get(address.origin, address.target, headers) as response:
            body = await self._body(response) if response.is_success else b""
            return Fetched(address, response.status, response.headers, body, moved)

    async def _body(self, response: Response) -> bytes:
        coding = response.headers.get("content-encoding", "")
        return await read_body(response.pieces(), coding=coding, max_bytes=self._bounds.max_bytes)

    def _checked(self, answer: Fetched, conditions: Mapping[str, str]) -> Fetched:
        if 200 <= answer.status < 300 or (answer.unchanged and conditions):
            return answer
        raise failure_of(answer.status, answer.headers, place=answer.address, now=self._clock.now())
