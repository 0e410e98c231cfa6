"""A real Synapse for the tests of the Matrix connector."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator

import pytest
from matrix_history import History, begin_history, continued
from matrix_stage import Stage, staged
from synapse_server import RAISED_LIMITS, Synapse

LONG_HISTORY = 2000


@pytest.fixture(scope="session")
def synapse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synapse]:
    """A homeserver with raised limits that all tests share; each makes users and rooms of its own."""
    yield from running(Synapse(tmp_path_factory.mktemp("synapse")))


@pytest.fixture(scope="session")
def strict_synapse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synapse]:
    """A homeserver that limits messages as Synapse does by default: 10 at once, then one in 5 s."""
    limits = {name: limit for name, limit in RAISED_LIMITS.items() if name != "rc_message"}
    yield from running(Synapse(tmp_path_factory.mktemp("strict"), limits))


def running(server: Synapse) -> Iterator[Synapse]:
    """Run a server for the tests that need it; where it cannot run, somebody must say so."""
    if os.environ.get("HEADGATE_TEST_SYNAPSE") == "off":
        pytest.skip("HEADGATE_TEST_SYNAPSE=off leaves out what needs a Synapse; unset it to run this")
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def posted_history(synapse: Synapse) -> History:
    """2,000 messages in three rooms, a quarter with files, posted once for all tests that read them."""
    return asyncio.run(begin_history(synapse, number=LONG_HISTORY))


@pytest.fixture
async def history(posted_history: History) -> AsyncIterator[History]:
    async with continued(posted_history) as history:
        yield history


@pytest.fixture
async def stage(synapse: Synapse) -> AsyncIterator[Stage]:
    async with staged(synapse) as stage:
        yield stage


@pytest.fixture
async def strict_stage(strict_synapse: Synapse) -> AsyncIterator[Stage]:
    """A stage whose set-up has no limits; a test restores them before it sends."""
    async with staged(strict_synapse) as stage:
        await stage.other.lift_limits()
        await stage.account.lift_limits()
        yield stage
