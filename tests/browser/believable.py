"""A library as a person would have it, for looking at pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from headgate.storage.database import Database
from headgate.storage.queries import QueryFile
from headgate.storage.shelf.touched import touch_items

Q = QueryFile(
    "believable",
    """
-- name: channel
insert into channel (id, platform, key, kind, title, created_at)
values (%(id)s, %(platform)s, %(id)s::text, %(kind)s, %(title)s, %(at)s)

-- name: stream
insert into stream (channel_id, floor, head, due_at, message_count, total_messages_scanned)
values (%(id)s, 0, %(head)s, %(due_at)s, %(message_count)s, %(scanned)s)

-- name: coverage
insert into coverage (channel_id, lens, ranges) values (%(id)s, 'documents', %(ranges)s::int8multirange)

-- name: item
insert into item (id, channel_id, content_key, kind, title, size_bytes, sent_at, caught_at)
values (%(id)s, %(channel_id)s, %(id)s::text, %(kind)s, %(title)s, %(size_bytes)s, %(sent_at)s, %(caught_at)s)

-- name: flood
insert into item (id, channel_id, content_key, kind, title, size_bytes, sent_at, caught_at)
select gen_random_uuid(), %(channel_id)s, 'flood ' || n, 'file', 'Flood ' || n, 1000, %(at)s, %(at)s
from generate_series(1, %(items)s::int) as n
returning id

-- name: letter
insert into dead_letter
    (id, kind, key, error_class, message, stack, attempts, crashes, first_tried_at, died_at)
values (%(id)s, %(kind)s, %(key)s, %(error_class)s, %(message)s, '', 3, 0, %(at)s, %(at)s)

-- name: job
insert into pgqueuer (priority, status, entrypoint, payload, headers)
select
    0, %(status)s::pgqueuer_status, 'fast', convert_to(n::text, 'UTF8'),
    jsonb_build_object('kind', %(kind)s::text)
from generate_series(1, %(jobs)s::int) as n
""",
)


@dataclass(frozen=True)
class Source:
    title: str
    platform: str
    head: int
    covered: str
    message_count: int
    scanned: int
    due_min: int


SOURCES = (
    Source("Field recordings", "telegram", 48_211, "{[0,48212)}", 31_904, 31_904, 4),
    Source("Typeface archive", "telegram", 9_460, "{[0,7100),[7260,9461)}", 8_122, 7_988, 1),
    Source(
        "Paper models – the long-running forum", "telegram", 182_334, "{[61000,182335)}", 140_020, 97_551, 22
    ),
    Source("clips", "discord", 1_234_567_890_123_456_789, "{[0,1234567890123456790)}", 5_310, 5_310, 240),
    Source("Open scans", "matrix", 2_204, "{[900,2205)}", 2_204, 1_305, 0),
)

TITLES = (
    ("package", "Kyoto stations, binaural walk (24 bit).7z", 1_482_000_000, 0),
    ("clip", "Otter learns to open the gate.mp4", 48_300_000, 3),
    ("picture", "Harbour panorama at dusk.jpg", 8_120_000, 3),
    ("package", "Grotesk specimens 1898–1926.zip", 312_500_000, 1),
    ("file", "Score, second movement.pdf", 2_340_000, 4),
    ("package", "Steam locomotive 1:45, parts 1–19.rar", 4_870_000_000, 2),
    ("clip", "Thunderstorm over the estuary.webm", 127_900_000, 0),
    ("file", "Parish register 1764–1801.djvu", 61_400_000, 4),
    ("picture", "Ampersand, lead and wood.png", 1_940_000, 1),
    ("package", "Lighthouse, card model with instructions.zip", 96_200_000, 2),
    ("clip", "Speedrun, final split.mp4", 22_700_000, 3),
    ("file", "Microphone placement notes.txt", 14_200, 0),
)


async def fill_library(database: Database, now: datetime, *, items: int = 60) -> list[UUID]:
    """Insert channels and items as if caught over the last days; return the channels."""
    channels = [uuid4() for _ in SOURCES]
    async with database.transaction() as tx:
        for channel_id, source in zip(channels, SOURCES, strict=True):
            await tx.execute(
                Q["channel"],
                id=channel_id,
                platform=source.platform,
                kind="stream",
                title=source.title,
                at=now - timedelta(days=90),
            )
            await tx.execute(
                Q["stream"],
                id=channel_id,
                head=source.head,
                due_at=now + timedelta(minutes=source.due_min),
                message_count=source.message_count,
                scanned=source.scanned,
            )
            await tx.execute(Q["coverage"], id=channel_id, ranges=source.covered)
    for number in range(items):
        kind, title, size_bytes, source = TITLES[number % len(TITLES)]
        volume = "" if number < len(TITLES) else f"Vol. {number // len(TITLES) + 1} – "
        age = timedelta(minutes=2 + number**2 * 1.7)
        await add_item(database, channels[source], f"{volume}{title}", kind, size_bytes, now - age)
    return channels


async def add_item(
    database: Database, channel_id: UUID, title: str, kind: str, size_bytes: int, at: datetime
) -> None:
    item_id = uuid4()
    async with database.transaction() as tx:
        await tx.execute(
            Q["item"],
            id=item_id,
            channel_id=channel_id,
            kind=kind,
            title=title,
            size_bytes=size_bytes,
            sent_at=at - timedelta(seconds=40),
            caught_at=at,
        )
        touch_items(tx, [item_id])


async def add_flood(database: Database, channel_id: UUID, at: datetime, *, items: int) -> None:
    """Insert many items at once."""
    async with database.transaction() as tx:
        touch_items(tx, await tx.column(Q["flood"], channel_id=channel_id, items=items, at=at))


async def fill_jobs(database: Database, now: datetime) -> None:
    """Insert waiting and running jobs and a dead letter."""
    async with database.transaction() as tx:
        await tx.execute(Q["job"], status="queued", kind="scan", jobs=12)
        await tx.execute(Q["job"], status="picked", kind="scan", jobs=3)
        await tx.execute(Q["job"], status="queued", kind="heads", jobs=1)
        await tx.execute(
            Q["letter"],
            id=uuid4(),
            kind="scan",
            key="Typeface archive",
            error_class="Gone",
            message="The channel is private now; the account cannot read it any more.",
            at=now - timedelta(hours=3),
        )
