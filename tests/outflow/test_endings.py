"""When the pace of an account is to blame for what a window left."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from headgate.outflow.sending.endings import was_saturated
from headgate.storage.sending.sending import DueRun, SenderRow

OPENS = datetime(2026, 3, 2, 8, tzinfo=UTC)
CLOSES = OPENS + timedelta(hours=1)


def run(*, closes_at: datetime | None = CLOSES, started_at: datetime | None = OPENS) -> DueRun:
    return DueRun(
        id=uuid4(),
        reminder_id=None,
        account_id=None,
        account_name="main",
        trigger="schedule",
        title="Water the plants",
        state="running",
        zone="UTC",
        window_start=480,
        window_end=540,
        at_close="stop",
        opens_at=OPENS,
        closes_at=closes_at,
        started_at=started_at,
        limit_signals=0,
        total=10,
        paused_by=None,
        reason="",
    )


@pytest.mark.parametrize(
    ("since_min", "until_min", "blamed"),
    [
        (0, 60, True),
        (1, 59, True),
        (50, 60, True),
        (0, 57, False),
        (55, 60, False),
    ],
    ids=["all the time", "but for a minute", "the last ten minutes", "not at the close", "only at the close"],
)
def test_capacity_is_blamed_only_if_the_lane_was_saturated_until_the_close(
    since_min: int, until_min: int, *, blamed: bool
) -> None:
    sender = SenderRow(None, OPENS + timedelta(minutes=since_min), OPENS + timedelta(minutes=until_min))
    assert was_saturated(sender, run()) is blamed


def test_capacity_is_not_blamed_without_a_close_a_start_or_a_busy_lane() -> None:
    busy = SenderRow(None, OPENS, CLOSES)
    assert not was_saturated(busy, run(closes_at=None))
    assert not was_saturated(busy, run(started_at=None))
    assert not was_saturated(SenderRow(None, None, None), run())
