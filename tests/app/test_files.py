"""The files of a running process: whose store it is, what is left behind, and what is deleted in time."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from headgate.app.parts import Parts, open_parts
from headgate.jobs.stepper import Stepper
from headgate.kernel.clock import VirtualClock
from headgate.kernel.settings import Settings, load_settings
from headgate.storage.blobs.blobs import Blob
from headgate.storage.blobs.store import StoreTrouble, Upload, name_object
from headgate.storage.database import Database, connect
from headgate.storage.queries import QueryFile

START = datetime(2026, 3, 1, 12, tzinfo=UTC)

Q = QueryFile(
    "files",
    """
-- name: want
with channel as (
    insert into channel (id, platform, key, kind, title, created_at)
    values (gen_random_uuid(), 'simulated', 'packs', 'stream', 'Packs', %(now)s) returning id
), seen as (
    insert into sighting (id, channel_id, message_key, attachment_key, position, file_name, size_bytes,
        mime_type, sent_at, version_at, seen_at, verdict)
    select %(id)s, id, '1', 'a0', 1, 'pack.zip', 1000, 'application/zip', %(now)s, %(now)s, %(now)s, 'kept'
    from channel returning id, channel_id
)
insert into item_file (sighting_id, channel_id, state) select id, channel_id, 'wanted' from seen

-- name: list_blob_ids
select id from blob
""",
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"HEADGATE_DATA_DIR": str(tmp_path / "data")})


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(START)


async def start(settings: Settings, url: str, clock: VirtualClock) -> None:
    """Start and stop a process."""
    async with open_parts(settings, url, clock=clock, connectors={}):
        pass


@asynccontextmanager
async def working(parts: Parts) -> AsyncGenerator[Stepper, None]:
    connection = await connect(parts.url, name="test")
    async with connection:
        yield Stepper(parts.execution, connection, uuid4(), 30)


async def work(parts: Parts, *, until: datetime, clock: VirtualClock) -> None:
    """Let time pass, and carry out what is due then."""
    clock.advance((until - clock.now()).total_seconds())
    async with working(parts) as stepper:
        await parts.tick().tick(clock.now())
        while job := await stepper.claim():
            _, settlement = await stepper.execute(job)
            await stepper.settle(job, settlement)


async def spool(parts: Parts, key: str, content: bytes) -> None:
    """Leave a spool behind."""
    async with await parts.files.spools.open(key, version="1") as spool:
        await spool.append(content)


async def store(parts: Parts, content: bytes) -> Blob:
    spool = await parts.files.spools.open("stored", version="1")
    await spool.append(content)
    await spool.finish()
    blob = await parts.files.writer.store(spool)
    await spool.discard()
    return blob


async def list_blob_ids(database: Database) -> list[UUID]:
    async with database.transaction() as tx:
        return await tx.column(Q["list_blob_ids"])


def list_spools(settings: Settings) -> list[str]:
    return sorted(path.name.partition("@")[2] for path in (settings.data.dir / "spool").glob("*@*"))


async def test_files_are_stored_beside_the_database_unless_the_settings_say_where(
    settings: Settings, database_url: str, clock: VirtualClock
) -> None:
    async with open_parts(settings, database_url, clock=clock, connectors={}) as parts:
        blob = await store(parts, b"content")
    assert (settings.data.dir / "blobs" / blob.object_name).read_bytes() == b"content"


async def test_a_disk_that_is_not_mounted_is_not_taken_for_an_empty_store(
    settings: Settings, database_url: str, clock: VirtualClock
) -> None:
    await start(settings, database_url, clock)
    (settings.data.dir / "blobs").rename(settings.data.dir / "elsewhere")
    with pytest.raises(StoreTrouble, match="its mark is missing") as raised:
        await start(settings, database_url, clock)
    assert "Mount the disk" in raised.value.remedy


async def test_a_folder_that_is_not_there_is_not_made(
    settings: Settings, database_url: str, clock: VirtualClock, tmp_path: Path
) -> None:
    chosen = load_settings(
        {"HEADGATE_DATA_DIR": str(settings.data.dir), "HEADGATE_FILES_URL": str(tmp_path / "unmounted")}
    )
    with pytest.raises(StoreTrouble, match="does not exist") as raised:
        await start(chosen, database_url, clock)
    assert "mount its disk" in raised.value.remedy
    assert not (tmp_path / "unmounted").exists()


async def test_the_store_of_another_database_is_refused(
    settings: Settings, database_url: str, clock: VirtualClock
) -> None:
    await start(settings, database_url, clock)
    (settings.data.dir / "blobs" / "headgate-store").write_text(str(UUID(int=9)))
    with pytest.raises(StoreTrouble, match="files of another Headgate database"):
        await start(settings, database_url, clock)


async def test_a_start_removes_what_was_left_behind_and_keeps_what_is_fetched_still(
    settings: Settings, database_url: str, clock: VirtualClock
) -> None:
    wanted, done = UUID(int=1), UUID(int=2)
    async with open_parts(settings, database_url, clock=clock, connectors={}) as parts:
        async with parts.database.transaction() as tx:
            await tx.execute(Q["want"], id=wanted, now=START)
        for key in (str(wanted), str(done), "preview"):
            await spool(parts, key, b"so far")
    async with open_parts(settings, database_url, clock=clock, connectors={}) as parts:
        assert list_spools(settings) == [str(wanted), f"{wanted}@state"]
        async with await parts.files.spools.open(str(wanted), version="1") as left:
            assert left.length == 6


async def test_a_start_leaves_the_spools_of_running_processes_alone(
    settings: Settings, database_url: str, clock: VirtualClock
) -> None:
    async with (
        open_parts(settings, database_url, clock=clock, connectors={}) as parts,
        await parts.files.spools.open("preview", version="1"),
    ):
        await start(settings, database_url, clock)
        assert list_spools(settings) == ["preview"]


async def test_processes_of_one_data_folder_go_on_with_each_others_spools(
    settings: Settings, database_url: str, clock: VirtualClock
) -> None:
    async with (
        open_parts(settings, database_url, clock=clock, connectors={}) as one,
        open_parts(settings, database_url, clock=clock, connectors={}) as other,
    ):
        await spool(one, "file", b"so far")
        async with await other.files.spools.open("file", version="1") as left:
            assert left.length == 6


async def test_content_that_nothing_uses_is_deleted_after_its_time(
    settings: Settings, database_url: str, clock: VirtualClock
) -> None:
    async with open_parts(settings, database_url, clock=clock, connectors={}) as parts:
        blob = await store(parts, b"unused")
        path = settings.data.dir / "blobs" / blob.object_name
        for hours, rows in ((1, 1), (24, 1), (25.5, 0)):
            await work(parts, until=START + timedelta(hours=hours), clock=clock)
            assert len(await list_blob_ids(parts.database)) == rows
        assert path.exists()
        await work(parts, until=START + timedelta(hours=50), clock=clock)
        assert not path.exists()


async def test_a_file_that_no_row_knows_is_swept_away_at_night(
    settings: Settings, database_url: str, clock: VirtualClock, tmp_path: Path
) -> None:
    source = tmp_path / "left"
    source.write_bytes(b"left")
    name = name_object(hashlib.sha256(b"left").digest(), upload_id=UUID(int=1))
    async with open_parts(settings, database_url, clock=clock, connectors={}) as parts:
        assert await parts.files.store.put([Upload(name, source, 4)]) == {}
        await work(parts, until=START + timedelta(hours=17), clock=clock)
        assert await parts.files.store.get_size(name) == 4
        await work(parts, until=START + timedelta(hours=42), clock=clock)
        assert await parts.files.store.get_size(name) is None
