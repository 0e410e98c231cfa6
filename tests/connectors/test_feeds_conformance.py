"""The connector of feeds passes the conformance suite against a real server."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Sequence

import httpx
import pytest
from feed_documents import rss
from web_server import Reply, WebServer

from headgate.connectors.feeds import FeedBounds, FeedsConnector
from headgate.connectors.protocol import Link
from headgate.domain.errors import Malformed, Transient, WorkError
from headgate.kernel.clock import RealClock
from headgate.testing.conformance import ConnectorConformance, ConnectorUnderTest
from headgate.testing.memory import VolatileMemory

pytestmark = pytest.mark.once


class FeedsUnderTest(ConnectorUnderTest):
    def __init__(self, server: WebServer) -> None:
        self.server = server
        self.counts: dict[str, int] = {}
        self.connector = FeedsConnector(FeedBounds(timeout_s=10, allow_private=True), RealClock())
        self.account = "anonymous"

    async def open(self) -> None:
        self.link: Link = await self.reopen()

    async def reopen(self) -> Link:
        return await self.connector.open(self.account, {}, VolatileMemory())

    async def pause(self) -> None:
        """Nothing is under way between two calls."""

    async def make_listing(self, count: int) -> str:
        listing = self.server.url(f"/feeds/{len(self.counts)}")
        self.counts[listing] = count
        self._publish(listing)
        return listing

    async def add_entry(self, listing: str) -> str:
        self.counts[listing] += 1
        self._publish(listing)
        return str(self.counts[listing])

    def library_errors(self) -> Sequence[tuple[BaseException, type[WorkError]]]:
        return [
            (TimeoutError(), Transient),
            (ConnectionResetError("x"), Transient),
            (ssl.SSLError("x"), Transient),
            (OSError("x"), Transient),
            (httpx.InvalidURL("x"), Malformed),
        ]

    def _publish(self, listing: str) -> None:
        numbers = range(self.counts[listing], 0, -1)
        feed = rss(*(f"<title>Chapter {n}</title><guid isPermaLink='false'>{n}</guid>" for n in numbers))
        path = listing.removeprefix(self.server.url(""))
        self.server.say(path, Reply(feed, headers={"ETag": f'"{self.counts[listing]}"'}))


@pytest.fixture
async def under_test() -> AsyncIterator[ConnectorUnderTest]:
    async with WebServer() as server:
        harness = FeedsUnderTest(server)
        await harness.open()
        yield harness
        await harness.link.close()


class TestFeeds(ConnectorConformance):
    """Every check that a connector without streams and sends can pass."""


async def test_what_feeds_lack_is_refused_in_plain_words(under_test: ConnectorUnderTest) -> None:
    with pytest.raises(Malformed, match="a feed has no streams"):
        await under_test.link.heads(["x"])
