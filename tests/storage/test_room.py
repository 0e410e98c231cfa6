"""Room on the disk: some always stays free, and what is promised is not promised twice."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from blob_rows import do
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.files_settings import GIB, FilesSettings
from headgate.storage.blobs.room import DiskRoom, DiskUse, NoRoom, kept_free_bytes, unwritten_bytes
from headgate.storage.blobs.spool_file import name_source
from headgate.storage.blobs.spools import SpoolFolder
from headgate.storage.database import Database, connect

TOTAL = 100 * GIB
FREE = 40 * GIB
ROOM = 30 * GIB


@pytest.fixture
def disk_of_100_gib(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's answer: 40 of 100 GiB are free, so 30 may be written."""
    usage = type(shutil.disk_usage("/"))

    def answer(folder: Path) -> object:
        return usage(TOTAL, TOTAL - FREE, FREE)

    monkeypatch.setattr(shutil, "disk_usage", answer)


@pytest.fixture
def room(database: Database, spools: SpoolFolder, disk_of_100_gib: None) -> DiskRoom:
    return DiskRoom(database, spools, FilesSettings(), store_folder=None)


@pytest.mark.parametrize(
    ("total_gib", "kept_gib"), [(1000, 100), (100, 10), (50, 5), (20, 5), (2, 5)], ids=str
)
def test_a_tenth_and_at_least_5_gib_stay_free(total_gib: int, kept_gib: int) -> None:
    disk = DiskUse(total_bytes=total_gib * GIB, free_bytes=0)
    assert kept_free_bytes(disk, FilesSettings()) == kept_gib * GIB


@given(
    st.dictionaries(st.sampled_from(["a", "a/1", "b", "c"]), st.integers(0, 100)),
    st.dictionaries(st.sampled_from(["a", "a/1", "a/1/x", "a2", "b/1", "b/2", "d"]), st.integers(0, 100)),
)
def test_what_is_written_counts_once_and_for_its_own_reservation_alone(
    reserved: dict[str, int], spooled: dict[str, int]
) -> None:
    left = unwritten_bytes(reserved, {name_source(key): size for key, size in spooled.items()})
    owners = {key: _owner(key, reserved) for key in spooled}
    for key, size in reserved.items():
        written = sum(spooled[spool] for spool, owner in owners.items() if owner == key)
        assert left[key] == max(0, size - written)


def _owner(spool: str, reserved: dict[str, int]) -> str | None:
    above = [key for key in reserved if spool == key or spool.startswith(f"{key}/")]
    return max(above, key=len, default=None)


async def test_a_reservation_takes_room_until_it_is_given_back(database: Database, room: DiskRoom) -> None:
    assert (await room.measure()).left_bytes == ROOM
    await room.reserve("set", 20 * GIB)
    assert (await room.measure()).left_bytes == 10 * GIB
    with pytest.raises(NoRoom) as refused:
        await room.reserve("other", 25 * GIB)
    assert refused.value.missing_bytes == 15 * GIB
    await room.reserve("small", GIB)
    async with database.transaction() as tx:
        await room.shrink(tx, "set", by_bytes=5 * GIB)
    assert (await room.measure()).left_bytes == 14 * GIB
    async with database.transaction() as tx:
        await room.release(tx, ["set", "small"])
    assert (await room.measure()).left_bytes == ROOM


async def test_asking_again_changes_a_reservation(room: DiskRoom) -> None:
    await room.reserve("set", ROOM)
    await room.reserve("set", ROOM)
    with pytest.raises(NoRoom):
        await room.reserve("set", ROOM + 1)
    await room.reserve("set", 1)
    assert (await room.measure()).left_bytes == ROOM - 1


async def test_spools_count_towards_what_was_reserved_for_them(room: DiskRoom, spools: SpoolFolder) -> None:
    await room.reserve("set", 50_000)
    async with await spools.open("set/2", version="1") as spool:
        await spool.append(b"x" * 20_000)
        await spool.flush()
        assert (await room.measure()).left_bytes == ROOM - 30_000


async def test_spools_of_others_take_nothing_off_a_reservation(room: DiskRoom, spools: SpoolFolder) -> None:
    await room.reserve("set", 50_000)
    async with await spools.open("left over", version="1") as spool:
        await spool.append(b"x" * 20_000)
        await spool.flush()
        assert (await room.measure()).left_bytes == ROOM - 50_000


async def test_what_is_there_already_needs_no_room(room: DiskRoom, spools: SpoolFolder) -> None:
    async with await spools.open("set/1", version="1") as spool:
        await spool.append(b"x" * 20_000)
        await spool.flush()
        await room.reserve("set", ROOM + 20_000)
        assert (await room.measure()).left_bytes == 0


async def test_what_is_not_renewed_is_free_again(database: Database, room: DiskRoom) -> None:
    await room.reserve("dead", ROOM)
    await do(database, "pass_10_minutes")
    await room.renew(["dead"])
    await do(database, "pass_20_minutes")
    assert (await room.measure()).left_bytes == 0
    await do(database, "pass_an_hour")
    assert (await room.measure()).left_bytes == ROOM
    await room.renew(["dead"])
    assert (await room.measure()).left_bytes == ROOM
    await room.reserve("living", ROOM)


async def test_the_last_room_is_promised_once_however_many_ask(room: DiskRoom, database_url: str) -> None:
    connection = await connect(database_url)
    async with connection, connection.transaction():
        # All of them wait here, so that they go on at the same moment.
        await connection.execute("lock table room_reservation in share mode")
        asking = [asyncio.create_task(room.reserve(f"set {number}", 10 * GIB)) for number in range(6)]
        waiting = 0
        while waiting < 6:
            await asyncio.sleep(0.01)
            cursor = await connection.execute("select count(*) from pg_locks where not granted")
            waiting = (await cursor.fetchall())[0][0]
    answers = await asyncio.gather(*asking, return_exceptions=True)
    assert sum(answer is None for answer in answers) == 3
    assert sum(isinstance(answer, NoRoom) for answer in answers) == 3


async def test_other_machines_have_disks_of_their_own(
    database: Database, room: DiskRoom, spools: SpoolFolder
) -> None:
    await room.reserve("set", ROOM)
    elsewhere = DiskRoom(
        database, SpoolFolder(spools.folder, machine="there"), FilesSettings(), store_folder=None
    )
    await elsewhere.reserve("set", ROOM)
    assert (await elsewhere.measure()).left_bytes == 0


async def test_the_fuller_of_two_disks_decides(
    database: Database, spools: SpoolFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = (100 * GIB, 0, 20 * GIB), (1000 * GIB, 0, 900 * GIB)
    usage = type(shutil.disk_usage("/"))

    def answer(folder: Path) -> object:
        return usage(*(large if folder == tmp_path else small))

    monkeypatch.setattr(shutil, "disk_usage", answer)
    spools.folder.mkdir()
    room = DiskRoom(database, spools, FilesSettings(), store_folder=tmp_path)
    assert (await room.measure()).left_bytes == 10 * GIB
