"""One stream of the simulated platform: posted messages and scheduled ones in one order."""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field

from headgate.kernel.randomness import Randomness
from headgate.testing.content.activity import Activity
from headgate.testing.platform.streams.positions import PositionScale
from headgate.testing.platform.streams.rows import Row

END = 2**63 - 1


@dataclass
class Stream:
    """A channel, a forum or a room."""

    key: str
    title: str
    scale: PositionScale
    choices: Randomness
    parent: str = ""
    topics: list[str] = field(default_factory=list[str])
    is_forum: bool = False
    members: set[str] | None = None
    """Accounts that can read it; None: all."""
    continues: str = ""
    """The stream that this one goes on from (a migrated group)."""
    continued_by: str = ""
    activity: Activity | None = None
    posted: list[Row] = field(default_factory=list[Row])

    def next_position(self, at_ms: int) -> int:
        """Return a fresh even position: never dense, and greater than all before."""
        position = self.scale.first_of(at_ms) + self.choices.below(self.scale.per_ms // 4)
        if self.posted:
            position = max(position, self.posted[-1].position + 2 + self.choices.below(13))
        return position + position % 2

    def earlier_position(self, back: int) -> int:
        """Return a fresh position before some of the newest messages: a late one is shown there."""
        position = self.posted[-back].position - 1 if back <= len(self.posted) else 0
        known = {row.position for row in self.posted[-back - 1 :]}
        return self.posted[-1].position + 2 if position in known or position <= 0 else position

    def insert(self, row: Row) -> None:
        """Add a message where the history shows it."""
        insort(self.posted, row, key=lambda each: each.position)

    def newest_first(self, *, start: int = 0, end: int = END, now_ms: int) -> Iterator[Row]:
        """Go through all that has arrived in a range, deleted messages included, from its end."""
        posted = self._posted_newest_first(start, end, now_ms)
        if self.activity is None:
            return posted
        scheduled = self.activity.newest_first(start=start, end=end, now_ms=now_ms)
        return heapq.merge(posted, scheduled, key=lambda row: -row.position)

    def row_at(self, position: int, *, now_ms: int) -> Row | None:
        """Return the message at a position, deleted or not."""
        return next(self.newest_first(start=position, end=position + 1, now_ms=now_ms), None)

    def newest_before(self, at_ms: int, *, now_ms: int) -> Row | None:
        """Return the newest message that arrived no later than a time, deleted or not."""
        rows = self.newest_first(now_ms=now_ms)
        return next((row for row in rows if row.arrived_ms <= at_ms), None)

    def _posted_newest_first(self, start: int, end: int, now_ms: int) -> Iterator[Row]:
        index = bisect_left(self.posted, end, key=lambda row: row.position)
        while index and self.posted[index - 1].position >= start:
            index -= 1
            if self.posted[index].arrived_ms <= now_ms:
                yield self.posted[index]
