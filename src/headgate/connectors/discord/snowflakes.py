"""Snowflakes: ids that carry the time at which they were made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_TIME_SHIFT = 22
_MILLISECOND = timedelta(milliseconds=1)
_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Snowflakes:
    """The ids of one server, whose time begins at its own epoch."""

    epoch_ms: int

    def time_of(self, position: int) -> datetime:
        return _UNIX_EPOCH + timedelta(milliseconds=(position >> _TIME_SHIFT) + self.epoch_ms)

    def first_at(self, at: datetime) -> int:
        """Return the lowest id that can be made at a time; everything below is older."""
        since_ms = (at - _UNIX_EPOCH) // _MILLISECOND - self.epoch_ms
        return max(0, since_ms) << _TIME_SHIFT
