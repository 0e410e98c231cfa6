"""The messages of one target that a turn has in hand."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from headgate.storage.sending.sending import Share


@dataclass(eq=False)
class Group:
    """One target's unsent messages in their order."""

    shares: deque[Share]
    ready_at_s: float
    flying: bool = False
    failures: int = 0
    """How often its preparation failed in this turn."""

    @property
    def next(self) -> Share:
        return self.shares[0]
