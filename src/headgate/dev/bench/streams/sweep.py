"""How many calls it takes to stay up to date with a large forum and many channels, in virtual time.

The calls are those that the simulated platform has counted. Nobody listens: with a listener the schedule
would ask even less often.
"""

from __future__ import annotations

import platform
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from headgate.cli.output import progress_bar
from headgate.dev.bench.followed import READER, SEED, BenchProduct, open_product, unpaced_profile
from headgate.dev.bench.ground import open_ground
from headgate.dev.bench.measuring import Figure, Report
from headgate.dev.bench.streams.naive import NaiveReader
from headgate.kernel.clock import VirtualClock
from headgate.storage.queries import QueryFile
from headgate.testing import World
from headgate.testing.platform.link import SimulatedLink

MAX_IDLE = 2
MAX_AFTER_5_MIN = 0
MAX_AFTER_1_H = 2
MAX_CHANGED = 10

START = datetime(2026, 3, 1, tzinfo=UTC)
NAIVE = "naive"
FORUM = "forum"
HISTORY_H = 24 * 90.0
PER_TOPIC = 3
PER_CHANNEL = 40
DOCUMENTS = 3
"""What each topic that changes gets."""
BETWEEN_POSTS_S = 5.0
IDLE_CYCLES = 3
STEPS = 7
COUNTED = ("heads", "read", "message")

Q = QueryFile(
    "bench sweep",
    """
-- name: standing
select min(least(s.due_at, n.due_at)) as next_at, bool_or(n.id is not null) as reading,
       bool_and(coalesce(s.head_checked_at > %(since)s, false)) as all_looked_at
from stream s left join scan n on n.channel_id = s.channel_id and n.status in ('QUEUED', 'RUNNING')

-- name: caught
select c.key || '/' || s.message_key || '/' || s.attachment_key
from sighting s join channel c on c.id = s.channel_id
where s.verdict = 'kept' and s.item_id is not null

-- name: count_items
select count(*) from item
""",
)


@dataclass(frozen=True)
class SweepSizes:
    """How much there is to keep up with."""

    topics: int = 1_086
    channels: int = 50
    changed: int = 40

    @property
    def topic_names(self) -> list[str]:
        return [f"Topic {number}" for number in range(1, self.topics + 1)]

    @property
    def channel_keys(self) -> list[str]:
        return [f"channel-{number}" for number in range(1, self.channels + 1)]


@dataclass(frozen=True)
class SweepCalls:
    """Where the streams stand: what is due next, and whether each had its turn."""

    next_at: datetime
    reading: bool
    all_looked_at: bool


@dataclass
class Calls:
    """What the sweeps cost, in calls."""

    naive_cycle: int = 0
    cold_start: int = 0
    idle_cycle: int = 0
    restart_5min: int = 0
    restart_1h: int = 0
    changed_40_topics: int = 0
    idle_day: int = 0


@dataclass
class Sweep:
    """A world and the product's database, in time that is moved by hand."""

    url: str
    sizes: SweepSizes
    clock: VirtualClock
    world: World

    @asynccontextmanager
    async def started(self) -> AsyncGenerator[BenchProduct, None]:
        """Start the product; a second time it is a restart."""
        async with open_product(self.url, self.clock, self.world) as product:
            yield product

    def count(self, account: str = READER) -> int:
        """Return how many calls for heads and readings the platform has counted."""
        return sum(self.world.log.counts_by_account[account, kind] for kind in COUNTED)

    async def sweep_naively(self) -> int:
        """Return the calls of a naive cycle in which nothing is new; the one before finds everything."""
        reader = NaiveReader(SimulatedLink(self.world, NAIVE))
        topics = [(FORUM, topic) for topic in self.sizes.topic_names]
        places = topics + [(key, "") for key in self.sizes.channel_keys]
        await reader.sweep(places)
        before = self.count(NAIVE)
        await reader.sweep(places)
        return self.count(NAIVE) - before

    async def start_cold(self, product: BenchProduct) -> int:
        """Return the calls until everything that there was is read."""
        before = self.count()
        await product.follow()
        await product.work()
        while (await self._standing(product, since=START)).reading:
            await self._go_on(product)
        return self.count() - before

    async def cycle(self, product: BenchProduct) -> int:
        """Move the clock from due time to due time until every stream had its turn, and all is read."""
        before, since = self.count(), self.clock.now()
        while True:
            await self._go_on(product)
            standing = await self._standing(product, since=since)
            if standing.all_looked_at and not standing.reading:
                return self.count() - before

    async def rest(self, product: BenchProduct, *, hours: float) -> int:
        """Return the calls of some hours in which nothing happens."""
        before, until = self.count(), self.clock.now() + timedelta(hours=hours)
        while (await self._standing(product, since=until)).next_at <= until:
            await self._go_on(product)
        return self.count() - before

    async def restart_after(self, *, minutes: float) -> int:
        """Return the calls of a process that starts after a while in which none was there."""
        before = self.count()
        self.clock.advance(minutes * 60)
        async with self.started() as product:
            await product.work()
        return self.count() - before

    def change_topics(self) -> None:
        """Post documents into some of the topics, one after the other."""
        for topic in self.sizes.topic_names[: self.sizes.changed]:
            for _ in range(DOCUMENTS):
                self.clock.advance(BETWEEN_POSTS_S)
                self.world.post(FORUM, shape="document", topic=topic)

    async def compare(self, product: BenchProduct) -> tuple[int, int]:
        """Return how many files of the world are no items, and how many items are too many."""
        there = {
            f"{key}/{message.key}/{attachment.key}": attachment.content_id
            for key in self.world.streams
            for message in self.world.messages(key)
            for attachment in message.attachments
        }
        contents = {(place.split("/")[0], content_id) for place, content_id in there.items()}
        async with product.database.transaction() as tx:
            caught = await tx.column(Q["caught"])
            items = await tx.value(Q["count_items"])
        unknown = [place for place in caught if place not in there]
        doubled = len(caught) - len(set(caught)) + max(0, items - len(contents))
        return len(there.keys() - set(caught)), len(unknown) + doubled

    async def _go_on(self, product: BenchProduct) -> None:
        """Move the clock to what is due next, and do it."""
        standing = await self._standing(product, since=START)
        self.clock.advance(self.clock.real_s_until(standing.next_at))
        await product.work()

    async def _standing(self, product: BenchProduct, *, since: datetime) -> SweepCalls:
        async with product.database.transaction() as tx:
            standing = await tx.one(SweepCalls, Q["standing"], since=since)
        assert standing is not None  # noqa: S101 - an aggregate has one row
        return standing


async def measure_sweep(sizes: SweepSizes) -> Report:
    """Measure everything about sweeps in a database made for it."""
    clock = VirtualClock(START)
    with progress_bar("Measuring sweeps", total=STEPS) as advance:
        async with open_ground() as url:
            sweep = Sweep(url, sizes, clock, _build_world(sizes, clock))
            calls = Calls(naive_cycle=await sweep.sweep_naively())
            advance(1)
            async with sweep.started() as product:
                calls.cold_start = await sweep.start_cold(product)
                advance(1)
                calls.idle_cycle = max([await sweep.cycle(product) for _ in range(IDLE_CYCLES)])
                advance(1)
            calls.restart_5min = await sweep.restart_after(minutes=5)
            advance(1)
            async with sweep.started() as product:
                await sweep.cycle(product)
            calls.restart_1h = await sweep.restart_after(minutes=60)
            advance(1)
            async with sweep.started() as product:
                sweep.change_topics()
                calls.changed_40_topics = await sweep.cycle(product)
                advance(1)
                calls.idle_day = await sweep.rest(product, hours=24)
                missed, repeated = await sweep.compare(product)
                advance(1)
    return _report(sizes, calls, missed=missed, repeated=repeated)


def _build_world(sizes: SweepSizes, clock: VirtualClock) -> World:
    world = World(SEED, clock, unpaced_profile())
    world.add_account(READER)
    world.add_account(NAIVE)
    world.add_stream(FORUM, topics=sizes.topic_names)
    world.fill(FORUM, sizes.topics * PER_TOPIC, hours=HISTORY_H)
    for key in sizes.channel_keys:
        world.add_stream(key)
        world.fill(key, PER_CHANNEL, hours=HISTORY_H)
    return world


def _report(sizes: SweepSizes, calls: Calls, *, missed: int, repeated: int) -> Report:
    values = {
        **vars(calls),
        "idle_ratio": round(calls.idle_cycle / calls.naive_cycle, 5),
        "missed": missed,
        "repeated": repeated,
        **vars(sizes),
        "documents_each": DOCUMENTS,
        "idle_cycles": IDLE_CYCLES,
        "python": platform.python_version(),
    }
    naive = calls.naive_cycle
    lines = [
        _line("naive cycle", naive),
        _line("cold start", calls.cold_start),
        _line(f"idle cycle, the worst of {IDLE_CYCLES}", calls.idle_cycle, naive=naive, most=MAX_IDLE),
        _line("restart after 5 minutes", calls.restart_5min, naive=naive, most=MAX_AFTER_5_MIN),
        _line("restart after an hour", calls.restart_1h, naive=naive, most=MAX_AFTER_1_H),
        _line(f"{sizes.changed} topics changed", calls.changed_40_topics, naive=naive, most=MAX_CHANGED),
        _line("idle day", calls.idle_day),
        Figure("missed", f"{missed:,}", bound="= 0", ok=missed == 0),
        Figure("repeated", f"{repeated:,}", bound="= 0", ok=repeated == 0),
    ]
    title = f"Calls for a forum of {sizes.topics:,} topics and {sizes.channels} channels"
    note = (
        "Calls for heads and readings, as the simulated platform counted them; the floor is the naive cycle."
    )
    return Report("sweep", title, values, lines, [note])


def _line(what: str, calls: int, *, naive: int | None = None, most: int | None = None) -> Figure:
    return Figure(
        what=what,
        figure=f"{calls:,} calls",
        floor="" if naive is None else f"{naive:,} calls",
        ratio=None if naive is None else calls / naive,
        bound="" if most is None else f"≤ {most}",
        ok=None if most is None else calls <= most,
    )
