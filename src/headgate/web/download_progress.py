"""How far downloads are, as their events tell once a second; never a row of the database.

A process that has just started hears of every running download within a second or two.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from headgate.kernel.clock import Clock, RealClock

STALE_S = 20.0
"""What was not heard of for so long has ended."""
_MAX_FILES = 1_000


@dataclass(frozen=True)
class FileProgress:
    """How much of a file has come."""

    received_bytes: int
    size_bytes: int
    """0: unknown."""
    rate: float | None
    """Bytes a second lately; None until two events tell."""

    @property
    def share(self) -> float | None:
        return min(1.0, self.received_bytes / self.size_bytes) if self.size_bytes else None


class DownloadProgress:
    """The latest word on each running download."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or RealClock()
        self._heard: OrderedDict[str, tuple[float, FileProgress]] = OrderedDict()

    def note(self, details: Mapping[str, str]) -> None:
        """Take an event; one that makes no sense is passed over."""
        try:
            file, received, size = details["file"], int(details["bytes"]), int(details["size"])
        except (KeyError, ValueError):
            return
        now_s = self._clock.monotonic()
        before = self._heard.pop(file, None)
        self._heard[file] = (now_s, FileProgress(received, size, _rate(before, received, now_s)))
        while len(self._heard) > _MAX_FILES:
            self._heard.popitem(last=False)

    def get(self, file_id: UUID) -> FileProgress | None:
        """Return how far a download is; None if nothing was heard of it lately."""
        at_s, progress = self._heard.get(str(file_id), (0.0, None))
        return progress if progress and self._clock.monotonic() - at_s < STALE_S else None


def _rate(before: tuple[float, FileProgress] | None, received: int, now_s: float) -> float | None:
    """Return bytes a second: half the latest, half what was told before."""
    if before is None or now_s <= before[0] or received < before[1].received_bytes:
        return None
    latest = (received - before[1].received_bytes) / (now_s - before[0])
    return latest if before[1].rate is None else (latest + before[1].rate) / 2
