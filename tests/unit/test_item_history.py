"""What happened to an item is told from its rows, oldest first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from headgate.catalogue.history import tell_history
from headgate.catalogue.sets import SetDetails
from headgate.catalogue.stored import ShownContents, ShownFile, StoredDetails
from headgate.storage.catalogue.items import ItemPlace, KnownItem

pytestmark = pytest.mark.once

START = datetime(2026, 3, 1, tzinfo=UTC)


def at(hours: float) -> datetime:
    return START + timedelta(hours=hours)


ITEM = KnownItem(uuid4(), "package", "pack", 300, at(0), at(1), uuid4(), "Packs", "", hidden=False)


def seen(name: str, *, sent_h: float, deleted_at: datetime | None = None) -> ItemPlace:
    sent_at = at(sent_h)
    return ItemPlace(
        ITEM.channel_id, name, "", "", "mia", "", name, 100, "", "", sent_at, sent_at, deleted_at, "kept"
    )


def stored(*stored_at: datetime | None, contents: ShownContents | None = None) -> StoredDetails:
    files = [
        ShownFile(uuid4(), "pack.zip", 100, "stored" if when else "wanted", "", 1, when) for when in stored_at
    ]
    return StoredDetails(files, contents, [], "", "")


def test_a_file_that_is_posted_again_is_told_with_what_became_of_it() -> None:
    looked = ShownContents("damaged", "damaged", [], "", "zip", 3, 100, None, at(4), waiting=False)
    places = [seen("a", sent_h=0), seen("b", sent_h=5, deleted_at=at(6))]
    history = tell_history(ITEM, places, stored(at(3), contents=looked), None)
    assert [(event.at, event.text) for event in history] == [
        (at(0), "Posted"),
        (at(1), "Found"),
        (at(3), "Stored"),
        (at(4), "Contents read: damaged"),
        (at(5), "Posted again"),
        (at(6), "Message deleted on the platform"),
    ]


def test_a_set_tells_of_its_latest_volume_and_of_those_that_were_deleted() -> None:
    volumes = SetDetails("impossible", "", "", "", "", problem=False, arrived_at=at(2), dismissed_at=at(9))
    places = [seen("pack.part1.rar", sent_h=0), seen("pack.part2.rar", sent_h=2, deleted_at=at(5))]
    history = tell_history(ITEM, places, stored(at(3), None), volumes)
    assert [event.text for event in history] == [
        "Posted",
        "Found",
        "Latest volume found",
        "1 of 2 files stored",
        "pack.part2.rar deleted on the platform",
        "Problem dismissed",
    ]
