"""What a request for permits costs."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from headgate.domain.pacing import LanePlan
from headgate.kernel.clock import RealClock
from headgate.lanes import Lanes, Pace
from headgate.storage.database import Database
from headgate.storage.lanes.lanes import NOTICES

PLANS = [LanePlan("send", Pace(6000, burst=600), "budget"), LanePlan("budget", Pace(6000, burst=600))]


async def test_permits_for_many_calls_from_two_lanes_cost_one_round_trip(
    database_url: str, tmp_path: Path
) -> None:
    database = Database(database_url, RealClock(), size=1)
    await database.open()
    lanes = Lanes(database, RealClock())
    await lanes.ensure("ada", PLANS, established=True)
    trace = tmp_path / "trace"
    with trace.open("w") as file:
        async with database.autocommit() as tx:
            tx.connection.pgconn.trace(file.fileno())
        permits = await lanes.acquire("ada", "send", 50)
        async with database.autocommit() as tx:
            tx.connection.pgconn.untrace()
    await database.close()
    assert isinstance(permits, list)
    assert len(permits) == 50
    text = trace.read_text()
    assert re.findall(r"\tF\t\d+\t(Execute|Query)\b", text) == ["Execute"]
    assert len(re.findall(r"\tB\t\d+\tReadyForQuery\b", text)) == 1


# On a server that others use as well, whoever connects at the wrong moment keeps old rows alive.
@pytest.mark.long
@pytest.mark.once
async def test_a_lane_does_not_bloat(database_url: str) -> None:
    """Updates stay on few pages: one, and some more while a starting connection keeps old rows alive."""
    database = Database(database_url, RealClock(), size=1)
    await database.open()
    lanes = Lanes(database, RealClock())
    wide = [LanePlan("send", Pace(60_000, burst=6_000))]
    await lanes.ensure("ada", wide, established=True)
    for _ in range(1_000):
        assert isinstance(await lanes.acquire("ada", "send"), list)
    await database.close()
    with psycopg.connect(database_url, autocommit=True) as connection:
        row = connection.execute("select pg_relation_size('lane') / 8192").fetchone()
        assert row is not None
        # Without reuse it would be some eighty pages.
        assert row[0] <= 4


async def test_void_stock_is_told_to_all_processes(database: Database, database_url: str) -> None:
    lanes = Lanes(database, RealClock())
    await lanes.ensure("ada", PLANS, established=True)
    permits = await lanes.acquire("ada", "send")
    assert isinstance(permits, list)
    with psycopg.connect(database_url, autocommit=True) as listener:
        listener.execute(f"listen {NOTICES}".encode())
        await lanes.signal_limit(permits[0], retry_after_s=1)
        notices = [notice.payload for notice in listener.notifies(timeout=10, stop_after=2)]
    other = Lanes(database, RealClock())
    for notice in notices:
        other.hear(notice)
    assert other.refusal(permits[0]) == "outdated"
