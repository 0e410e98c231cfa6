"""Importing folders: everything in them, once, whatever the files are called and whatever happens to them."""

from __future__ import annotations

import os
import shutil
import socket
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from folder_bench import FolderBench, open_folder_bench

from headgate.connectors.folder.link import FolderLink
from headgate.connectors.folder.names import path_key
from headgate.domain.errors import UserError
from headgate.ingest.storing.audit import audit_files
from headgate.intake.channels.requests import remove_channel
from headgate.storage.database import Database


@pytest.fixture
async def bench(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[FolderBench]:
    async with open_folder_bench(database, database_url, tmp_path) as opened:
        yield opened


def _fill(folder: Path, count: int) -> dict[str, bytes]:
    """Make nested files with contents of their own; returns them by their paths."""
    made: dict[str, bytes] = {}
    for number in range(count):
        path = folder / f"maker {number % 7}" / f"pack {number % 50}" / f"model {number}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        content = f"content {number}".encode() * (number % 5)
        path.write_bytes(content)
        made[str(path.relative_to(folder))] = content
    return made


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def _downloads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Count what is read from files, by the keys."""
    read: list[str] = []
    original = FolderLink.download

    def counting(
        self: FolderLink, stream: str, *, message_key: str, attachment_key: str, offset: int = 0
    ) -> object:
        read.append(message_key)
        return original(self, stream, message_key=message_key, attachment_key=attachment_key, offset=offset)

    monkeypatch.setattr(FolderLink, "download", counting)
    return read


async def test_a_collection_is_stored_whole_and_a_second_import_finds_nothing_new(
    bench: FolderBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = _fill(bench.folder, 2000)
    started = await bench.import_all()
    assert started.new
    assert await bench.contents() == made
    counts = await bench.ask_rows("counts")
    assert counts[0][:2] == (2000, 2000)
    read = _downloads(monkeypatch)
    again = await bench.import_all()
    assert not again.new
    assert again.channel_id == started.channel_id
    assert await bench.ask_rows("counts") == counts
    progress = await bench.progress(again)
    assert (progress.files, progress.stored, progress.stored_now, progress.idle) == (2000, 2000, 0, True)
    assert read == []


async def test_equal_content_is_stored_once_and_counted_as_known(bench: FolderBench) -> None:
    for name in ("a.bin", "sub/b.bin", "c.bin"):
        _write(bench.folder / name, b"the same")
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
        _write(bench.folder / os.fsdecode(name), b"content of " + name)
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
    _write(bench.folder / "empty.txt", b"")
    await bench.import_all()
    assert await bench.contents() == {"empty.txt": b""}


async def test_volumes_of_one_name_in_two_folders_are_two_sets(bench: FolderBench) -> None:
    for folder in ("first", "second"):
        for number in (1, 2, 3):
            _write(bench.folder / folder / f"pack.part{number}.rar", f"{folder} {number}".encode() * 10)
    await bench.import_all()
    await bench.rest(60)
    sets = await bench.ask_rows("sets")
    assert [(volumes, author) for _, volumes, author in sets] == [(3, "first"), (3, "second")]
    assert all((await bench.contents()).values())


async def test_a_moved_file_stays_the_same_item_and_is_not_read_again(
    bench: FolderBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(bench.folder / "here" / "a.bin", b"content")
    await bench.import_all()
    before = await bench.ask_rows("stored")
    read = _downloads(monkeypatch)
    (bench.folder / "there").mkdir()
    (bench.folder / "here" / "a.bin").rename(bench.folder / "there" / "a.bin")
    await bench.import_all()
    assert await bench.ask_rows("stored") == before
    assert read == []
    _write(bench.folder / "here" / "a.bin", b"another")
    await bench.import_all()
    assert sorted(filter(None, (await bench.contents()).values())) == [b"another", b"content"]


async def test_a_renamed_file_stays_the_same_item_under_its_new_name(bench: FolderBench) -> None:
    _write(bench.folder / "a.bin", b"content")
    await bench.import_all()
    ((_, _, item_id, blob_id),) = await bench.ask_rows("stored")
    (bench.folder / "a.bin").rename(bench.folder / "b.bin")
    await bench.import_all()
    assert await bench.ask_rows("stored") == [("a.bin", "b.bin", item_id, blob_id)]


async def test_a_folder_that_is_moved_in_with_old_times_is_found(bench: FolderBench, tmp_path: Path) -> None:
    old = _write(tmp_path / "elsewhere" / "old.bin", b"older than all")
    os.utime(old, (0, 0))
    _write(bench.folder / "new.bin", b"new")
    await bench.import_all()
    (tmp_path / "elsewhere").rename(bench.folder / "moved in")
    await bench.import_all()
    assert await bench.contents() == {"new.bin": b"new", "moved in/old.bin": b"older than all"}


async def test_a_changed_file_of_equal_size_is_stored_anew(bench: FolderBench) -> None:
    path = _write(bench.folder / "a.bin", b"first")
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
    path = _write(bench.folder / "a.bin", b"short")
    await bench.start_import()
    while not await bench.ask_rows("stored"):
        assert await bench.step()
    path.write_bytes(b"longer than before")
    await bench.work()
    assert await bench.contents() == {"a.bin": b"longer than before"}


async def test_a_file_that_grows_while_it_is_read_is_never_stored_in_halves(
    bench: FolderBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _write(bench.folder / "a.bin", b"x" * 3_000_000)
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
        _write(bench.folder / name, name.encode())
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
    _write(bench.folder / "a.bin", b"content")

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
    made = _fill(bench.folder, 60)
    made["big.bin"] = b"big" * 1_000_000
    _write(bench.folder / "big.bin", made["big.bin"])
    for steps in range(12):
        await bench.start_import()
        for _ in range(steps):
            await bench.step()
        await bench.die()
    await bench.import_all()
    assert await bench.contents() == made
    assert (await bench.ask_rows("counts"))[0][:2] == (61, 61)


async def test_hidden_files_links_and_sockets_are_left_out(
    bench: FolderBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(bench.folder / "kept.bin", b"kept")
    _write(bench.folder / ".hidden", b"hidden")
    _write(bench.folder / ".folder" / "inside.bin", b"hidden")
    _write(tmp_path / "outside.bin", b"outside")
    (bench.folder / "link.bin").symlink_to(tmp_path / "outside.bin")
    (bench.folder / "loop").symlink_to(bench.folder)
    with socket.socket(socket.AF_UNIX) as listener:
        # The whole path would be too long for a socket.
        monkeypatch.chdir(bench.folder)
        listener.bind("socket")
        await bench.import_all()
    assert await bench.contents() == {"kept.bin": b"kept"}


async def test_a_tree_with_our_data_folder_in_it_imports_all_but_that(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    async with open_folder_bench(database, database_url, tmp_path) as bench:
        _write(bench.folder / "a.bin", b"a")
        bench.folder = tmp_path
        await bench.import_all()
        assert await bench.contents() == {"collection/a.bin": b"a"}


async def test_a_folder_whose_disk_is_away_loses_nothing(bench: FolderBench, tmp_path: Path) -> None:
    made = _fill(bench.folder, 5)
    await bench.import_all()
    counts = await bench.ask_rows("counts")
    bench.folder.rename(tmp_path / "away")
    await bench.rest()
    assert await bench.contents() == made
    (tmp_path / "away").rename(bench.folder)
    await bench.rest()
    await bench.import_all()
    assert await bench.contents() == made
    assert await bench.ask_rows("counts") == counts


@pytest.mark.parametrize("in_place", [False, True])
async def test_an_empty_folder_where_the_disk_was_mounted_loses_nothing(
    bench: FolderBench, tmp_path: Path, *, in_place: bool
) -> None:
    made = _fill(bench.folder, 5)
    await bench.import_all(in_place=in_place)
    bench.folder.rename(tmp_path / "away")
    bench.folder.mkdir()
    with pytest.raises(UserError, match="is empty, but it had files"):
        await bench.start_import(in_place=in_place)
    await audit_files(bench.parts.files, bench.clock)
    await bench.rest()
    assert await bench.rows("select 1 from sighting where deleted_at is not null") == []
    bench.folder.rmdir()
    (tmp_path / "away").rename(bench.folder)
    await bench.rest()
    await bench.import_all(in_place=in_place)
    assert await bench.contents() == made


async def test_a_file_that_was_gone_and_is_back_is_stored(bench: FolderBench) -> None:
    _write(bench.folder / "a.bin", b"stays")
    path = _write(bench.folder / "b.bin", b"leaves")
    await bench.start_import()
    while not await bench.ask_rows("stored"):
        assert await bench.step()
    path.rename(bench.folder / ".b")
    await bench.work()
    assert await bench.contents() == {"a.bin": b"stays", "b.bin": None}
    (bench.folder / ".b").rename(path)
    await bench.import_all()
    assert await bench.contents() == {"a.bin": b"stays", "b.bin": b"leaves"}


async def test_a_folder_that_is_replaced_by_a_link_leads_nowhere(bench: FolderBench, tmp_path: Path) -> None:
    """Somebody who may write to the folder makes a file that looks like one elsewhere, and then a link."""
    _write(bench.folder / "kept.bin", b"kept")
    for path in (bench.folder / "sub" / "a.bin", tmp_path / "secret" / "a.bin"):
        os.utime(_write(path, path.parent.name.encode()[:3]), (1, 1))
    await bench.start_import()
    while not await bench.ask_rows("stored"):
        assert await bench.step()
    shutil.rmtree(bench.folder / "sub")
    (bench.folder / "sub").symlink_to(tmp_path / "secret")
    await bench.work()
    await bench.import_all()
    assert await bench.contents() == {"kept.bin": b"kept", "sub/a.bin": None}


@pytest.mark.long
async def test_a_removed_folder_can_be_imported_again(bench: FolderBench) -> None:
    made = _fill(bench.folder, 5)
    first = await bench.import_all()
    await bench.do(lambda tx: remove_channel(tx, first.channel_id, now=bench.clock.now()))
    await bench.work()
    assert await bench.contents() == {}
    again = await bench.import_all()
    assert again.new
    assert await bench.contents() == made


async def test_times_beyond_all_columns_are_imported(bench: FolderBench) -> None:
    path = _write(bench.folder / "a.bin", b"far")
    os.utime(path, (2**40, 2**40))
    _write(bench.folder / "b.bin", b"near")
    await bench.import_all()
    assert await bench.contents() == {"a.bin": b"far", "b.bin": b"near"}


async def test_folders_that_cannot_be_imported_are_refused_with_the_reason(
    bench: FolderBench, tmp_path: Path
) -> None:
    file = _write(bench.folder / "sub" / "file.bin", b"x")
    with pytest.raises(UserError, match="does not exist"):
        await bench.start_import(tmp_path / "nowhere")
    with pytest.raises(UserError, match="is not a folder"):
        await bench.start_import(file)
    with pytest.raises(UserError, match="where Headgate keeps its own files"):
        await bench.start_import(bench.settings.data.dir / "blobs")
    odd = _write(tmp_path / os.fsdecode(b"odd \xff") / "file.bin", b"x").parent
    with pytest.raises(UserError, match="not valid UTF-8"):
        await bench.start_import(odd)


async def test_a_folder_inside_or_around_an_imported_one_is_refused(bench: FolderBench) -> None:
    (bench.folder / "sub" / "deeper").mkdir(parents=True)
    await bench.start_import(bench.folder / "sub")
    with pytest.raises(UserError, match="is part of"):
        await bench.start_import(bench.folder / "sub" / "deeper")
    with pytest.raises(UserError, match="is imported already"):
        await bench.start_import(bench.folder)
    (bench.folder / "subway").mkdir()
    assert (await bench.start_import(bench.folder / "subway")).new


async def test_a_title_is_kept_until_another_is_given(bench: FolderBench) -> None:
    assert (await bench.start_import()).title == "collection"
    assert (await bench.start_import(title="My models")).title == "My models"
    assert (await bench.start_import()).title == "My models"
