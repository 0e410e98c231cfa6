"""Series, releases and notifications for pages to show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from webworld import START, WebWorld

from headgate.domain.listings.listings import Entry
from headgate.intake.listings.entries import Answered, News
from headgate.kernel.clock import VirtualClock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.access.users import get_user_by_name
from headgate.storage.channels.channels import upsert_account
from headgate.storage.database import Tx
from headgate.storage.listings import hosts, listings, releases, series
from headgate.storage.listings.hosts import HostName

READER = "reader"
IDS = Ids(VirtualClock(START), Randomness(9))


@dataclass(frozen=True)
class Made:
    """A series and the listing that brings it."""

    series_id: UUID
    channel_id: UUID

    @property
    def path(self) -> str:
        return f"/series/{self.series_id}"


async def user_id_of(world: WebWorld, name: str = "ada") -> UUID:
    async with world.database.transaction() as tx:
        user = await get_user_by_name(tx, name)
    assert user is not None
    return user.id


async def add_series(world: WebWorld, title: str = "Tidewater", *numbers: str) -> Made:
    """Add a series with one source, and chapters that came an hour apart."""
    async with world.database.transaction() as tx:
        channel_id = await add_listing(tx, f"{title} on the site")
        series_id = uuid4()
        await series.insert_series(tx, series_id, title=title, now=START)
        await series.upsert_source(tx, series_id=series_id, channel_id=channel_id, now=START)
    made = Made(series_id, channel_id)
    for hour, number in enumerate(numbers):
        await publish(world, made, number, published_at=START - timedelta(hours=len(numbers) - hour))
    return made


async def add_listing(tx: Tx, title: str) -> UUID:
    account_id = await upsert_account(
        tx, uuid4(), platform="simulated", name=READER, established=True, now=START
    )
    await hosts.upsert_host(tx, HostName("simulated", "example.org"), swept=False, now=START)
    added = await listings.insert_listing(
        tx,
        uuid4(),
        platform="simulated",
        key=title,
        title=title,
        host="example.org",
        reader_id=account_id,
        now=START,
    )
    assert added is not None
    return added.channel_id


async def publish(world: WebWorld, made: Made, number: str, **fields: Any) -> None:
    """Let the source bring a chapter, as a look at it does."""
    entry: dict[str, Any] = {
        "key": f"{made.channel_id}-{number}",
        "title": f"The storm {number}",
        "url": f"https://example.org/{number}",
        "published_at": START,
        "number": number,
        "language": "en",
        "group": "Harbour Scans",
    }
    async with world.database.transaction() as tx:
        sources = (await listings.list_sources(tx, [made.channel_id]))[made.channel_id]
        entries = [Entry(**(entry | fields))]
        found = News()
        Answered.of(made.channel_id, entries, sources, first_poll=True).sort([0], into=found)
        await releases.take_releases(tx, found.releases, ids=IDS, now=START)


async def chapter_ids(world: WebWorld, made: Made) -> dict[str, str]:
    """Return the chapters of a series by number."""
    async with world.database.transaction() as tx:
        chapters = await series.list_chapters(tx, made.series_id, limit=1000)
    return {chapter.number: str(chapter.id) for chapter in chapters}


async def tell(
    world: WebWorld, user_id: UUID, title: str, *, at: datetime = START, url: str = "", **more: Any
) -> UUID:
    """Put a notification into a user's list."""
    told_id = uuid4()
    async with world.database.transaction() as tx:
        await tx.raw(
            "insert into notification (id, user_id, subject, series_id, title, body, url, at, in_app, push)"
            " values ($1, $2, $1::text, $3, $4, 'Chapter 7', $5, $6, true, false)",
            [told_id, user_id, more.get("series_id"), title, url, at],
        )
    return told_id


async def raw(world: WebWorld, sql: str, *arguments: Any) -> list[dict[str, Any]]:
    async with world.database.transaction() as tx:
        return await tx.raw(sql, arguments)
