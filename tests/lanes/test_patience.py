"""A call without patience takes a lane that is free right now, and comes back to one that is not."""

from __future__ import annotations

import pytest

from headgate.domain.pacing import ComeBackLater, LanePlan, Pace
from headgate.kernel.clock import RealClock
from headgate.lanes import Lanes
from headgate.storage.database import Database


async def test_a_free_lane_is_taken_at_once_and_a_busy_one_is_not_waited_for(database: Database) -> None:
    lanes = Lanes(database, RealClock())
    plan = LanePlan("list", Pace(per_minute=1, burst=2, daily_cap=None), None)
    await lanes.ensure("host:feeds/example.org", [plan], established=True)
    calls = 0
    with pytest.raises(ComeBackLater):
        while True:
            async with lanes.call("host:feeds/example.org", "list", patience_s=0.0):
                calls += 1
    assert 1 <= calls <= 2
