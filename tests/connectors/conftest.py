"""Servers on loopback, and connections to them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime

import pytest
from discord_server import CannotRun, running_server
from discord_stage import Stage, open_stage
from mangadex_server import MangaDexServer
from mangadex_stage import connect

from headgate.connectors.mangadex import MangaDexConnector
from headgate.connectors.protocol import Link
from headgate.kernel.clock import VirtualClock
from headgate.testing.memory import VolatileMemory


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
    link = await connector.open("anonymous", {}, VolatileMemory())
    yield link
    await link.close()


@pytest.fixture(scope="session")
def discord_port() -> Iterator[int]:
    """The port of a real Discord-compatible server."""
    if os.environ.get("HEADGATE_TEST_NO_DISCORD") == "1":
        pytest.skip("HEADGATE_TEST_NO_DISCORD=1 leaves it out")
    try:
        with running_server() as port:
            yield port
    except CannotRun as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"{reason} (HEADGATE_TEST_NO_DISCORD=1 leaves it out at once)")


@pytest.fixture
async def discord_stage(discord_port: int) -> AsyncIterator[Stage]:
    """A guild with a person and a bot in it."""
    async with open_stage(discord_port) as stage:
        yield stage
