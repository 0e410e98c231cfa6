"""Importing folders: everything in them, once, whatever the files are called and whatever happens to them."""

from __future__ import annotations

import os
import shutil
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from folder_bench import FolderBench, count_downloads, fill_folder, open_folder_bench, write_file

from headgate.connectors.folder.names import path_key
from headgate.storage.database import Database


@pytest.fixture
async def bench(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[FolderBench]:
    async with open_folder_bench(database, database_url, tmp_path) as opened:
        yield opened


async def test_a_collection_is_stored_whole_and_a_second_import_finds_nothing_new(
    bench: FolderBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = fill_folder(bench.folder, 2000)
    started = await bench.import_all()
    assert started.new
    assert await bench.contents() == made
    counts = await bench.ask_rows("counts")
    assert counts[0][:2] == (2000, 2000)
    read = count_downloads(monkeypatch)
    again = await bench.import_all()
    assert not again.new
    assert again.channel_id == started.channel_id
    assert await bench.ask_rows("counts") == counts
    progress = await bench.progress(again)
    assert (progress.files, progress.stored, progress.stored_now, progress.idle) == (2000, 2000, 0, True)
    assert read == []


async def test_equal_content_is_stored_once_and_counted_as_known(bench: FolderBench) -> None:
    for name in ("a.bin", "sub/b.bin", "c.bin"):
        write_file(bench.folder / name, b"the same")
    started = await bench.import_all()
    progress = await bench.progress(started)
    assert (progress.stored_now, progress.new_contents, progress.known_before) == (3, 1, 2)


async def test_any_name_is_imported_and_found_again(bench: FolderBench) -> None:
    composed = unicodedata.normalize("NFC", "Fühler.zip")
    names = [
        b"line\nbreak.bin",
        b"not utf-8 \xff\xfe.bin",
        b"not utf-8 \xff\xfd.bin",
        b"x" * 255,
        b"%s.txt" % ("ä" * 120).encode(),
        composed.encode(),
        unicodedata.normalize("NFD", composed).encode(),
        b" leading and trailing ",
        b'tab\tquote"back\\slash',
        b"looks like ours\xe2\x80\xa6#0123456789abcdef",
        b"latin \xe9/inside.bin",
        b"/".join([b"deep" * 60] * 6) + b"/far.bin",
    ]
    for name in names:
        write_file(bench.folder / os.fsdecode(name), b"content of " + name)
    await bench.import_all()
    contents = await bench.contents()
    assert sorted(filter(None, contents.values())) == sorted(b"content of " + name for name in names)
    shutil.rmtree(bench.settings.data.dir / "folders")
    await bench.import_all()
    assert await bench.contents() == contents


def test_the_key_of_a_path_depends_on_the_path_alone() -> None:
    """Otherwise which of two files is which would depend on the order in which they are found."""
    names = [b"not utf-8 \xff\xfe.bin", b"not utf-8 \xff\xfd.bin", b"x" * 1500, b"x" * 1499]
    keys = [path_key(name) for name in names]
    assert len(set(keys)) == len(names)
    assert keys == [path_key(name) for name in names]


async def test_empty_files_are_stored_too(bench: FolderBench) -> None:
    write_file(bench.folder / "empty.txt", b"")
    await bench.import_all()
    assert await bench.contents() == {"empty.txt": b""}


async def test_volumes_of_one_name_in_two_folders_are_two_sets(bench: FolderBench) -> None:
    for folder in ("first", "second"):
        for number in (1, 2, 3):
            write_file(bench.folder / folder / f"pack.part{number}.rar", f"{folder} {number}".encode() * 10)
    await bench.import_all()
    await bench.rest(60)
    sets = await bench.ask_rows("sets")
    assert [(volumes, author) for _, volumes, author in sets] == [(3, "first"), (3, "second")]
    assert all((await bench.contents()).values())


async def test_a_moved_file_stays_the_same_item_and_is_not_read_again(
    bench: FolderBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_file(bench.folder / "here" / "a.bin", b"content")
    await bench.import_all()
    before = await bench.ask_rows("stored")
    read = count_downloads(monkeypatch)
    (bench.folder / "there").mkdir()
    (bench.folder / "here" / "a.bin").rename(bench.folder / "there" / "a.bin")
    await bench.import_all()
    assert await bench.ask_rows("stored") == before
    assert read == []
    write_file(bench.folder / "here" / "a.bin", b"another")
    await bench.import_all()
    assert sorted(filter(None, (await bench.contents()).values())) == [b"another", b"content"]


async def test_a_renamed_file_stays_the_same_item_under_its_new_name(bench: FolderBench) -> None:
    write_file(bench.folder / "a.bin", b"content")
    await bench.import_all()
    ((_, _, item_id, blob_id),) = await bench.ask_rows("stored")
    (bench.folder / "a.bin").rename(bench.folder / "b.bin")
    await bench.import_all()
    assert await bench.ask_rows("stored") == [("a.bin", "b.bin", item_id, blob_id)]


async def test_a_folder_that_is_moved_in_with_old_times_is_found(bench: FolderBench, tmp_path: Path) -> None:
    old = write_file(tmp_path / "elsewhere" / "old.bin", b"older than all")
    os.utime(old, (0, 0))
    write_file(bench.folder / "new.bin", b"new")
    await bench.import_all()
    (tmp_path / "elsewhere").rename(bench.folder / "moved in")
    await bench.import_all()
    assert await bench.contents() == {"new.bin": b"new", "moved in/old.bin": b"older than all"}


async def test_a_changed_file_of_equal_size_is_stored_anew(bench: FolderBench) -> None:
    path = write_file(bench.folder / "a.bin", b"first")
    os.utime(path, (1, 1))
    await bench.import_all()
    path.write_bytes(b"later")
    os.utime(path, (2, 2))
    before = await bench.ask_rows("stored")
    await bench.import_all()
    assert await bench.contents() == {"a.bin": b"later"}
    after = await bench.ask_rows("stored")
    assert [row[:3] for row in after] == [row[:3] for row in before]


async def test_a_file_that_grew_since_it_was_listed_is_stored_as_it_is_now(bench: FolderBench) -> None:
    path = write_file(bench.folder / "a.bin", b"short")
    await bench.start_import()
    while not await bench.ask_rows("stored"):
        assert await bench.step()
    path.write_bytes(b"longer than before")
    await bench.work()
    assert await bench.contents() == {"a.bin": b"longer than before"}


async def test_a_file_that_grows_while_it_is_read_is_never_stored_in_halves(
    bench: FolderBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_file(bench.folder / "a.bin", b"x" * 3_000_000)
    original = os.pread

    def growing(descriptor: int, size: int, offset: int) -> bytes:
        chunk = original(descriptor, size, offset)
        if offset and path.stat().st_size == 3_000_000:
            with path.open("ab") as file:
                file.write(b"more")
        return chunk

    monkeypatch.setattr(os, "pread", growing)
    started = await bench.import_all()
    progress = await bench.progress(started)
    assert (progress.stored, progress.postponed, progress.idle) == (0, 1, True)
    assert await bench.ask_rows("reasons") == [("wanted Transient the file changed while it was read",)]
    await bench.import_all()
    await bench.rest(120)
    assert await bench.contents() == {"a.bin": b"x" * 3_000_000 + b"more"}


async def test_a_file_that_vanishes_before_it_is_read_is_gone_and_the_others_are_stored(
    bench: FolderBench,
) -> None:
    for name in ("a.bin", "b.bin", "c.bin"):
        write_file(bench.folder / name, name.encode())
    started = await bench.start_import()
    while not await bench.ask_rows("stored"):
        assert await bench.step()
    (bench.folder / "b.bin").unlink()
    await bench.work()
    assert await bench.contents() == {"a.bin": b"a.bin", "b.bin": None, "c.bin": b"c.bin"}
    progress = await bench.progress(started)
    assert (progress.stored, progress.idle) == (2, True)


async def test_what_failed_is_tried_again_by_the_next_import(
    bench: FolderBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_file(bench.folder / "a.bin", b"content")

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", refuse)
        started = await bench.import_all()
    progress = await bench.progress(started)
    assert (progress.failed, progress.idle) == (1, True)
    assert await bench.ask_rows("reasons") == [
        ("failed Malformed the file cannot be read: permission denied",)
    ]
    await bench.import_all()
    assert await bench.contents() == {"a.bin": b"content"}


async def test_a_killed_import_goes_on_in_the_next_process(bench: FolderBench) -> None:
    made = fill_folder(bench.folder, 60)
    made["big.bin"] = b"big" * 1_000_000
    write_file(bench.folder / "big.bin", made["big.bin"])
    for steps in range(12):
        await bench.start_import()
        for _ in range(steps):
            await bench.step()
        await bench.die()
    await bench.import_all()
    assert await bench.contents() == made
    assert (await bench.ask_rows("counts"))[0][:2] == (61, 61)
