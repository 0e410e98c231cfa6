"""The bar of a run: how much of it is in which state."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from headgate.domain.reminders.run_results import DeliveryState, Tally

WIDTH = 1000
ORDER: tuple[DeliveryState, ...] = ("sent", "sending", "uncertain", "failed", "skipped", "pending")
_MIN = 4.0
"""What is there can be seen, however little it is."""


@dataclass(frozen=True)
class Stripe:
    """One state's share of the bar, which is a thousand wide."""

    state: DeliveryState
    count: int
    at: float
    width: float


def stripes(tally: Tally) -> list[Stripe]:
    """Return the states that occur, side by side; together they fill the bar."""
    counts: dict[DeliveryState, int] = {state: count for state in ORDER if (count := getattr(tally, state))}
    wide = {state: max(_MIN, WIDTH * count / tally.total) for state, count in counts.items()}
    scale = WIDTH / sum(wide.values()) if wide else 1
    widths = [width * scale for width in wide.values()]
    starts = accumulate([0.0, *widths])
    return [
        Stripe(state, counts[state], round(at, 2), round(width, 2))
        for state, at, width in zip(counts, starts, widths, strict=False)
    ]
