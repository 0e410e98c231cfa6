"""A bench that downloads into a folder of its own, and what can be asked about stored files."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from bench import DEFAULT_PROFILE, Bench, build_bench

from headgate.storage.blobs.blobs import get_blobs
from headgate.storage.database import Database
from headgate.storage.queries import QueryFile
from headgate.testing import Profile, file_of
from headgate.testing.content.content import SimFile

Q = QueryFile(
    "fetch tests",
    """
-- name: states
select s.file_name || ' ' || f.state from item_file f join sighting s on s.id = f.sighting_id order by 1

-- name: hashes
select s.file_name || ' ' || encode(b.sha256, 'hex') from item_file f join sighting s on s.id = f.sighting_id
join blob b on b.id = f.blob_id order by 1

-- name: attempts
select s.file_name || ' ' || f.attempts || ' ' || f.starts || ' ' || f.error_class
from item_file f join sighting s on s.id = f.sighting_id order by 1

-- name: waiting
select s.file_name || ' ' || f.wait_reason || ' ' || f.needs_bytes
from item_file f join sighting s on s.id = f.sighting_id where f.state = 'wanted' order by 1

-- name: taken
select count(*) from item_file where taken_by is not null

-- name: blob_ids
select id from blob

-- name: lines
select count(*) from fetch_line

-- name: reserved
select count(*) from room_reservation

-- name: noted
select count(*) from inspection

-- name: end_leases
update item_file set taken_until = taken_until - %(by)s::interval

-- name: end_reservations
update room_reservation set expires_at = expires_at - interval '1 hour'

-- name: end_reservations_of_others
delete from room_reservation where key = 'elsewhere'

-- name: end_slots
delete from fetch_slot
""",
)


class FetchBench(Bench):
    """The product with downloads."""

    async def ask_column(self, name: str) -> list[Any]:
        async with self.database.transaction() as tx:
            return await tx.column(Q[name])

    async def states(self) -> list[str]:
        return await self.ask_column("states")

    async def alter(self, name: str, **parameters: Any) -> None:
        async with self.database.transaction() as tx:
            await tx.execute(Q[name], **parameters)

    async def start(self) -> None:
        """Begin as a process does, after a crash of the one before too."""
        await self.parts.files.open()

    async def die(self) -> None:
        """End the process as a kill does: only the locks of its files go. Then begin another one."""
        old = self.parts.files
        await self.restart()
        await old.close()
        await self.recover()
        await self.start()

    async def become(self, process: int) -> None:
        """Be the process with this number, after those before it were killed."""
        await self.parts.files.close()
        self._processes = process - 1
        await self.restart()

    async def recover(self) -> None:
        """Wait until what a dead process had is free again."""
        await self.alter("end_leases", by=timedelta(minutes=5))
        await self.pass_time(130)

    async def read_stored(self) -> set[bytes]:
        """Return all stored content, by reading it."""
        files = self.parts.files
        async with self.database.transaction() as tx:
            blobs = await get_blobs(tx, await tx.column(Q["blob_ids"]))
        found: set[bytes] = set()
        for blob in blobs.values():
            chunks = files.store.read(blob.object_name, start=0, end=blob.size_bytes)
            content = b"".join([chunk async for chunk in chunks])
            assert hashlib.sha256(content).digest() == blob.sha256
            found.add(content)
        return found

    def spools(self) -> list[str]:
        assert self.data_dir is not None
        return sorted(path.name for path in (self.data_dir / "spool").glob("*@*") if path.is_file())


@asynccontextmanager
async def open_fetch_bench(
    database: Database,
    url: str,
    folder: Path,
    profile: Profile = DEFAULT_PROFILE,
    *,
    environment: Mapping[str, str] | None = None,
    process: int = 1,
) -> AsyncGenerator[FetchBench, None]:
    plain = build_bench(database, url, profile, data_dir=folder, environment=environment)
    bench = FetchBench(
        database,
        url,
        plain.clock,
        plain.world,
        plain.parts,
        data_dir=folder,
        environment=plain.environment,
    )
    if process > 1:
        await bench.become(process)
    await bench.start()
    await bench.follow()
    try:
        yield bench
    finally:
        await bench.close()
        await bench.parts.files.close()


def named(name: str, size: int = 100_000) -> SimFile:
    """Return a file with bytes that only its name decides."""
    seed = hashlib.sha256(name.encode()).digest()
    return file_of(name, (seed * (size // 32 + 1))[:size])


def content_of(file: SimFile) -> bytes:
    assert isinstance(file.content, bytes)
    return file.content
