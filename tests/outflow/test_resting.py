"""Runs that wait for the pace of their account."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from fanouts import noting, play

from headgate.connectors.protocol import LaneDefault
from headgate.domain.reminders.windows import Window
from headgate.lanes import plan_lanes
from headgate.outflow.sending.pace import PaceWish, change_pace
from headgate.storage.channels.channels import list_accounts
from headgate.testing.platform.profiles import plain
from headgate.testing.simulator import Theatre
from headgate.testing.simulator.sending.fanout import START, Fanout, FanoutScript

pytestmark = pytest.mark.once

CAPPED = plain.but(lanes={**plain.lanes, "send": LaneDefault(per_minute=40, daily_cap=5)})
SCRIPT = FanoutScript(targets=10, parts=("Dear {group}",), profile=CAPPED)


async def lift_cap(fanout: Fanout) -> None:
    def plans_of(_: str) -> Any:
        return plan_lanes(CAPPED.manifest().lanes)

    async with fanout.person_db.transaction() as tx:
        (account,) = await list_accounts(tx)
        await change_pace(tx, account, PaceWish(daily_cap="none"), plans_of, now=fanout.stage.now())


async def test_a_run_at_its_daily_cap_says_why_it_waits_and_until_when(theatre: Theatre) -> None:
    rows: list[Any] = []
    sql = "select state, reason, due_at from run"
    await play(theatre, SCRIPT, (120, noting(rows, sql)), (121, lift_cap))
    (row,) = rows
    assert row["state"] == "waiting"
    assert row["reason"].startswith("waits until 2026-03-0")
    assert row["reason"].endswith("(UTC): the daily cap of 5 is reached")
    # Settings may lift a cap too, so it is looked at again long before.
    assert START < row["due_at"] <= START + timedelta(seconds=120 + 900)


async def test_a_lifted_daily_cap_wakes_the_runs_that_wait_for_it(theatre: Theatre) -> None:
    outcome = await play(theatre, SCRIPT, (120, lift_cap))
    assert outcome.states == ["success"]
    assert outcome.virtual_s < 120 + 60


async def test_a_run_that_waits_for_its_pace_still_ends_with_its_window(theatre: Theatre) -> None:
    rows: list[Any] = []
    script = FanoutScript(
        targets=10, parts=("Dear {group}",), profile=CAPPED, window=Window(8 * 60, 8 * 60 + 5, "UTC")
    )
    outcome = await play(theatre, script, (310, noting(rows, "select state, ended_at from run")))
    assert outcome.states == ["partial"]
    assert rows[0]["ended_at"] is not None
