"""A plain world on a virtual clock."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headgate.testing import VirtualClock, World

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(START)


@pytest.fixture
def world(clock: VirtualClock) -> World:
    world = World(3, clock)
    world.add_account("reader")
    world.add_stream("packs")
    return world
