"""Permits in hand: as many at once as the pace makes worth asking for."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from headgate.connectors.protocol import CallKind
from headgate.domain.pacing import ComeBack, Permit
from headgate.kernel.clock import Clock
from headgate.lanes import Lanes

MOST = 60


@dataclass
class Stock:
    """Permits of one kind; where the pace allows much they are asked for seldom.

    Where it is slow, only for the next few calls: permits are short-lived, and unused ones are lost.
    """

    lanes: Lanes
    clock: Clock
    owner: str
    kind: CallKind
    few: int
    _permits: deque[Permit] = field(default_factory=deque[Permit])
    _wish: int = field(init=False)

    def __post_init__(self) -> None:
        self._wish = self.few

    def in_hand(self) -> list[Permit]:
        """Return the permits that can still be used, in the order of their times."""
        now_s = self.clock.monotonic()
        while self._permits and self._permits[0].void_at_s <= now_s:
            self._permits.popleft()
        return list(self._permits)

    async def fill(self, wanted: int, *, closes_at_s: float | None = None) -> ComeBack | None:
        """Take more permits, though not more than will be wanted."""
        taken = await self.lanes.acquire(
            self.owner, self.kind, min(self._wish, wanted), closes_at_s=closes_at_s
        )
        if isinstance(taken, ComeBack):
            return taken
        self._permits.extend(taken)
        quick = len(taken) >= min(self._wish, wanted) and taken[-1].due_at_s <= self.clock.monotonic()
        self._wish = min(MOST, self._wish * 4) if quick else self.few
        return None

    def take(self) -> Permit:
        return self._permits.popleft()
