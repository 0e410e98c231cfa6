"""The connector of feeds: RSS, Atom and JSON Feed from anywhere, without an account."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import replace

import httpx

from headgate.connectors.feeds.addresses import parse_address
from headgate.connectors.feeds.answers import classify
from headgate.connectors.feeds.fetching import FeedBounds, Fetcher
from headgate.connectors.feeds.link import FeedsLink
from headgate.connectors.login_steps import LoginAttempt, LoginStep, SignedIn
from headgate.connectors.protocol import Connector, LaneDefault, Link, Manifest, Memory
from headgate.domain.errors import WorkError
from headgate.kernel.clock import Clock

_BURST = 5

MANIFEST = Manifest(
    platform="feeds",
    title="Feeds (RSS, Atom, JSON Feed)",
    capabilities=frozenset({"listings", "find", "anonymous"}),
    licence="MIT; feedparser is BSD-2-Clause, httpx BSD-3-Clause",
    signs_in=False,
)


class FeedsConnector(Connector):
    """Opens links that read feeds; a listing's key is its address."""

    def __init__(self, bounds: FeedBounds, clock: Clock) -> None:
        self._bounds = bounds
        self._clock = clock
        pace = LaneDefault(per_minute=bounds.per_minute, burst=_BURST)
        self._manifest = replace(MANIFEST, lanes={"list": pace, "find": pace})
        self._certificates: ssl.SSLContext | None = None
        # One document at a time is enough work for a process that has more to do.
        self._parsing = asyncio.Semaphore(1)

    @property
    def manifest(self) -> Manifest:
        return self._manifest

    async def login(self, attempt: LoginAttempt) -> LoginStep:
        return SignedIn()

    async def logout(self, account: str, secrets: Mapping[str, str]) -> None:
        """Do nothing: feeds have no accounts."""

    async def open(self, account: str, secrets: Mapping[str, str], memory: Memory) -> Link:
        if self._certificates is None:
            self._certificates = await asyncio.to_thread(_load_certificates)
        fetcher = Fetcher(self._bounds, self._clock, self._certificates)
        return FeedsLink(fetcher, self._clock, self._parsing, max_entries=self._bounds.max_entries)

    def host_of(self, listing: str) -> str:
        return parse_address(listing).host

    def key_of(self, listing: str) -> str:
        return parse_address(listing).key

    def classify(self, error: BaseException) -> WorkError:
        return classify(error)


def _load_certificates() -> ssl.SSLContext:
    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
