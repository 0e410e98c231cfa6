"""Live connections: what is delivered when, and what the connector may claim by it."""

from __future__ import annotations

import asyncio
import heapq
from dataclasses import dataclass, field
from typing import Literal

from headgate.domain.streams.messages import Span
from headgate.kernel.randomness import Randomness
from headgate.testing.platform.faults import Faults
from headgate.testing.platform.profiles import Profile
from headgate.testing.platform.streams.rows import Row

_REORDER_MS = 5_000


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happens in a stream at a time."""

    kind: Literal["message", "edit", "delete", "gap"]
    stream: str
    row: Row
    at_ms: int


@dataclass(frozen=True, slots=True, order=True)
class Delivery:
    """A happening on its way; `number` counts what the connection should get, without a gap."""

    deliver_ms: int
    order: int
    number: int = field(compare=False)
    happening: Happening = field(compare=False)


class Connection:
    """One account's live connection: a queue that may lose, double and disorder, as the faults say."""

    def __init__(self, account: str, *, profile: Profile, faults: Faults, choices: Randomness) -> None:
        self.account = account
        self.ended = False
        self.abrupt = False
        """It ended with an error, not with a word."""
        self.woken = asyncio.Event()
        self.continuity = Continuity()
        self._profile = profile
        self._faults = faults
        self._choices = choices
        self._number = 0
        self._order = 0
        self._queue: list[Delivery] = []

    def accept(self, happening: Happening) -> None:
        """Put a happening on its way."""
        if self.ended:
            return
        if self._strikes("live_end"):
            self.abrupt = self._choices.chance(0.5)
            self.end()
            return
        self._number += 1
        if self._profile.live == "hint" and self._strikes("live_drop"):
            return
        delay_ms = 0
        if self._choices.chance(self._profile.late_chance):
            delay_ms = int(1000 * self._choices.uniform(0, self._profile.late_s))
        self._push(happening, delay_ms + self._reorder_ms())
        if self._strikes("live_duplicate"):
            self._push(happening, delay_ms + self._reorder_ms())

    def end(self) -> None:
        """End the connection; what was on its way is lost."""
        self.ended = True
        self._queue.clear()
        self.woken.set()

    def next_ms(self) -> int | None:
        """Return when the next delivery is due."""
        return self._queue[0].deliver_ms if self._queue else None

    def take(self, now_ms: int) -> Delivery | None:
        """Return the next delivery whose time has come."""
        if not self._queue or self._queue[0].deliver_ms > now_ms:
            return None
        return heapq.heappop(self._queue)

    def _push(self, happening: Happening, delay_ms: int) -> None:
        self._order += 1
        heapq.heappush(
            self._queue, Delivery(happening.at_ms + delay_ms, self._order, self._number, happening)
        )
        self.woken.set()

    def _reorder_ms(self) -> int:
        if self._profile.allotted or not self._strikes("live_reorder"):
            return 0
        return 1 + self._faults.choices("live_reorder", self.account).below(_REORDER_MS)

    def _strikes(self, kind: str) -> bool:
        return self._faults.strikes(kind, self.account)


class Continuity:
    """What one connection proves: the range between two events with nothing missing in between.

    Events are numbered by the platform. An event that comes early proves nothing until those before it
    have come; one that comes twice proves nothing the second time.
    """

    def __init__(self) -> None:
        self._expected = 1
        self._early: dict[int, tuple[str, int | None]] = {}
        self._proven_to: dict[str, int] = {}
        self._reached: dict[str, int] = {}

    def prove(self, number: int, *, stream: str, position: int | None) -> Span | None:
        """Take an event (with a position if it is a new message) and return what it proves."""
        if number >= self._expected:
            self._early[number] = (stream, position)
        while self._expected in self._early:
            self._reach(*self._early.pop(self._expected))
            self._expected += 1
        start, end = self._proven_to.get(stream), self._reached.get(stream)
        if start is None or end is None or start >= end:
            return None
        self._proven_to[stream] = end
        return Span(start, end)

    def _reach(self, stream: str, position: int | None) -> None:
        if position is None:
            return
        self._proven_to.setdefault(stream, position)
        self._reached[stream] = position + 1
