"""A backup is verified when it is made, and brings back every row."""

from __future__ import annotations

import zipfile
from pathlib import Path

import psycopg
import pytest
from backups import TAKEN_AT, rewrite
from contents import contents_of, rows_of

from headgate.domain.errors import UserError
from headgate.storage.backup.backup import backup, verify
from headgate.storage.backup.restore import restore
from headgate.storage.describe import describe_schema
from headgate.storage.migrate import schema_status
from headgate.testing.simulator import Theatre, fanout_for, listings_for
from headgate.testing.simulator.listings.play import ListingPlay
from headgate.testing.simulator.sending.fanout import Fanout
from headgate.testing.simulator.streams.play import Play
from headgate.testing.simulator.streams.scripts import script_for

pytestmark = pytest.mark.long


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_a_restored_database_has_every_row_of_the_backup(
    filled_url: str, empty_url: str, tmp_path: Path
) -> None:
    parts: list[float] = []
    manifest = await backup(filled_url, tmp_path / "a", taken_at=TAKEN_AT, on_progress=parts.append)
    restored = await restore(empty_url, tmp_path / "a", on_progress=parts.append)

    assert manifest.tables["lease"].rows == 2501
    assert contents_of(empty_url) == contents_of(filled_url)
    assert await describe_schema(empty_url) == await describe_schema(filled_url)
    assert restored.set_aside is None
    assert (await schema_status(empty_url)).current
    assert parts and all(0 <= part <= 1 for part in parts)


@pytest.mark.long
@pytest.mark.parametrize(("what", "least"), [("intake", 18), ("fanout", 18), ("listings", 20)])
async def test_what_the_product_wrote_comes_back_the_same(
    theatre: Theatre, empty_url: str, tmp_path: Path, what: str, least: int
) -> None:
    async with theatre.open_database() as url:
        if what == "fanout":
            await Fanout(1, url, fanout_for(1, "mild"), theatre.build).run()
        elif what == "listings":
            await ListingPlay(1, url, listings_for(1, "mild"), theatre.build).run()
        else:
            await Play(1, url, script_for(1, "mild"), theatre.build).run()
        before = rows_of(url)
        await backup(url, tmp_path / "a", taken_at=TAKEN_AT)
    await restore(empty_url, tmp_path / "a")
    assert rows_of(empty_url) == before
    assert sum(bool(rows) for rows in before.values()) >= least


async def test_sequences_go_on_where_they_were(database_url: str, empty_url: str, tmp_path: Path) -> None:
    insert = (
        "insert into pgqueuer (priority, status, entrypoint)"
        " values (0, 'queued', 'check'), (0, 'queued', 'check') returning id"
    )
    with psycopg.connect(database_url) as connection:
        connection.execute(insert)
    await backup(database_url, tmp_path / "a", taken_at=TAKEN_AT)
    await restore(empty_url, tmp_path / "a")
    with psycopg.connect(empty_url) as connection:
        assert connection.execute(insert).fetchall() == [(3,), (4,)]


async def test_a_backup_is_for_its_owner_alone_and_overwrites_nothing(
    database_url: str, tmp_path: Path
) -> None:
    target = tmp_path / "a"
    await backup(database_url, target, taken_at=TAKEN_AT)
    assert target.stat().st_mode & 0o777 == 0o600

    before = target.read_bytes()
    with pytest.raises(UserError, match="already exists"):
        await backup(database_url, target, taken_at=TAKEN_AT)
    assert target.read_bytes() == before
    assert _names(tmp_path) == ["a"]


async def test_a_backup_that_fails_leaves_no_file(empty_url: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a Headgate database"):
        await backup(empty_url, tmp_path / "a", taken_at=TAKEN_AT)
    assert _names(tmp_path) == []


async def test_a_backup_changes_nothing(filled_url: str, tmp_path: Path) -> None:
    before = contents_of(filled_url)
    await backup(filled_url, tmp_path / "a", taken_at=TAKEN_AT)
    assert contents_of(filled_url) == before


async def test_what_headgate_did_not_make_is_left_out_and_named(
    filled_url: str, empty_url: str, tmp_path: Path
) -> None:
    expected = rows_of(filled_url)
    with psycopg.connect(filled_url) as connection:
        connection.execute("create table notes (id serial); alter table lease add column note text")
    manifest = await backup(filled_url, tmp_path / "a", taken_at=TAKEN_AT)
    assert manifest.left_out == ["notes", "sequence notes_id_seq", "lease.note"]
    await restore(empty_url, tmp_path / "a")
    assert rows_of(empty_url) == expected


async def test_a_database_that_lacks_a_table_is_not_backed_up(database_url: str, tmp_path: Path) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("drop table lease")
    with pytest.raises(UserError, match="missing what a backup needs: lease"):
        await backup(database_url, tmp_path / "a", taken_at=TAKEN_AT)


@pytest.mark.parametrize("entry", ["tables/lease", "manifest.json"])
@pytest.mark.parametrize("place", [0.02, 0.3, 0.6, 0.9])
async def test_a_damaged_backup_is_refused_and_changes_nothing(
    filled_url: str, empty_url: str, tmp_path: Path, place: float, entry: str
) -> None:
    target = tmp_path / "a"
    await backup(filled_url, target, taken_at=TAKEN_AT)
    with zipfile.ZipFile(target) as archive:
        info = archive.getinfo(entry)
    content = bytearray(target.read_bytes())
    # Behind a header of 30 bytes, the name, and up to 20 bytes for a large file.
    begin = info.header_offset + 50 + len(entry)
    at = begin + int((info.compress_size - 36) * place)
    content[at : at + 16] = bytes(byte ^ 0xFF for byte in content[at : at + 16])
    target.write_bytes(content)

    with pytest.raises(UserError, match="not a complete backup"):
        await restore(empty_url, target)
    assert rows_of(empty_url) == {}


async def test_a_cut_off_backup_is_refused(filled_url: str, empty_url: str, tmp_path: Path) -> None:
    target = tmp_path / "a"
    await backup(filled_url, target, taken_at=TAKEN_AT)
    target.write_bytes(target.read_bytes()[:-2000])
    with pytest.raises(UserError, match="not a complete backup"):
        await restore(empty_url, target)


async def test_a_backup_with_fewer_rows_than_it_counted_is_refused(filled_url: str, tmp_path: Path) -> None:
    await backup(filled_url, tmp_path / "a", taken_at=TAKEN_AT)

    def count_more(manifest: dict[str, dict[str, dict[str, int]]]) -> None:
        manifest["tables"]["lease"]["rows"] += 1

    with pytest.raises(UserError, match="not a complete backup"):
        verify(rewrite(tmp_path / "a", tmp_path / "b", count_more))


async def test_what_is_no_backup_is_named(empty_url: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no file"):
        await restore(empty_url, tmp_path / "nowhere")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(UserError, match="not a complete backup"):
        await restore(empty_url, tmp_path / "text")
