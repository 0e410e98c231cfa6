"""A MangaDex on loopback, and connections to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime

import pytest
from mangadex_server import MangaDexServer
from mangadex_stage import connect

from headgate.connectors.mangadex import MangaDexConnector
from headgate.connectors.protocol import Link
from headgate.kernel.clock import VirtualClock


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(datetime(2026, 3, 1, 12, tzinfo=UTC))


@pytest.fixture
def server(clock: VirtualClock) -> Iterator[MangaDexServer]:
    running = MangaDexServer(clock).start()
    yield running
    running.stop()


@pytest.fixture
def connector(server: MangaDexServer) -> MangaDexConnector:
    return connect(server)


@pytest.fixture
async def guest(connector: MangaDexConnector) -> AsyncIterator[Link]:
    link = await connector.open("anonymous", {})
    yield link
    await link.close()
