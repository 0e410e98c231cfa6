"""Waking the sender of an account, and runs that wait for its pace: why, until when, and what ends that."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from headgate.domain.words.waiting import for_pace
from headgate.jobs.kinds import Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.lanes.links import AccountRef
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.lanes import lanes
from headgate.storage.lanes.lanes import LaneRow
from headgate.storage.sending import sending
from headgate.storage.sending.sending import DueRun

SEND = "send"
"""The kind of job that wakes a sender."""
RECHECK_S = 900.0
"""Settings and connectors may change a pace without a word, so a long wait is not slept through."""


async def wake_sender(tx: Tx, account_id: UUID) -> None:
    """Wake the one sender of an account; new and continuing runs have the same rank, so that none waits."""
    await enqueue(tx, [Wake(SEND, str(account_id))])


async def rest(tx: Tx, account: AccountRef, runs: Sequence[DueRun], *, wait_s: float, clock: Clock) -> None:
    """Let runs wait for the pace for so many real seconds, and say why."""
    until = later(clock, wait_s)
    cause = cause_of(await lanes.list_lanes(tx, owner=str(account.id)))
    reasons = {run.id: for_pace(until, run.zone, cause) for run in runs}
    await sending.rest_for_pace(tx, reasons, due_at=min(until, later(clock, RECHECK_S)), now=clock.now())


def cause_of(found: Sequence[LaneRow]) -> str:
    """Return what keeps an account from sending for long."""
    lane = next((one for one in found if one.kind == SEND), None)
    drawn = [one for one in found if lane is not None and one.kind in {SEND, lane.shared}]
    for one in drawn:
        if one.daily_cap is not None and one.used_today >= one.daily_cap:
            return f"the daily cap of {one.daily_cap:,} is reached"
    if any(one.cool_down_s for one in drawn):
        return "the platform asked to slow down"
    return "the pace of the account allows no message before"


async def changed_pace(tx: Tx, account_id: UUID, *, now: datetime) -> None:
    """Let runs that wait for the pace of an account try the new one at once."""
    if await sending.note_pace(tx, account_id, now=now):
        await wake_sender(tx, account_id)
        await publish(tx, Event("runs"))


def later(clock: Clock, real_s: float) -> datetime:
    """Return the product time that it will be after so many real seconds."""
    now = clock.now()
    minute = timedelta(minutes=1)
    return now + minute * (real_s / max(clock.real_s_until(now + minute), 1e-6))
