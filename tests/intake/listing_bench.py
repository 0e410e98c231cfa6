"""A host with listings, followed as series: what is published there, and what became of it here."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from bench import HEARTBEAT_S, Bench

from headgate.connectors.protocol import FoundChannel
from headgate.domain.listings.listings import Entry
from headgate.intake.listings.sources import ListingSources, NewSource, SourceAdded
from headgate.jobs.execution import Execution
from headgate.jobs.kinds import Kinds
from headgate.jobs.stepper import ClaimedJob, Stepper
from headgate.lanes.links import AccountRef
from headgate.storage.channels.channels import upsert_account
from headgate.storage.database import Connection, connect
from headgate.storage.listings import listing_overview, listings, series
from headgate.storage.listings.listing_overview import HostState, ListingOverview
from headgate.storage.listings.series import Chapter, Release, Series
from headgate.storage.queries import QueryFile
from headgate.testing.platform.odd_answers import list_in_parts, list_plainly

READER = "reader"
LOOKING = frozenset({"poll", "sweep", "ingest"})

Q = QueryFile(
    "listing tests",
    """
-- name: mark
select pg_current_xact_id()::text::bigint

-- name: written_since
select 'listing' as name, count(*) as rows from listing where xmin::text::bigint > %(mark)s
union all select 'channel', count(*) from channel where xmin::text::bigint > %(mark)s
union all select 'host', count(*) from host where xmin::text::bigint > %(mark)s
union all select 'watch', count(*) from watch where xmin::text::bigint > %(mark)s
union all select 'series', count(*) from series where xmin::text::bigint > %(mark)s
union all select 'chapter', count(*) from chapter where xmin::text::bigint > %(mark)s
union all select 'release', count(*) from release where xmin::text::bigint > %(mark)s
union all select 'news', count(*) from news where xmin::text::bigint > %(mark)s
union all select 'notification', count(*) from notification where xmin::text::bigint > %(mark)s
union all select 'miss', count(*) from miss where xmin::text::bigint > %(mark)s
union all select 'item', count(*) from item where xmin::text::bigint > %(mark)s
union all select 'sighting', count(*) from sighting where xmin::text::bigint > %(mark)s

-- name: news
select c.number || ' ' || r.entry_key
from news n join release r on r.id = n.release_id join chapter c on c.id = r.chapter_id order by n.id

-- name: add_user
insert into app_user (id, name, password_hash, role, created_at)
values (%(id)s, %(name)s, '', 'member', %(now)s)

-- name: follow
insert into follow (id, user_id, series_id, channel_id, since)
values (%(id)s, %(user_id)s, %(series_id)s, %(channel_id)s, %(since)s)

-- name: notified
select c.number from notification n join chapter c on c.id = n.chapter_id order by 1

-- name: all_numbers
select number from chapter order by series_id, place

-- name: misses
select message_key || ': ' || error_message from miss order by 1

-- name: news_of_items
select i.title from news n join item i on i.id = n.item_id order by 1

-- name: waiting_for_a_lock
select query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'

-- name: posts
select title from item where kind = 'post' order by title

-- name: jobs
select dedupe_key from pgqueuer where status in ('queued', 'picked') order by 1

-- name: refuse_titles
alter table item add constraint refused check (title <> 'refused') not valid

-- name: lose_job
update pgqueuer set queue_manager_id = gen_random_uuid() where id = %(job_id)s

-- name: spoil_pattern
update series_source set pattern = %(pattern)s
""",
)


@dataclass(frozen=True)
class Written:
    """So many rows of a table were written."""

    name: str
    rows: int


@dataclass
class ListingBench:
    """The product, and a site whose listings it follows."""

    bench: Bench
    runners: list[Stepper] = field(default_factory=list[Stepper])
    connections: list[Connection] = field(default_factory=list[Connection])

    @property
    def sources(self) -> ListingSources:
        parts = self.bench.parts
        return ListingSources(parts.links, parts.database, parts.clock, parts.ids)

    async def add(
        self,
        key: str,
        *,
        series_id: UUID | None = None,
        title: str = "",
        pattern: str = "",
        host: str = "example.org",
        is_series: bool = True,
        page_size: int = 1000,
    ) -> SourceAdded:
        """Put a listing into the world, and follow it."""
        world = self.bench.world
        if READER not in world.accounts:
            world.add_account(READER)
        if key not in world.listings:
            world.add_listing(key, title=title or key, host=host, page_size=page_size)
        async with self.bench.database.transaction() as tx:
            account_id = await upsert_account(
                tx, uuid4(), platform="simulated", name=READER, established=True, now=self.bench.clock.now()
            )
            account = AccountRef(account_id, "simulated", READER, established=True)
            found = FoundChannel(key, title or key, "listing", is_series=is_series)
            source = NewSource(found, series_id=series_id, pattern=pattern)
            return await self.sources.add_in(tx, account, source, now=self.bench.clock.now())

    def publish(self, listing: str, *numbers: str, **fields: Any) -> None:
        """Publish chapters; what is not said is made of the number."""
        for number in numbers:
            entry: dict[str, Any] = {
                "key": f"{listing}-{number}",
                "title": f"{listing}, chapter {number}",
                "url": f"https://example.org/{listing}/{number}",
                "published_at": self.bench.clock.now(),
                "number": number,
                "language": "en",
                "group": "Tidewater",
            }
            self.bench.world.publish(listing, Entry(**(entry | fields)))

    @contextmanager
    def answers(self, *, parts: int = 1, **fields: Any) -> Generator[None, None, None]:
        """Let the platform say more of its listings than the simulated one does by itself."""
        world = self.bench.world
        world.on_list = list_in_parts(parts, **fields)
        yield
        world.on_list = list_plainly

    def withdraw(self, listing: str, key: str) -> None:
        del self.bench.world.listings[listing].posted[key]

    async def check(self, *added: SourceAdded) -> None:
        """Let listings be looked at now; whom to tell of it is left to others."""
        await self.ask(*added)
        await self.work()

    async def ask(self, *added: SourceAdded) -> None:
        async with self.bench.database.transaction() as tx:
            for one in added:
                await listings.ask_listing(tx, one.channel_id, now=self.bench.clock.now())

    async def work(self) -> int:
        """Tick and carry out the jobs of looking and ingesting until none is left."""
        done = 0
        while await self.step():
            done += 1
        return done

    async def step(self) -> bool:
        return await self.step_beside(1) == 1

    async def step_beside(self, count: int) -> int:
        """Tick, and carry out so many jobs at once, each in a runner of its own."""
        return await self.execute_beside(await self.claim_beside(count))

    async def claim_beside(self, count: int) -> list[tuple[Stepper, ClaimedJob]]:
        """Tick, and claim so many jobs, each by a runner of its own."""
        await self.bench.tick()
        while len(self.runners) < count:
            connection = await connect(self.bench.url)
            self.connections.append(connection)
            self.runners.append(Stepper(self._execution(), connection, uuid4(), HEARTBEAT_S))
        return [(runner, job) for runner in self.runners[:count] if (job := await runner.claim())]

    async def execute_beside(self, claimed: list[tuple[Stepper, ClaimedJob]]) -> int:
        """Carry out claimed jobs at once."""
        ended = await asyncio.gather(*(runner.execute(job) for runner, job in claimed))
        for (runner, job), (_, settlement) in zip(claimed, ended, strict=True):
            await runner.settle(job, settlement)
        return len(claimed)

    async def flow(self, work: Coroutine[Any, Any, int]) -> int:
        """Let time go by while something is done that waits for it."""
        task = asyncio.create_task(work)
        while not task.done():
            await asyncio.wait([task], timeout=0.02)
            self.bench.clock.advance(0.2)
        return await task

    async def let_retries_come(self) -> None:
        """Work, and let a minute pass, until nothing is tried again."""
        for _ in range(4):
            await self.work()
            await self.pass_time(seconds=60)
        await self.work()

    async def restart(self) -> None:
        """Go on in another process: nothing is left of the old one."""
        await self.bench.restart()
        self.runners.clear()

    def _execution(self) -> Execution:
        execution = self.bench.parts.execution
        kinds = [kind for kind in execution.kinds if kind.name in LOOKING]
        return replace(execution, kinds=Kinds(kinds))

    async def close(self) -> None:
        for connection in self.connections:
            await connection.close()
        await self.bench.close()

    async def pass_time(self, **span: float) -> None:
        await self.bench.pass_time(timedelta(**span).total_seconds())

    async def series(self, series_id: UUID | None) -> Series:
        assert series_id is not None
        async with self.bench.database.transaction() as tx:
            found = await series.get_series(tx, series_id)
        assert found is not None
        return found

    async def chapters(self, series_id: UUID | None) -> list[Chapter]:
        """Return the chapters of a series in their order."""
        assert series_id is not None
        async with self.bench.database.transaction() as tx:
            return (await series.list_chapters(tx, series_id, limit=10_000))[::-1]

    async def numbers(self, series_id: UUID | None) -> list[str]:
        return [chapter.number for chapter in await self.chapters(series_id)]

    async def releases(self, series_id: UUID | None) -> list[Release]:
        """Return all releases of a series, by chapter."""
        ids = [chapter.id for chapter in await self.chapters(series_id)]
        async with self.bench.database.transaction() as tx:
            found = await series.list_releases(tx, ids)
        return [release for chapter_id in ids for release in found[chapter_id]]

    async def releases_by_chapter(self, series_id: UUID | None) -> list[list[Release]]:
        """Return the releases of each chapter, in the order of the chapters."""
        ids = [chapter.id for chapter in await self.chapters(series_id)]
        async with self.bench.database.transaction() as tx:
            found = await series.list_releases(tx, ids)
        return [list(found[chapter_id]) for chapter_id in ids]

    async def state(self, added: SourceAdded) -> ListingOverview:
        async with self.bench.database.transaction() as tx:
            (state,) = await listing_overview.get_listing_states(tx, [added.channel_id])
        return state

    async def host(self) -> HostState:
        async with self.bench.database.transaction() as tx:
            (host,) = await listing_overview.list_hosts(tx)
        return host

    async def follow(
        self, series_id: UUID | None = None, *, channel_id: UUID | None = None, name: str = "ada"
    ) -> UUID:
        """Let a new user follow a series or a channel from now on."""
        user_id, now = uuid4(), self.bench.clock.now()
        async with self.bench.database.transaction() as tx:
            await tx.execute(Q["add_user"], id=user_id, name=name, now=now)
            await tx.execute(
                Q["follow"],
                id=uuid4(),
                user_id=user_id,
                series_id=series_id,
                channel_id=channel_id,
                since=now,
            )
        return user_id

    async def texts(self, name: str, **parameters: Any) -> list[str]:
        async with self.bench.database.transaction() as tx:
            return await tx.column(Q[name], **parameters)

    async def execute(self, name: str, **parameters: Any) -> None:
        async with self.bench.database.transaction() as tx:
            await tx.execute(Q[name], **parameters)

    async def mark(self) -> int:
        """Return a moment in the life of the database, for `written_since`."""
        async with self.bench.database.transaction() as tx:
            return await tx.value(Q["mark"])

    async def written_since(self, mark: int) -> dict[str, int]:
        """Return how many rows of each table are as they are since a moment, where there are any."""
        async with self.bench.database.transaction() as tx:
            counted = {row.name: row.rows for row in await tx.all(Written, Q["written_since"], mark=mark)}
        return {name: rows for name, rows in counted.items() if rows}

    def calls(self, kind: str = "list") -> int:
        return sum(1 for _ in self.bench.world.log.calls(kind))
