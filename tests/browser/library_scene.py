"""A library for its page in a browser: groups, copies, problems, and thousands of rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID, uuid4

from livesite import LiveSite
from playwright.async_api import Locator, Page
from shelf_stage import CHANNELS, ShelfStage, StagedItem

from headgate.catalogue.search.indexing import index_next
from headgate.kernel.clock import RealClock
from headgate.storage.database import Database
from headgate.storage.events import Event, publish
from headgate.storage.queries import QueryFile
from headgate.storage.shelf.touched import touch_groups, touch_items

NOW = RealClock().now().replace(microsecond=0)

Q = QueryFile(
    "scene",
    """
-- name: flood
insert into item (id, channel_id, content_key, kind, type, title, name_key, size_bytes, sent_at, caught_at)
select gen_random_uuid(), %(channel_id)s, 'flood ' || n, 'file', 'stl', 'Row ' || lpad(n::text, 5, '0'),
    'row ' || lpad(n::text, 5, '0'), n, %(at)s::timestamptz - n / 3 * interval '1 second', %(at)s
from generate_series(1, %(items)s::int) as n
returning id

-- name: groups
insert into item_group (id, kind, name, name_key, name_by, created_at)
select id, 'hand', 'Group ' || n, 'group ' || n, 'person', %(at)s
from unnest(%(ids)s::uuid[]) with ordinality as g (id, n)

-- name: members
insert into item
    (id, channel_id, content_key, kind, type, title, name_key, size_bytes, sent_at, caught_at, group_id,
     grouped_by)
select gen_random_uuid(), %(channel_id)s, 'member ' || g.n || '/' || m, 'package', 'zip', 'Member ' || m,
    'member', 1000, %(at)s::timestamptz - g.n * interval '1 minute', %(at)s, g.id, 'person'
from unnest(%(ids)s::uuid[]) with ordinality as g (id, n), generate_series(1, %(each)s::int) as m
returning id
""",
)


@dataclass
class Scene:
    """A library that a person would have, and ways to look at it."""

    live: LiveSite
    stage: ShelfStage
    group: UUID
    knight: StagedItem
    castle: StagedItem

    async def tell(self) -> None:
        """Tell pages that something changed, as everything that changes something does."""
        async with self.live.database.transaction() as tx:
            await publish(tx, Event("items"))

    async def arrive(self, title: str) -> StagedItem:
        item = StagedItem(title=title, sent_at=RealClock().now() + timedelta(minutes=1))
        await self.stage.add(item)
        await self.tell()
        return item


async def open_scene(live: LiveSite) -> Scene:
    """Fill a library: a group of three, two copies, a problem, and things on their own."""
    await live.add_user()
    stage = ShelfStage(live.database)
    await stage.open()
    group = await stage.add_group("Colossal Dungeon")
    knight = StagedItem(title="Knight", tags=("elves",), creator="Mara", sent_at=NOW - timedelta(hours=1))
    castle = StagedItem(title="Castle", channel=CHANNELS[1], sent_at=NOW - timedelta(hours=2))
    copies = [
        StagedItem(
            title="Lantern",
            channel=channel,
            state="stored",
            content="lantern",
            sent_at=NOW - timedelta(hours=5 + number),
        )
        for number, channel in enumerate(CHANNELS[:2])
    ]
    await stage.add(
        knight,
        castle,
        *(
            StagedItem(title=f"Floor {number}", group=group, sent_at=NOW - timedelta(hours=3, minutes=number))
            for number in range(3)
        ),
        StagedItem(title="Broken", failed=True, kind="clip", type="mp4", sent_at=NOW - timedelta(hours=4)),
        *copies,
    )
    return Scene(live, stage, group, knight, castle)


async def index_all(database: Database) -> None:
    """Let search know everything."""
    while await index_next(database, clock=RealClock()):
        pass


async def add_flood(database: Database, *, items: int) -> None:
    """Insert many rows, three of each moment."""
    async with database.transaction() as tx:
        added: list[UUID] = await tx.column(Q["flood"], channel_id=CHANNELS[0], items=items, at=NOW)
        touch_items(tx, added)


async def add_groups(database: Database, *, groups: int, each: int) -> None:
    ids = [uuid4() for _ in range(groups)]
    async with database.transaction() as tx:
        await tx.execute(Q["groups"], ids=ids, at=NOW)
        added: list[UUID] = await tx.column(Q["members"], channel_id=CHANNELS[0], ids=ids, each=each, at=NOW)
        touch_items(tx, added)
        touch_groups(tx, ids)


def row(page: Page, name: str) -> Locator:
    """Return the row of a thing by its name."""
    return page.locator(".row", has=page.get_by_role("link", name=name, exact=True))


def names(page: Page) -> Locator:
    """Return the names of all rows, for a comparison that waits until the page has come."""
    return page.locator(".row > [data-row]:not(.member) .title")
