"""What happened to an item, oldest first, as far as its rows tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from headgate.catalogue.sets import SetDetails
from headgate.catalogue.stored import StoredDetails
from headgate.storage.catalogue.items import ItemPlace, KnownItem


@dataclass(frozen=True)
class HistoryEvent:
    """Something that happened to an item."""

    at: datetime
    text: str


def tell_history(
    item: KnownItem, places: Sequence[ItemPlace], stored: StoredDetails, volumes: SetDetails | None
) -> tuple[HistoryEvent, ...]:
    """Return what happened to an item, oldest first."""
    events = [
        HistoryEvent(item.sent_at, "Posted"),
        HistoryEvent(item.caught_at, "Found"),
        *_of_messages(places, is_set=volumes is not None),
        *_of_files(stored),
        *(_of_set(volumes) if volumes else ()),
    ]
    return tuple(sorted(events, key=lambda event: event.at))


def _of_messages(places: Sequence[ItemPlace], *, is_set: bool) -> Iterator[HistoryEvent]:
    # The messages of a set hold its volumes, one each; those of a file hold the same file again.
    for place in () if is_set else places[1:]:
        yield HistoryEvent(place.sent_at, "Posted again")
    for place in places:
        if place.deleted_at:
            what = f"{place.file_name} deleted" if is_set and place.file_name else "Message deleted"
            yield HistoryEvent(place.deleted_at, f"{what} on the platform")


def _of_files(stored: StoredDetails) -> Iterator[HistoryEvent]:
    times = [file.stored_at for file in stored.stored if file.stored_at]
    if times:
        count, total = len(times), len(stored.files)
        yield HistoryEvent(max(times), "Stored" if total == 1 else f"{count} of {total} files stored")
    if stored.contents and stored.contents.inspected_at and stored.contents.state not in ("plain", "empty"):
        yield HistoryEvent(stored.contents.inspected_at, f"Contents read: {stored.contents.state_text}")


def _of_set(volumes: SetDetails) -> Iterator[HistoryEvent]:
    yield HistoryEvent(volumes.arrived_at, "Latest volume found")
    if volumes.dismissed_at:
        yield HistoryEvent(volumes.dismissed_at, "Problem dismissed")
