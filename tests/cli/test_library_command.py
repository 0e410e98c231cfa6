"""`headgate library`: what was found, in a list and one by one."""

from __future__ import annotations

import asyncio
import io
import zipfile
from pathlib import Path
from uuid import UUID, uuid4

from inspecting_bench import open_bench
from ledger import Ledger

from headgate.storage.database import Tx
from headgate.storage.queries import QueryFile
from headgate.storage.shelf.touched import touch_items

SEEDS = QueryFile(
    "library",
    """
-- name: add_channel
insert into channel (id, platform, key, kind, title, created_at)
values (%(id)s, 'simulated', 'packs', 'stream', 'Packs', %(now)s)

-- name: add_item
with made as (
    insert into item (id, channel_id, content_key, kind, title, size_bytes, sent_at, caught_at)
    values (%(id)s, %(channel_id)s, %(title)s, 'package', %(title)s, 1500000, %(now)s, %(now)s)
), said as (
    insert into message (channel_id, key, position, author, text, sent_at, version_at, seen_at)
    values (%(channel_id)s, %(title)s, 1, 'mia', 'all of them', %(now)s, %(now)s, %(now)s)
)
insert into sighting (id, channel_id, message_key, attachment_key, position, file_name, size_bytes, mime_type,
    sent_at, version_at, seen_at, verdict, item_id)
values (%(sighting_id)s, %(channel_id)s, %(title)s, 'a0', 1, 'pack.zip', 1500000, 'application/zip',
    %(now)s, %(now)s, %(now)s, 'kept', %(id)s)
""",
)


def add(ledger: Ledger, *titles: str) -> list[UUID]:
    channel_id = uuid4()

    async def write(tx: Tx) -> list[UUID]:
        await tx.execute(SEEDS["add_channel"], id=channel_id, now=ledger.now)
        ids = [uuid4() for _ in titles]
        for item_id, title in zip(ids, titles, strict=True):
            await tx.execute(
                SEEDS["add_item"],
                id=item_id,
                sighting_id=uuid4(),
                channel_id=channel_id,
                title=title,
                now=ledger.now,
            )
        touch_items(tx, ids)
        return ids

    return ledger(write)


def test_items_are_listed(ledger: Ledger) -> None:
    assert "Nothing was found yet." in ledger.said("library", "list")
    add(ledger, "otters", "badgers")
    listed = ledger.said("library", "list")
    assert "otters" in listed
    assert "1.5 MB" in listed
    assert "2 in all." in listed
    assert "1 of 2; --limit shows more" in ledger.said("library", "list", "--limit", "1")


def test_an_item_is_shown_by_id_or_by_words_of_its_title(ledger: Ledger) -> None:
    otters, _ = add(ledger, "river otters", "badgers")
    for reference in (str(otters), "otter"):
        shown = ledger.said("library", "show", reference)
        assert "all of them" in shown
        assert "Package, 1.5 MB, in Packs" in shown
        assert "pack.zip" in shown
    assert ledger.document("library", "show", str(otters))["item"]["id"] == str(otters)


def test_what_is_not_found_or_found_twice_is_said(ledger: Ledger) -> None:
    first, second = add(ledger, "otters 1", "otters 2")
    assert "No title contains 'fox'." in ledger.refused("library", "show", "fox")
    assert "There is no such item." in ledger.refused("library", "show", str(uuid4()))
    several = ledger.refused("library", "show", "otters")
    assert str(first) in several
    assert str(second) in several


def test_files_are_asked_for_dropped_and_removed_for_one_or_many(ledger: Ledger) -> None:
    otters, badgers = add(ledger, "otters", "badgers")
    assert ledger.said("library", "fetch", "otters", str(badgers)) == "2 files are downloaded next.\n"
    assert ledger.values("select state || priority from item_file") == ["wanted20", "wanted20"]
    assert "The items stay listed." in ledger.said("library", "drop", "otters", "--yes")
    assert sorted(ledger.values("select state from item_file")) == ["dropped", "wanted"]
    assert "1 item is removed." in ledger.said("library", "remove", str(otters), "--yes")
    assert "otters" not in ledger.said("library", "list")
    assert "There is no item" in ledger.refused("library", "fetch", str(otters))


def test_a_file_that_is_not_there_is_shown_with_the_reason(ledger: Ledger) -> None:
    add(ledger, "otters")
    ledger.said("library", "fetch", "otters")
    ledger.values("update item_file set wait_reason = 'room', needs_bytes = 3000000 returning needs_bytes")
    reason = "The disk has no room: it needs 3.0 MB."
    assert reason in " ".join(ledger.said("library", "show", "otters").split())
    (file,) = ledger.document("library", "show", "otters")["stored"]["files"]
    assert file["reason"] == reason


def test_nothing_is_dropped_without_a_confirmation(ledger: Ledger) -> None:
    add(ledger, "otters")
    assert "--yes" in ledger.refused("library", "drop", "otters")
    assert ledger.values("select state from item_file") == []


def test_stored_files_are_shown_and_copied_out(ledger: Ledger, tmp_path: Path) -> None:
    async def store() -> None:
        async with open_bench(ledger.url, tmp_path) as bench:
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w") as archive:
                archive.writestr("parts/roof.stl", b"solid")
                archive.writestr("licence.txt", b"free")
            item_id = await bench.post_all({"tower.zip": buffer.getvalue()}, title="watchtower")
            await bench.look(item_id)

    asyncio.run(store())
    shown = ledger.said("library", "show", "watchtower")
    assert "stored" in shown
    assert "parts/ (1 file)" in shown
    assert "roof.stl" in ledger.said("library", "show", "watchtower", "--inside", "parts")
    assert "licence.txt" in ledger.said("library", "show", "watchtower", "--find", "licence")
    out = tmp_path / "out"
    assert "1 file copied" in ledger.said("library", "export", "watchtower", str(out))
    assert zipfile.is_zipfile(out / "tower.zip")
    again = ledger.document("library", "export", "watchtower", str(out))
    assert (again["written"], again["already_there"]) == ([], ["tower.zip"])


def test_nothing_stored_is_nothing_to_copy(ledger: Ledger, tmp_path: Path) -> None:
    add(ledger, "otters")
    assert "Nothing of this item is stored." in ledger.refused("library", "export", "otters", str(tmp_path))


def test_the_library_is_filtered_sorted_and_saved_as_a_view(ledger: Ledger) -> None:
    ledger.add_user("ada")
    otters, badgers = add(ledger, "otters", "badgers")

    async def tag(tx: Tx) -> None:
        for item_id, name in ((otters, "river"), (badgers, "wood")):
            await tx.raw(
                "insert into item_label (item_id, kind, source, key, name, rule)"
                " values ($1, 'tag', 'rule', $2, $2, 'test')",
                [item_id, name],
            )
        await tx.raw("update item set name_key = title", [])
        touch_items(tx, [otters, badgers])

    ledger(tag)
    listed = ledger.document("library", "list", "--tag", "River", "--channel", "Packs", "--kind", "package")
    assert [row["name"] for row in listed["rows"]] == ["otters"]
    assert listed["count"] == {"rows": 1, "more": False}
    assert "Filters: Packs, #river." in ledger.said("library", "list", "--tag", "river", "--channel", "Packs")
    by_name = ledger.document("library", "list", "--sort", "name")
    assert [row["name"] for row in by_name["rows"]] == ["badgers", "otters"]
    assert "Nothing matches." in ledger.said("library", "list", "--min-size", "1 GB")
    assert "is not a kind" in ledger.refused("library", "list", "--kind", "thing")
    assert "no channel" in ledger.refused("library", "list", "--channel", "Nowhere")
    saved = ledger.document("library", "views", "save", "Wet", "tag=River&sort=name")
    assert saved["query"] == "tag=river&sort=name"
    shown = ledger.document("library", "list", "--view", "wet")
    assert [row["name"] for row in shown["rows"]] == ["otters"]
    assert "#river; name first" in ledger.said("library", "views", "list")


def test_views_are_changed_by_name(ledger: Ledger) -> None:
    ledger.add_user("ada")
    assert "no views yet" in ledger.said("library", "views", "list")
    assert "Saved Clips." in ledger.said("library", "views", "save", "Clips", "kind=clip")
    assert "Renamed to Short." in ledger.said("library", "views", "rename", "clips", "Short")
    ledger.said("library", "views", "replace", "Short", "kind=clip&sort=size")
    assert "The default is Short." in ledger.said("library", "views", "default", "Short")
    (view,) = ledger.document("library", "views", "list")["views"]
    assert (view["name"], view["query"], view["is_default"]) == ("Short", "kind=clip&sort=size", True)
    assert "No longer the default" in ledger.said("library", "views", "default", "Short", "--off")
    assert "has no view 'Shirt'. Did you mean 'Short'?" in ledger.refused(
        "library", "views", "delete", "Shirt", "-y"
    )
    assert "needs a confirmation" in ledger.refused("library", "views", "delete", "Short")
    assert "Deleted Short." in ledger.said("library", "views", "delete", "Short", "--yes")
