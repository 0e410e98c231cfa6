"""Positions that grow with time and are never dense, as snowflakes are.

A scale maps a millisecond to a block of positions and back, so that the message at a position can be found
without keeping all messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from headgate.kernel.clock import utc_from_timestamp

_EPOCH = utc_from_timestamp(0)
_MILLISECOND = timedelta(milliseconds=1)
_ORIGIN_MS = 1_420_070_400_000  # 2015-01-01


@dataclass(frozen=True)
class PositionScale:
    """How many positions a millisecond has."""

    per_ms: int

    def first_of(self, at_ms: int) -> int:
        """Return the first position of a millisecond."""
        if at_ms < _ORIGIN_MS:
            raise ValueError("a simulated world cannot begin before 2015")
        return (at_ms - _ORIGIN_MS) * self.per_ms

    def ms_of(self, position: int) -> int:
        """Return the millisecond in whose block a position lies."""
        return _ORIGIN_MS + position // self.per_ms


SNOWFLAKE = PositionScale(per_ms=1 << 22)
"""Far above 2^53: whoever lets a position pass through a float or a JSON number loses it."""
COMPACT = PositionScale(per_ms=1 << 10)
"""Below 2^53, as platforms with counters have them."""


def to_ms(at: datetime) -> int:
    return (at - _EPOCH) // _MILLISECOND


def from_ms(at_ms: int) -> datetime:
    return utc_from_timestamp(at_ms / 1000)
