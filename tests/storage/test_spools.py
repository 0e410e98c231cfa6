"""Spools: what arrives is hashed, kept, and gone on with after a break."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.storage.blobs.disk import DiskStore
from headgate.storage.blobs.spool_file import SpoolBusy
from headgate.storage.blobs.spools import BATCH_BYTES, Spool, SpoolFolder, WrongContent
from headgate.storage.blobs.store import DiskFull, Upload, name_object

pytestmark = pytest.mark.once

SYNC_EVERY = 4096
LARGE = bytes(range(256)) * (3 * BATCH_BYTES // 256)


def _sha256(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


async def _fill(spool: Spool, content: bytes) -> None:
    for start in range(0, len(content), 100_000):
        await spool.append(content[start : start + 100_000])


def _crash(spool: Spool) -> None:
    """Leave a spool as a killed process leaves it: unlocked, without a last sync."""
    spool._file.close()  # pyright: ignore[reportPrivateUsage]
    spool._open = False  # pyright: ignore[reportPrivateUsage]


async def _crashed(spools: SpoolFolder, content: bytes) -> int:
    """Write, crash, and return how much was durable."""
    spool = await spools.open("a", version="1")
    await _fill(spool, content[:-1000])
    await spool.flush()
    spool._file.sync()  # pyright: ignore[reportPrivateUsage]
    await spool.append(content[-1000:])
    await spool.flush()
    _crash(spool)
    assert spool.path.read_bytes() == content
    return len(content) - 1000


async def test_what_arrives_is_kept_and_hashed(spools: SpoolFolder) -> None:
    async with await spools.open("a", version="1") as spool:
        await _fill(spool, LARGE)
        assert spool.length == len(LARGE)
        await spool.finish(size_bytes=len(LARGE), sha256=_sha256(LARGE))
        assert spool.path.read_bytes() == LARGE
        assert spool.sha256 == _sha256(LARGE)


async def test_nothing_is_content_too(spools: SpoolFolder) -> None:
    async with await spools.open("a", version="1") as spool:
        await spool.finish(size_bytes=0, sha256=_sha256(b""))
        assert spool.path.read_bytes() == b""


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.binary(max_size=3000), max_size=8), min_size=1, max_size=4),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_breaks_and_crashes_never_change_the_content(
    sessions: Sequence[Sequence[bytes]], crashes: Sequence[bool]
) -> None:
    content = b"".join(chunk for session in sessions for chunk in session)

    async def download(folder: SpoolFolder) -> None:
        for session, crash in zip(sessions, crashes, strict=False):
            spool = await folder.open("a", version="1")
            assert spool.path.read_bytes()[: spool.length] == content[: spool.length]
            for chunk in session:
                await spool.append(content[spool.length : spool.length + len(chunk)])
            await spool.flush()
            if crash:
                _crash(spool)
            else:
                await spool.close()
        async with await folder.open("a", version="1") as spool:
            await spool.append(content[spool.length :])
            await spool.finish(size_bytes=len(content), sha256=_sha256(content))
            assert spool.path.read_bytes() == content

    with tempfile.TemporaryDirectory() as path:
        asyncio.run(download(SpoolFolder(Path(path), machine="here", sync_every_bytes=1000)))


async def test_a_crashed_download_goes_on_at_the_last_sync(spools: SpoolFolder) -> None:
    durable = await _crashed(spools, LARGE)
    async with await spools.open("a", version="1") as spool:
        assert spool.length == durable
        await _fill(spool, LARGE[spool.length :])
        await spool.finish(size_bytes=len(LARGE), sha256=_sha256(LARGE))


async def test_what_was_not_synced_is_not_believed(spools: SpoolFolder) -> None:
    durable = await _crashed(spools, LARGE)
    path = next(spools.folder.glob("*@a"))
    with path.open("r+b") as file:
        file.seek(durable)
        file.write(b"\0" * 1000)
    async with await spools.open("a", version="1") as spool:
        assert spool.length == durable
        await _fill(spool, LARGE[spool.length :])
        await spool.finish(sha256=_sha256(LARGE))


async def test_a_closed_download_goes_on_where_it_was(spools: SpoolFolder) -> None:
    async with await spools.open("a", version="1") as spool:
        await spool.append(b"begun ")
    async with await spools.open("a", version="1") as spool:
        assert spool.length == 6
        await spool.append(b"and ended")
        await spool.finish(sha256=_sha256(b"begun and ended"))


@pytest.mark.parametrize(("machine", "version"), [("here", "2"), ("elsewhere", "1")])
async def test_another_source_or_machine_begins_at_0(spools: SpoolFolder, machine: str, version: str) -> None:
    async with await spools.open("a", version="1") as spool:
        await spool.append(b"old")
    other = SpoolFolder(spools.folder, machine=machine)
    async with await other.open("a", version=version) as spool:
        assert spool.length == 0
        await spool.append(b"new")
        await spool.finish(sha256=_sha256(b"new"))


async def test_a_file_that_lost_its_end_begins_at_0(spools: SpoolFolder) -> None:
    async with await spools.open("a", version="1") as spool:
        await spool.append(b"a whole file")
    os.truncate(spool.path, 5)
    async with await spools.open("a", version="1") as spool:
        assert spool.length == 0


async def test_going_on_in_the_same_process_reads_nothing_again(
    spools: SpoolFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await spools.open("a", version="1") as spool:
        await _fill(spool, LARGE)
    monkeypatch.delattr(os, "preadv")
    async with await spools.open("a", version="1") as spool:
        await spool.finish(size_bytes=len(LARGE), sha256=_sha256(LARGE))
        assert spool.length == len(LARGE)


async def test_what_another_wrote_in_between_is_hashed_again(spools: SpoolFolder) -> None:
    async with await spools.open("a", version="1") as spool:
        await spool.append(b"mine")
    other = SpoolFolder(spools.folder, machine="here")
    async with await other.open("a", version="1") as spool:
        await spool.restart()
        await spool.append(b"your")
    async with await spools.open("a", version="1") as spool:
        await spool.finish(sha256=_sha256(b"your"))
        assert spool.path.read_bytes() == b"your"


async def test_too_little_is_kept_for_the_rest(spools: SpoolFolder) -> None:
    async with await spools.open("a", version="1") as spool:
        await spool.append(b"half")
        with pytest.raises(WrongContent, match="4 of 8 bytes"):
            await spool.finish(size_bytes=8)
        assert spool.length == 4
        await spool.append(b"half")
        await spool.finish(size_bytes=8, sha256=_sha256(b"halfhalf"))


async def test_too_much_or_other_content_is_thrown_away(spools: SpoolFolder) -> None:
    async with await spools.open("a", version="1") as spool:
        await spool.append(b"too much")
        with pytest.raises(WrongContent, match="More than"):
            await spool.finish(size_bytes=3)
        assert spool.length == 0
        await spool.append(b"bad")
        with pytest.raises(WrongContent, match="SHA-256"):
            await spool.finish(size_bytes=3, sha256=_sha256(b"god"))
        assert spool.length == 0
        await spool.append(b"god")
        await spool.finish(size_bytes=3, sha256=_sha256(b"god"))


async def test_a_spool_is_written_by_one_at_a_time(spools: SpoolFolder) -> None:
    async with await spools.open("a", version="1"):
        with pytest.raises(SpoolBusy):
            await SpoolFolder(spools.folder, machine="here").open("a", version="1")
    async with await SpoolFolder(spools.folder, machine="here").open("a", version="1") as spool:
        assert spool.length == 0


@pytest.mark.parametrize("key", ["../../etc/passwd", "a/b@c", ".", "…" * 300, "x@state", "K" * 5000])
async def test_any_key_is_a_file_of_the_folder(spools: SpoolFolder, key: str) -> None:
    async with await spools.open(key, version="1") as spool:
        await spool.append(b"content")
        assert spool.path.parent == spools.folder
    async with await spools.open(key, version="1") as spool:
        assert spool.length == 7


async def test_the_name_tells_machine_and_source(spools: SpoolFolder) -> None:
    async with await spools.open("item-7.2", version="1") as spool:
        assert spool.path.name == "here@item-7.2"


async def test_leftovers_are_removed_and_wanted_ones_kept(spools: SpoolFolder) -> None:
    for key in ("wanted", "left"):
        async with await spools.open(key, version="1") as spool:
            await spool.append(b"content")
    async with await spools.open("busy", version="1"):
        (spools.folder / "here@gone@state").touch()
        (spools.folder / "notes.txt").touch()
        assert await spools.clean_up(_only_wanted) == 7
        names = sorted(path.name for path in spools.folder.iterdir())
    assert names == ["here@busy", "here@wanted", "here@wanted@state", "notes.txt"]
    async with await spools.open("wanted", version="1") as spool:
        assert spool.length == 7


async def test_wanted_spools_of_other_machines_are_left_to_them(spools: SpoolFolder) -> None:
    other = SpoolFolder(spools.folder, machine="there")
    for key in ("wanted", "left"):
        async with await other.open(key, version="1") as spool:
            await spool.append(b"content")
    await spools.clean_up(_only_wanted)
    assert sorted(path.name for path in spools.folder.iterdir()) == ["there@wanted", "there@wanted@state"]


async def _only_wanted(names: Sequence[str]) -> list[str]:
    return [name for name in names if name == "wanted"]


async def _put(disk: DiskStore, spool: Spool) -> str:
    name = name_object(spool.sha256, upload_id=UUID(int=1))
    assert await disk.put([Upload(name, spool.path, spool.length)]) == {}
    return name


@pytest.mark.parametrize("noted", [True, False])
async def test_an_object_does_not_change_with_the_spool_that_it_was_made_from(
    spools: SpoolFolder, disk: DiskStore, *, noted: bool
) -> None:
    spool = await spools.open("a", version="1")
    await spool.append(b"stored")
    await spool.finish()
    name = await _put(disk, spool)
    if noted:
        await spool.note_stored()
    _crash(spool)
    async with await spools.open("a", version="1") as spool:
        assert spool.length == (6 if noted else 0)
        await spool.append(b" and more")
        await spool.flush()
        assert (disk.folder / name).read_bytes() == b"stored"
    async with await spools.open("a", version="2") as spool:
        await spool.append(b"other")
        await spool.flush()
        assert (disk.folder / name).read_bytes() == b"stored"


async def test_a_full_disk_is_told_and_loses_nothing_that_was_durable(
    spools: SpoolFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await spools.open("a", version="1") as spool:
        await spool.append(b"durable")
    spool = await spools.open("a", version="1")
    with monkeypatch.context() as full:
        full.setattr(os, "writev", _refuse_to_write)
        await spool.append(b" and more")
        with pytest.raises(DiskFull):
            await spool.flush()
        await spool.close()
        assert spool.length == 7
    async with await spools.open("a", version="1") as spool:
        assert spool.length == 7
        await spool.append(b" and the rest")
        await spool.finish(sha256=_sha256(b"durable and the rest"))


def _refuse_to_write(descriptor: int, chunks: Sequence[memoryview]) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def test_hashing_and_writing_happen_outside_of_the_event_loop(
    spools: SpoolFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    writers: set[str] = set()
    syncers: set[str] = set()
    writev, fsync = os.writev, os.fsync

    def note_writer(descriptor: int, chunks: Sequence[memoryview]) -> int:
        writers.add(threading.current_thread().name.partition("_")[0])
        return writev(descriptor, chunks)

    def note_syncer(descriptor: int) -> None:
        syncers.add(threading.current_thread().name.partition("_")[0])
        fsync(descriptor)

    monkeypatch.setattr(os, "writev", note_writer)
    monkeypatch.setattr(os, "fsync", note_syncer)
    async with await spools.open("a", version="1") as spool:
        await _fill(spool, LARGE)
    assert (writers, syncers) == ({"spool"}, {"spool"})


async def test_the_room_of_spools_is_counted_once(spools: SpoolFolder, disk: DiskStore) -> None:
    async with await spools.open("a", version="1") as spool, await spools.open("b", version="1") as other:
        for each in (spool, other):
            await each.append(b"x" * 10_000)
            await each.finish()
        assert await spools.get_sizes() == {"a": 10_000, "b": 10_000}
        await _put(disk, spool)
        assert await spools.get_sizes() == {"a": 0, "b": 10_000}
        await other.discard()
        assert await spools.get_sizes() == {"a": 0}
