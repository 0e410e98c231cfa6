"""When a stream is to be read again: a pure decision with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

Reason = Literal["more_to_read", "unsettled", "caught_up", "disabled", "no_reader"]

INTERVAL_S = 300.0
JITTER = 0.1


@dataclass(frozen=True)
class NextScan:
    """When to look again, and why then."""

    reason: Reason
    due_at: datetime
    tip_after: datetime | None = None


def plan_next_scan(
    *,
    now: datetime,
    progress: bool,
    inner_left: bool,
    tip_left: bool,
    tip_after: datetime | None,
    settle_margin_s: float,
    interval_s: float = INTERVAL_S,
) -> NextScan:
    """Decide after a page: go on with older holes at once, with an unsettled tip after the margin.

    The tip is what lies above the last proven position: its messages are too young, and reading them again
    before the margin has passed would prove nothing. A page that proved nothing waits too, wherever it was.
    """
    settled_at = now + timedelta(seconds=max(settle_margin_s, 1.0))
    if tip_after is not None and tip_after > now:
        settled_at = tip_after
    tip_after = settled_at if tip_left else None
    if inner_left and progress:
        return NextScan("more_to_read", now, tip_after)
    if inner_left or tip_left:
        return NextScan("unsettled", settled_at, tip_after)
    return NextScan("caught_up", now + timedelta(seconds=interval_s))
