"""Clocks that are set back: what was written before lies as far ahead as it did, not further by the step.

The tick notes the time. If it is earlier than the last note, the clock was set back by the difference,
and every stored time that lies ahead is moved by that. What was written since the step is moved too,
which only makes it due at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

MIN_STEP = timedelta(minutes=1)
"""Less is waited out; clocks of several machines differ by some."""
NO_STEP = timedelta(0)


@dataclass(frozen=True)
class Marks:
    """What the clocks showed at the last check, and real time now."""

    product_at: datetime
    real_at: datetime
    real_now: datetime


@dataclass(frozen=True)
class ClockSteps:
    """By how much the clocks were set back."""

    product: timedelta = NO_STEP
    real: timedelta = NO_STEP


async def repair_clock_rewind(tx: Tx, *, now: datetime) -> ClockSteps:
    """Move stored times if a clock was set back since the last call; return by how much."""
    marks = await tx.one(Marks, Q["get_marks"])
    steps = ClockSteps()
    if marks is not None:
        steps = ClockSteps(_step(marks.product_at - now), _step(marks.real_at - marks.real_now))
    if steps.product:
        await tx.execute(Q["move_product_times"], step=steps.product, now=now)
    if steps.real:
        await tx.execute(Q["move_real_times"], step=steps.real)
    await tx.execute(Q["replan_from_the_future"], tolerance=MIN_STEP, now=now)
    await tx.execute(Q["set_marks"], now=now)
    return steps


def _step(difference: timedelta) -> timedelta:
    return difference if difference > MIN_STEP else NO_STEP
