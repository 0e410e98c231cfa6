"""Importing folders: what is left out or refused, and folders that go away and come back."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from folder_bench import FolderBench, fill_folder, open_folder_bench, write_file

from headgate.domain.errors import UserError
from headgate.ingest.storing.audit import audit_files
from headgate.intake.channels.requests import remove_channel
from headgate.storage.database import Database


@pytest.fixture
async def bench(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[FolderBench]:
    async with open_folder_bench(database, database_url, tmp_path) as opened:
        yield opened


async def test_hidden_files_links_and_sockets_are_left_out(
    bench: FolderBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_file(bench.folder / "kept.bin", b"kept")
    write_file(bench.folder / ".hidden", b"hidden")
    write_file(bench.folder / ".folder" / "inside.bin", b"hidden")
    write_file(tmp_path / "outside.bin", b"outside")
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
        write_file(bench.folder / "a.bin", b"a")
        bench.folder = tmp_path
        await bench.import_all()
        assert await bench.contents() == {"collection/a.bin": b"a"}


async def test_a_folder_whose_disk_is_away_loses_nothing(bench: FolderBench, tmp_path: Path) -> None:
    made = fill_folder(bench.folder, 5)
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
    made = fill_folder(bench.folder, 5)
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
    write_file(bench.folder / "a.bin", b"stays")
    path = write_file(bench.folder / "b.bin", b"leaves")
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
    write_file(bench.folder / "kept.bin", b"kept")
    for path in (bench.folder / "sub" / "a.bin", tmp_path / "secret" / "a.bin"):
        os.utime(write_file(path, path.parent.name.encode()[:3]), (1, 1))
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
    made = fill_folder(bench.folder, 5)
    first = await bench.import_all()
    await bench.do(lambda tx: remove_channel(tx, first.channel_id, now=bench.clock.now()))
    await bench.work()
    assert await bench.contents() == {}
    again = await bench.import_all()
    assert again.new
    assert await bench.contents() == made


async def test_times_beyond_all_columns_are_imported(bench: FolderBench) -> None:
    path = write_file(bench.folder / "a.bin", b"far")
    os.utime(path, (2**40, 2**40))
    write_file(bench.folder / "b.bin", b"near")
    await bench.import_all()
    assert await bench.contents() == {"a.bin": b"far", "b.bin": b"near"}


async def test_folders_that_cannot_be_imported_are_refused_with_the_reason(
    bench: FolderBench, tmp_path: Path
) -> None:
    file = write_file(bench.folder / "sub" / "file.bin", b"x")
    with pytest.raises(UserError, match="does not exist"):
        await bench.start_import(tmp_path / "nowhere")
    with pytest.raises(UserError, match="is not a folder"):
        await bench.start_import(file)
    with pytest.raises(UserError, match="where Headgate keeps its own files"):
        await bench.start_import(bench.settings.data.dir / "blobs")
    odd = write_file(tmp_path / os.fsdecode(b"odd \xff") / "file.bin", b"x").parent
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
