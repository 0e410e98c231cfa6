"""Audits: damage becomes work, wherever the process is killed, and an unmounted disk is no damage."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from typer.testing import CliRunner

from headgate.cli.main import app
from headgate.domain.errors import UserError
from headgate.ingest.storing.audit import audit_files, report_audit
from headgate.ingest.storing.audit_words import describe_audit
from headgate.kernel.clock import RealClock, VirtualClock
from headgate.kernel.files_settings import FilesSettings
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.blobs import verify
from headgate.storage.blobs.blobs import Blob
from headgate.storage.blobs.opening import Files, build_files
from headgate.storage.blobs.store import StoreTrouble
from headgate.storage.blobs.verify import only_audit
from headgate.storage.database import Database
from headgate.storage.library.damage import Condemned, condemn_blobs
from headgate.storage.queries import QueryFile

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CHANNEL = UUID(int=77)

Q = QueryFile(
    "audits",
    """
-- name: add_channel
insert into channel (id, platform, key, kind, title, created_at)
values (%(id)s, 'simulated', 'packs', 'stream', 'Packs', %(now)s)

-- name: add_file
with made as (
    insert into item (id, channel_id, content_key, kind, title, size_bytes, sent_at, caught_at)
    values (%(id)s, %(channel_id)s, 'place:' || %(number)s::text, 'file', 'pack', 1, %(now)s, %(now)s)
), seen as (
    insert into sighting (id, channel_id, message_key, attachment_key, position, file_name, size_bytes,
        mime_type, sent_at, version_at, seen_at, verdict, deleted_at, item_id)
    values (%(id)s, %(channel_id)s, %(number)s::text, 'a0', %(number)s, 'pack.zip', 1, 'application/zip',
        %(now)s, %(now)s, %(now)s, 'kept', %(deleted_at)s, %(id)s)
)
insert into item_file (sighting_id, channel_id, state, blob_id, stored_at)
values (%(id)s, %(channel_id)s, 'stored', %(blob_id)s, %(now)s)

-- name: list_files
select state || case when blob_id is null then '' else ' with content' end from item_file order by sighting_id

-- name: list_inspections
select item_id from inspection order by item_id

-- name: list_waiting
select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'

-- name: list_damaged
select id from blob where damaged_at is not null order by id
""",
)


@pytest.fixture
async def files(database: Database, tmp_path: Path) -> AsyncIterator[Files]:
    clock = RealClock()
    files = build_files(FilesSettings(), tmp_path, database, clock=clock, ids=Ids(clock, Randomness()))
    await files.open()
    async with database.transaction() as tx:
        await tx.execute(Q["add_channel"], id=CHANNEL, now=NOW)
    yield files
    await files.close()


async def keep(files: Files, content: bytes) -> Blob:
    spool = await files.spools.open("a", version="1")
    await spool.append(content)
    await spool.finish()
    blob = await files.writer.store(spool)
    await spool.discard()
    return blob


async def add_file(files: Files, number: int, blob: Blob, *, deleted: bool = False) -> None:
    """Let an item have a file with this content, in a message of its own."""
    async with files.database.transaction() as tx:
        await tx.execute(
            Q["add_file"],
            id=UUID(int=number),
            number=number,
            channel_id=CHANNEL,
            blob_id=blob.id,
            now=NOW,
            deleted_at=NOW if deleted else None,
        )


async def ask(files: Files, name: str) -> list[object]:
    async with files.database.transaction() as tx:
        return await tx.column(Q[name])


def path_of(blob: Blob, folder: Path) -> Path:
    return folder / "blobs" / blob.object_name


def damage(blob: Blob, folder: Path) -> None:
    """Change the content behind the product's back."""
    path = path_of(blob, folder)
    path.write_bytes(b"!" * path.stat().st_size)


async def test_whole_files_stay_as_they_are(files: Files) -> None:
    await add_file(files, 1, await keep(files, b"whole"))
    report = await audit_files(files, RealClock())
    assert report.audit is not None
    assert (report.audit.checked, report.audit.checked_bytes, report.audit.damaged) == (1, 5, 0)
    assert report.audit.ended_at is not None
    assert await ask(files, "list_files") == ["stored with content"]
    assert await ask(files, "list_inspections") == []


async def test_damaged_files_are_fetched_again_where_their_message_is_still_there(
    files: Files, tmp_path: Path
) -> None:
    broken, gone, whole = [await keep(files, content) for content in (b"broken", b"gone", b"whole")]
    await add_file(files, 1, broken)
    await add_file(files, 2, broken, deleted=True)
    await add_file(files, 3, gone)
    await add_file(files, 4, whole)
    damage(broken, tmp_path)
    path_of(gone, tmp_path).unlink()
    report = await audit_files(files, RealClock())
    assert report.audit is not None
    assert (report.audit.damaged, report.audit.refetched, report.audit.lost) == (2, 2, 1)
    assert await ask(files, "list_files") == [
        "wanted",
        "stored with content",
        "wanted",
        "stored with content",
    ]
    assert await ask(files, "list_inspections") == [UUID(int=1), UUID(int=3)]
    assert await ask(files, "list_damaged") == sorted([broken.id, gone.id])


async def test_the_same_content_stored_again_repairs_every_file(files: Files, tmp_path: Path) -> None:
    blob = await keep(files, b"content")
    await add_file(files, 1, blob, deleted=True)
    damage(blob, tmp_path)
    assert (await audit_files(files, RealClock())).damaged.files == 1
    assert await keep(files, b"content") != blob
    report = await audit_files(files, RealClock())
    assert (report.damaged.blobs, report.damaged.files) == (0, 0)


async def test_a_disk_that_is_unmounted_meanwhile_has_lost_nothing(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blob = await keep(files, b"content")
    await add_file(files, 1, blob)
    begin = verify.Auditor.verify

    async def unmounted_before(*args: object, **named: object) -> object:
        (tmp_path / "blobs").rename(tmp_path / "away")
        (tmp_path / "blobs").mkdir()
        return await begin(*args, **named)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(verify.Auditor, "verify", unmounted_before)
    with pytest.raises(StoreTrouble, match="its mark is missing"):
        await audit_files(files, RealClock())
    assert await ask(files, "list_files") == ["stored with content"]
    assert await ask(files, "list_damaged") == []


class Killed(BaseException):
    """Ends an audit as a kill would, at a place of the test's choosing."""


async def test_an_audit_goes_on_where_it_was_broken_off(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "BATCH_BYTES", 1)
    blobs = [await keep(files, content) for content in (b"one", b"two", b"three")]
    damage(blobs[0], tmp_path)
    read = 0

    def kill_at_the_third(done: int, total: int) -> None:
        nonlocal read
        assert total == 11
        read = done
        if done == 11:
            raise Killed

    with pytest.raises(Killed):
        await audit_files(files, RealClock(), on_progress=kill_at_the_third)
    damage(blobs[1], tmp_path)
    report = await audit_files(files, RealClock())
    assert report.audit is not None
    assert (report.audit.checked, report.audit.checked_bytes, report.audit.damaged) == (3, 11, 1)
    assert await ask(files, "list_damaged") == [blobs[0].id]
    report = await audit_files(files, RealClock(), restart=True)
    assert report.damaged.blobs == 2


async def test_an_interrupted_audit_says_how_far_it_is(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "BATCH_BYTES", 1)
    for content in (b"one", b"two"):
        await keep(files, content)
    clock = VirtualClock(NOW)

    def kill(done: int, total: int) -> None:
        if done == total:
            raise Killed

    with pytest.raises(Killed):
        await audit_files(files, clock, on_progress=kill)
    async with files.database.transaction() as tx:
        words = describe_audit(await report_audit(tx), NOW + timedelta(hours=1))
    assert words.progress == ("Verified 1 of 2 files, 3 B of 6 B, up to 1 h ago; `headgate audit` continues.")
    assert not words.troubled


async def test_only_one_audit_runs(files: Files) -> None:
    async with only_audit(files.database.url):
        with pytest.raises(UserError, match="running already"):
            await audit_files(files, RealClock())
    await audit_files(files, RealClock())


class Skipping(VirtualClock):
    """Sleeps without waiting."""

    async def sleep(self, real_s: float) -> None:
        self.advance(real_s)


async def test_an_audit_reads_no_faster_than_it_may(files: Files) -> None:
    await keep(files, b"x" * 3_000_000)
    clock = Skipping(NOW)
    begun_s = clock.monotonic()
    await audit_files(files, clock, bytes_per_s=1_000_000)
    assert clock.monotonic() - begun_s == pytest.approx(3)


async def test_a_file_that_is_linked_while_its_content_is_given_up_is_not_missed(files: Files) -> None:
    """It saw the blob as whole, and commits after the blob was marked."""
    blob = await keep(files, b"content")
    async with files.database.transaction() as tx:
        await tx.execute(
            Q["add_file"],
            id=UUID(int=1),
            number=1,
            channel_id=CHANNEL,
            blob_id=blob.id,
            now=NOW,
            deleted_at=None,
        )
        condemning = asyncio.create_task(condemn_blobs(files.database, [blob.id], now=NOW))
        while await ask(files, "list_damaged") != [blob.id]:
            pass
        while not (condemning.done() or await ask(files, "list_waiting")):
            pass
    assert await condemning == Condemned(refetched=1, lost=0)
    assert await ask(files, "list_files") == ["wanted"]


async def test_the_command_says_what_is_damaged_and_fails(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADGATE_DATABASE_URL", files.database.url)
    monkeypatch.setenv("HEADGATE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("HEADGATE_LOG_LEVEL", "error")
    blob = await keep(files, b"content")
    await add_file(files, 1, blob, deleted=True)

    async def run(*arguments: str) -> tuple[int, str]:
        result = await asyncio.to_thread(CliRunner().invoke, app, ["audit", *arguments])
        return result.exit_code, result.stdout

    assert await run("--status") == (
        0,
        "Stored files have never been verified.\nNo damage is known.\n",
    )
    code, text = await run("--rate", "100")
    assert (code, text.splitlines()[1]) == (0, "No damage is known.")
    damage(blob, tmp_path)
    code, text = await run()
    assert code == 1
    assert "1 file damaged or missing (7 B), 1 of the library lost." in text
    assert "restore a backup" in text
    code, text = await run("--status", "--json")
    assert code == 1
    assert json.loads(text)["damaged"] == {"blobs": 1, "size_bytes": 7, "files": 1}
