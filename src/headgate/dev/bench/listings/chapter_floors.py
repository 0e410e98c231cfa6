"""What chapters are held against: the bare database, and a job for each chapter as others do it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from time import perf_counter
from uuid import UUID

import psycopg

from headgate.domain.listings.listings import Entry
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.ids import Ids
from headgate.storage.queries import QueryFile

Rows = Sequence[tuple[UUID, Sequence[Entry]]]

MAKE_TABLES = """
create table bench_release (
    channel_id uuid not null, entry_key text not null, title text not null, url text not null,
    number text not null, published_at timestamptz, primary key (channel_id, entry_key)
);
create table bench_chapter (
    id uuid primary key, series_id uuid not null, number numeric not null, title text,
    published_at timestamptz, unique (series_id, number)
);
create table bench_chapter_source (
    chapter_id uuid not null references bench_chapter (id), channel_id uuid not null, url text not null,
    detected_at timestamptz not null, primary key (chapter_id, channel_id)
);
create table bench_series (id uuid primary key, latest_chapter numeric, last_chapter_at timestamptz);
"""

_UPSERT = """
insert into bench_release (channel_id, entry_key, title, url, number, published_at)
select %(channel_id)s, e.* from unnest(
    %(keys)s::text[], %(titles)s::text[], %(urls)s::text[], %(numbers)s::text[], %(published)s::timestamptz[]
) as e on conflict do nothing
"""

Q = QueryFile(
    "bench chapters",
    """
-- name: upsert_chapter
insert into bench_chapter (id, series_id, number, title, published_at)
values (%(id)s, %(series_id)s, %(number)s::text::numeric, %(title)s, %(published_at)s)
on conflict (series_id, number) do update set title = excluded.title, published_at = excluded.published_at
returning id

-- name: upsert_source
insert into bench_chapter_source (chapter_id, channel_id, url, detected_at)
values (%(chapter_id)s, %(channel_id)s, %(url)s, %(now)s)
on conflict (chapter_id, channel_id) do update set detected_at = excluded.detected_at, url = excluded.url

-- name: set_latest
update bench_series set latest_chapter = %(number)s::text::numeric, last_chapter_at = %(now)s
where id = %(series_id)s
""",
)


async def measure_rows(url: str, rows: Rows, *, connections: int) -> float:
    """Return rows a second when each listing's are upserted by one bare statement, a commit for each."""
    waiting = list(rows)
    opened = [
        await psycopg.AsyncConnection.connect(url, autocommit=True, options="-c jit=off")
        for _ in range(connections)
    ]

    async def upsert(connection: psycopg.AsyncConnection) -> None:
        while waiting:
            channel_id, entries = waiting.pop()
            await connection.execute(
                _UPSERT,
                {
                    "channel_id": channel_id,
                    "keys": [entry.key for entry in entries],
                    "titles": [entry.title for entry in entries],
                    "urls": [entry.url for entry in entries],
                    "numbers": [entry.number for entry in entries],
                    "published": [entry.published_at for entry in entries],
                },
            )

    try:
        began_s = perf_counter()
        await asyncio.gather(*(upsert(connection) for connection in opened))
        return sum(len(entries) for _, entries in rows) / (perf_counter() - began_s)
    finally:
        for connection in opened:
            await connection.close()


def chapter_job_kind(chapters: Sequence[tuple[UUID, Entry]], *, ids: Ids, now: datetime) -> Kind[int]:
    """Return the kind of the original: one job ingests one chapter and queues its notification."""

    async def ingest(job: Job[int]) -> None:
        series_id, entry = chapters[job.key]
        async with job.finish() as tx:
            chapter_id = await tx.value(
                Q["upsert_chapter"],
                id=ids.new(),
                series_id=series_id,
                number=entry.number,
                title=entry.title,
                published_at=entry.published_at,
            )
            await tx.execute(
                Q["upsert_source"], chapter_id=chapter_id, channel_id=series_id, url=entry.url, now=now
            )
            await tx.execute(Q["set_latest"], series_id=series_id, number=entry.number, now=now)
            await enqueue(tx, [Wake("told", str(chapter_id))])

    return Kind("chapter", int, ingest)
