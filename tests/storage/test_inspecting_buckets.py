"""Archives of a bucket are copied to be read: with room before the first byte, and for the moment only."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest
from inspecting_bench import InspectingBench, open_bench

from headgate.catalogue.stored import show_stored
from headgate.domain.errors import UserError
from headgate.domain.library.inspections import arrange_volumes, place_volumes
from headgate.ingest.serving.downloads import extract, get_entry_wish
from headgate.storage.blobs.room import NoRoom
from headgate.storage.library.inspections import list_item_files

SIZE = 3_000_000


@pytest.fixture
async def inspecting(
    database_url: str, tmp_path: Path, bucket_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[InspectingBench]:
    """A disk on which nobody else writes, of which a tenth is kept free."""
    disk = SimpleNamespace(total=10**12, used=0, free=10**11 + 10**9)

    def measure(_path: object) -> SimpleNamespace:
        return disk

    monkeypatch.setattr(shutil, "disk_usage", measure)
    async with open_bench(database_url, tmp_path / "data", bucket_environment) as bench:
        yield bench


def archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr("roof.stl", b"x" * SIZE)
    return buffer.getvalue()


def spools(bench: InspectingBench) -> list[str]:
    return sorted(path.name for path in bench.parts.files.spools.folder.glob("*@*"))


async def leave(bench: InspectingBench, left_bytes: int) -> None:
    room = bench.parts.files.room
    await room.reserve("elsewhere", (await room.measure()).left_bytes - left_bytes)


async def free(bench: InspectingBench) -> None:
    async with bench.parts.database.transaction() as tx:
        await bench.parts.files.room.release(tx, ["elsewhere"])


async def promised(bench: InspectingBench) -> int:
    return (await bench.parts.files.room.measure()).promised_bytes


async def waiting_reason(bench: InspectingBench, item_id: UUID) -> str:
    async with bench.parts.database.transaction() as tx:
        contents = (await show_stored(tx, item_id)).contents
    assert contents is not None
    return contents.waiting_reason


async def test_a_look_without_room_waits_and_says_how_much_it_needs(inspecting: InspectingBench) -> None:
    content = archive()
    item_id = await inspecting.post_all({"tower.zip": content})
    await leave(inspecting, len(content) - 1)
    seen = await inspecting.look(item_id)
    assert (seen.state, seen.needs_bytes) == ("pending", len(content))
    assert "it needs 3.0 MB" in await waiting_reason(inspecting, item_id)
    assert spools(inspecting) == []
    await free(inspecting)
    inspecting.clock.advance(61)
    await inspecting.work()
    seen = await inspecting.get(item_id)
    assert (seen.state, seen.needs_bytes) == ("ok", 0)
    assert await waiting_reason(inspecting, item_id) == ""


async def test_a_look_leaves_neither_copies_nor_promises(inspecting: InspectingBench) -> None:
    item_id = await inspecting.post_all({"tower.zip": archive()})
    assert (await inspecting.look(item_id)).state == "ok"
    assert await inspecting.paths(item_id) == ["roof.stl"]
    assert (spools(inspecting), await promised(inspecting)) == ([], 0)


async def test_room_is_promised_before_the_first_byte_and_counts_what_was_copied(
    inspecting: InspectingBench,
) -> None:
    content = archive()
    item_id = await inspecting.post_all({"tower.zip": content, "wall.zip": content + b"more"})
    async with inspecting.parts.database.transaction() as tx:
        places = place_volumes(arrange_volumes(await list_item_files(tx, item_id)))
    reader = inspecting.parts.reader
    assert reader is not None
    async with reader.files.open(places[:1]) as (path,):
        assert path is not None
        assert path.read_bytes() == content
        # What is copied is on the disk already, so nothing more is promised for it.
        assert len(spools(inspecting)) == 1
        assert await promised(inspecting) == 0
    with pytest.raises(NoRoom):
        await leave(inspecting, 10)
        async with reader.files.open(places[:1]):
            pytest.fail("there is no room")
    assert spools(inspecting) == []


async def test_copies_of_a_killed_process_are_removed_by_the_next_one(inspecting: InspectingBench) -> None:
    files = inspecting.parts.files
    spool = await files.spools.open("look/1/0", version="object")
    await spool.append(b"copied before the kill")
    await spool.flush()
    files.spools.abandon()
    assert len(spools(inspecting)) == 1
    await files.open()
    assert spools(inspecting) == []


async def test_a_person_who_extracts_a_file_learns_that_there_is_no_room(inspecting: InspectingBench) -> None:
    item_id = await inspecting.post_all({"tower.zip": archive()})
    await inspecting.look(item_id)
    await leave(inspecting, 10)
    async with inspecting.parts.database.transaction() as tx:
        wish = await get_entry_wish(tx, item_id, 0)
    reader = inspecting.parts.reader
    assert reader is not None
    with pytest.raises(UserError, match="has no room: it needs"):
        async with extract(reader, wish):
            pytest.fail("there is no room")
