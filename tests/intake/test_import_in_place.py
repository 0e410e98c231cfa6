"""Files imported in place are not copied, are checked at each open, and serve nothing else."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from uuid import UUID

import pytest
from folder_bench import FolderBench, open_folder_bench

from headgate.domain.errors import UserError
from headgate.domain.library.places import Place, parse_place
from headgate.ingest.storing.audit import audit_files
from headgate.storage.blobs.collector import collect
from headgate.storage.blobs.store import ObjectDamaged, ObjectMissing
from headgate.storage.database import Database


@pytest.fixture
async def bench(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[FolderBench]:
    async with open_folder_bench(database, database_url, tmp_path) as opened:
        yield opened


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def _copies(bench: FolderBench) -> list[Path]:
    return [path for path in (bench.settings.data.dir / "blobs").glob("??/*") if path.is_file()]


async def _names(bench: FolderBench) -> list[str]:
    rows = await bench.rows("select object_name from blob order by object_name")
    return [row["object_name"] for row in rows]


async def _read(bench: FolderBench, name: str) -> bytes:
    store = bench.parts.files.store
    size = parse_place(name).size_bytes
    return b"".join([chunk async for chunk in store.read(name, start=0, end=size)])


async def test_files_in_place_are_read_there_and_not_copied(bench: FolderBench) -> None:
    made = {f"sub/{number}.bin": b"content %d" % number for number in range(20)}
    made["odd \ufffd.bin"] = b"odd"
    for name, content in made.items():
        _write(bench.folder / name.replace("\ufffd", os.fsdecode(b"\xff")), content)
    await bench.import_all(in_place=True)
    contents = await bench.contents()
    assert sorted(filter(None, contents.values())) == sorted(made.values())
    assert _copies(bench) == []
    again = await bench.import_all(in_place=True)
    progress = await bench.progress(again)
    assert (progress.files, progress.stored, progress.stored_now) == (21, 21, 0)


async def test_a_file_that_changed_afterwards_is_never_read_as_what_it_was(bench: FolderBench) -> None:
    path = _write(bench.folder / "a.bin", b"first")
    os.utime(path, (1, 1))
    await bench.import_all(in_place=True)
    (name,) = await _names(bench)
    store = bench.parts.files.store
    assert await _read(bench, name) == b"first"
    assert store.local_path(name) == path
    path.write_bytes(b"later")
    with pytest.raises(ObjectDamaged):
        await _read(bench, name)
    assert await store.get_size(name) is None
    assert store.local_path(name) is None
    path.unlink()
    with pytest.raises(ObjectMissing):
        await _read(bench, name)


async def test_the_audit_finds_a_changed_file_and_it_is_read_again(bench: FolderBench) -> None:
    path = _write(bench.folder / "a.bin", b"first")
    os.utime(path, (1, 1))
    await bench.import_all(in_place=True)
    path.write_bytes(b"later")
    report = await audit_files(bench.parts.files, bench.clock)
    assert report.damaged.blobs == 1
    await bench.work()
    assert await bench.contents() == {"a.bin": b"later"}


async def test_content_that_changed_unseen_is_found_by_the_audit_and_gets_its_own_hash(
    bench: FolderBench,
) -> None:
    path = _write(bench.folder / "a.bin", b"first")
    os.utime(path, (1, 1))
    await bench.import_all(in_place=True)
    path.write_bytes(b"later")
    os.utime(path, (1, 1))
    report = await audit_files(bench.parts.files, bench.clock)
    assert report.damaged.blobs == 1
    await bench.work()
    assert await bench.contents() == {"a.bin": b"later"}
    hashes = await bench.rows("select sha256 from blob order by damaged_at nulls first")
    assert [row["sha256"] for row in hashes] == [sha256(b"later").digest(), sha256(b"first").digest()]


async def test_a_collection_on_a_new_disk_is_still_the_same(bench: FolderBench, tmp_path: Path) -> None:
    _write(bench.folder / "sub" / "a.bin", b"content")
    await bench.import_all(in_place=True)
    before = await bench.ask_rows("stored")
    shutil.copytree(bench.folder, tmp_path / "new disk", copy_function=shutil.copy2)
    shutil.rmtree(bench.folder)
    (tmp_path / "new disk").rename(bench.folder)
    await bench.import_all(in_place=True)
    assert await bench.contents() == {"sub/a.bin": b"content"}
    assert await bench.ask_rows("stored") == before


async def test_a_path_of_any_length_is_read_in_place(bench: FolderBench) -> None:
    folder = bench.folder
    for _ in range(6):
        folder = folder / ("\N{LATIN SMALL LETTER A WITH DIAERESIS}\N{EN DASH}%" * 40)
    _write(folder / "far.bin", b"far")
    await bench.import_all(in_place=True)
    assert list((await bench.contents()).values()) == [b"far"]


async def test_a_folder_that_became_a_link_is_not_read(bench: FolderBench, tmp_path: Path) -> None:
    path = _write(bench.folder / "sub" / "a.bin", b"mine")
    os.utime(path, (1, 1))
    await bench.import_all(in_place=True)
    (name,) = await _names(bench)
    path.parent.rename(tmp_path / "elsewhere")
    (bench.folder / "sub").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ObjectMissing):
        await _read(bench, name)
    assert bench.parts.files.store.local_path(name) is None


def test_a_name_never_leads_out_of_its_folder() -> None:
    place = Place(b"/srv/\xff: %", b"a\n/b:\xfe", 3, -1)
    assert parse_place(place.name) == place
    for path in (b"../a", b"a/../../b", b"/etc/passwd", b"a//b", b".", b""):
        with pytest.raises(ValueError, match="does not name a file"):
            parse_place(Place(b"/srv", path, 1, 1).name)


async def test_a_moved_file_is_found_in_its_new_place(bench: FolderBench) -> None:
    path = _write(bench.folder / "here" / "a.bin", b"content")
    await bench.import_all(in_place=True)
    before = await bench.ask_rows("stored")
    (bench.folder / "there").mkdir()
    path.rename(bench.folder / "there" / "a.bin")
    await bench.import_all(in_place=True)
    assert await bench.contents() == {"here/a.bin": b"content"}
    after = await bench.ask_rows("stored")
    assert [row[:3] for row in after] == [row[:3] for row in before]


async def test_content_in_place_serves_no_other_channel(bench: FolderBench, tmp_path: Path) -> None:
    _write(bench.folder / "a.bin", b"the same")
    _write(tmp_path / "copied" / "b.bin", b"the same")
    await bench.import_all(in_place=True)
    await bench.start_import(tmp_path / "copied")
    await bench.work()
    (bench.folder / "a.bin").unlink()
    names = await _names(bench)
    assert [name.startswith("place:") for name in names] == [False, True]
    (copy,) = _copies(bench)
    assert copy.read_bytes() == b"the same"


async def test_the_collector_forgets_a_file_in_place_and_leaves_it_alone(bench: FolderBench) -> None:
    path = _write(bench.folder / "a.bin", b"mine")
    await bench.import_all(in_place=True)
    await bench.rows("update item_file set state = 'dropped', blob_id = null, stored_at = null returning 1")
    store = bench.parts.files.store
    for day in range(5):
        now = bench.clock.now() + timedelta(days=day)
        await collect(bench.database, store, now=now, keep_unused=timedelta(hours=1))
    assert await _names(bench) == []
    assert path.read_bytes() == b"mine"
    assert await bench.rows("select 1 from doomed_object") == []


async def test_a_folder_is_imported_one_way_only(bench: FolderBench) -> None:
    started = await bench.start_import(in_place=True)
    assert isinstance(started.channel_id, UUID)
    with pytest.raises(UserError, match="imported already, in place"):
        await bench.start_import()
