"""How a download that did not store its file is given back: pure decisions."""

from __future__ import annotations

from datetime import datetime, timedelta

from headgate.domain.errors import WorkError, error_class
from headgate.domain.streams.misses import GiveUp, next_try
from headgate.storage.blobs.room import NoRoom
from headgate.storage.library.fetch_lines import FetchFile
from headgate.storage.library.files import ReleasedFile

MAX_STARTS = 5
"""Downloads of a file that a crash may end before nothing more is tried."""
BUSY_S = 30.0
"""Until a spool is asked for again that another process has."""


def keep_place(file: FetchFile, *, spooled: int, now: datetime) -> ReleasedFile:
    """Nothing is wrong with the file: it goes on where it is, as soon as somebody takes it."""
    grew = spooled > file.spooled_bytes
    return ReleasedFile(file.sighting_id, now, attempts=0 if grew else file.attempts, spooled_bytes=spooled)


def keep_for_later(file: FetchFile, *, spooled: int, now: datetime) -> ReleasedFile:
    """Another process has its spool: it is tried again soon."""
    return keep_place(file, spooled=spooled, now=now)._replace(due_at=now + timedelta(seconds=BUSY_S))


def wait_for_room(file: FetchFile, error: WorkError, *, spooled: int, now: datetime) -> ReleasedFile:
    """It does not fit: it waits, and says how much it needs."""
    left = max(0, file.size_bytes - spooled)
    needs = error.needed_bytes if isinstance(error, NoRoom) else left
    kept = keep_place(file, spooled=spooled, now=now)
    return kept._replace(wait_reason="room", needs_bytes=max(needs, 1))


def count_failure(file: FetchFile, error: WorkError, *, spooled: int, now: datetime) -> ReleasedFile:
    """Retry it after a growing pause; if more has come than before, earlier failures do not count."""
    attempts = (0 if spooled > file.spooled_bytes else file.attempts) + 1
    decision = next_try(attempts, now)
    given_up = isinstance(decision, GiveUp) or not error.retryable
    return ReleasedFile(
        file.sighting_id,
        due_at=now if isinstance(decision, GiveUp) else decision.at,
        attempts=attempts,
        error_class=error_class(error),
        error_message=str(error)[:1000],
        given_up=given_up,
        spooled_bytes=spooled,
    )


def blame_crashes(file: FetchFile, *, now: datetime) -> ReleasedFile:
    """Give up a file that was there each time that its process died."""
    return ReleasedFile(
        file.sighting_id,
        now,
        error_class="Crashed",
        error_message=f"Headgate stopped {file.starts - 1} times while it was downloading this file.",
        given_up=True,
    )
