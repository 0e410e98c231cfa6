"""Ids that sort by the time of their making (UUID version 7, RFC 9562)."""

from __future__ import annotations

from uuid import UUID

from headgate.kernel.clock import Clock
from headgate.kernel.randomness import Randomness

_VERSION = 0x7 << 76
_VARIANT = 0b10 << 62


class Ids:
    """Makes UUIDv7 ids; ids of one maker within one millisecond keep their order."""

    def __init__(self, clock: Clock, randomness: Randomness) -> None:
        self._clock = clock
        self._randomness = randomness
        self._last = 0

    def new(self) -> UUID:
        milliseconds = int(self._clock.now().timestamp() * 1000)
        fresh = (
            (milliseconds << 80)
            | _VERSION
            | (self._randomness.bits(12) << 64)
            | _VARIANT
            | self._randomness.bits(62)
        )
        if fresh <= self._last:
            fresh = self._after(self._last)
        self._last = fresh
        return UUID(int=fresh)

    @staticmethod
    def _after(last: int) -> int:
        """Return a slightly greater id, carrying around the version and variant bits."""
        low = (last & ((1 << 62) - 1)) + 1
        if low < 1 << 62:
            return (last >> 62 << 62) | low
        high = ((last >> 64) & 0xFFF) + 1
        milliseconds = (last >> 80) + (high >> 12)
        return (milliseconds << 80) | _VERSION | ((high & 0xFFF) << 64) | _VARIANT
