"""Fixtures of the intake tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from bench import START, Bench

from headgate.app.parts import build_parts
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import load_settings
from headgate.storage.database import Database
from headgate.testing import PRESETS, SimulatedConnector, VirtualClock, World


@pytest.fixture
async def bench(database: Database, database_url: str) -> AsyncIterator[Bench]:
    # Lanes wait on the clock; a pace without bounds keeps a hand-moved clock from standing still.
    profile = PRESETS["telegram_like"]
    lanes = {kind: type(lane)(per_minute=1_000_000, burst=100_000) for kind, lane in profile.lanes.items()}
    clock = VirtualClock(START)
    world = World(1, clock, profile.but(lanes=lanes))
    world.add_account("reader")
    world.add_stream("packs", title="Packs")
    settings = load_settings({"HEADGATE_DATA_DIR": "/nonexistent"})
    parts = build_parts(
        settings,
        database_url,
        database,
        clock=clock,
        randomness=Randomness(1),
        connectors={"simulated": SimulatedConnector(world)},
    )
    bench = Bench(database, database_url, clock, world, parts)
    yield bench
    if bench.claimer is not None:
        await bench.claimer.connection.close()
