"""Permits, asked for in numbers that suit the pace."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import islice

from headgate.connectors.protocol import CallKind
from headgate.domain.pacing import ComeBack, Permit
from headgate.kernel.clock import Clock
from headgate.lanes import Lanes

MAX = 60
MANY = 240
"""Only for an account that used up its last permits within `SOON_S`, long before they lapse."""
SOON_S = 0.5


@dataclass
class PermitPool:
    """Permits of one kind; where the pace allows much they are asked for seldom.

    Where it is slow, only for the next few calls: permits are short-lived, and unused ones are lost.
    """

    lanes: Lanes
    clock: Clock
    owner: str
    kind: CallKind
    few: int
    wishes: dict[tuple[str, CallKind], int] = field(default_factory=dict[tuple[str, CallKind], int])
    """How many each account last asked for; its next batch begins with that."""
    _permits: deque[Permit] = field(default_factory=deque[Permit])
    _filled_at_s: float = float("-inf")

    def in_hand(self, most: int = 1) -> list[Permit]:
        """Return the next permits that can still be used, in the order of their times."""
        now_s = self.clock.monotonic()
        while self._permits and self._permits[0].void_at_s <= now_s:
            self._permits.popleft()
        return list(islice(self._permits, most))

    async def fill(self, wanted: int, *, closes_at_s: float | None = None) -> ComeBack | None:
        """Take more permits, though not more than will be wanted."""
        wish = min(self.wishes.get((self.owner, self.kind), self.few), wanted)
        grant = await self.lanes.acquire(self.owner, self.kind, wish, closes_at_s=closes_at_s)
        now_s = self.clock.monotonic()
        quick = isinstance(grant, list) and len(grant) >= wish and grant[-1].due_at_s <= now_s
        most = MANY if now_s - self._filled_at_s < SOON_S else MAX
        self.wishes[self.owner, self.kind] = min(most, wish * 4) if quick else self.few
        self._filled_at_s = now_s
        if isinstance(grant, ComeBack):
            return grant
        self._permits.extend(grant)
        return None

    def take(self) -> Permit:
        return self._permits.popleft()
