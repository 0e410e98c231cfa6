"""From messages to sightings and items, through the same functions that scans and listeners use.

Ours, the bare batches and the single rows take turns on the same rows; the median of the rounds counts.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from uuid import UUID

from headgate.cli.output import progress_bar
from headgate.dev.bench.followed import READER, SEED, BenchProduct, open_product, unpaced_profile
from headgate.dev.bench.ground import open_ground
from headgate.dev.bench.measuring import Report, delay_line, percentile, rate_line
from headgate.dev.bench.streams.ingest_floors import measure_batches, measure_rows, read_rows
from headgate.domain.streams.messages import Message
from headgate.intake.streams.accept import accept_messages
from headgate.intake.streams.ingest import BATCH
from headgate.intake.streams.live import LiveIntake
from headgate.kernel.clock import RealClock
from headgate.kernel.randomness import Randomness
from headgate.lanes.links import AccountRef
from headgate.storage.database import Connection, connect
from headgate.storage.queries import QueryFile
from headgate.testing import World, file_of

MIN_RATIO = 0.3
MIN_TIMES = 5.0
MAX_LIVE_MS = 1000.0

PAGE = 100
TOPICS = 20
HISTORY_H = 24 * 30.0
ROWS_SHARE = 10
"""Of so many things one is written row by row: the rate is the same, and the wait shorter."""
LIVE_STREAMS = 10
LIVE_PER_S = 20.0
LOOK_S = 0.01
LAST_S = 30.0

Q = QueryFile(
    "bench ingest",
    """
-- name: list_seen
select message_key from sighting where message_key = any(%(keys)s::text[])

-- name: count_made
select count(*) from sighting s join item i on i.id = s.item_id where s.channel_id = %(channel_id)s
""",
)


@dataclass(frozen=True)
class IngestSizes:
    """How much is measured."""

    messages: int = 20_000
    rounds: int = 3
    live: int = 300


@dataclass
class IngestRates:
    """What the rounds gave, a second."""

    ours: list[float] = field(default_factory=list[float])
    floor: list[float] = field(default_factory=list[float])
    rows: list[float] = field(default_factory=list[float])


@dataclass
class IngestBench:
    """The product on a database that is emptied between measurements."""

    url: str
    connection: Connection
    product: BenchProduct
    world: World
    account: AccountRef

    async def clear(self) -> None:
        await self.connection.execute(
            "truncate sighting, message, item, shelf, shelf_facet, shelf_queue cascade"
        )

    async def take_in(self, channel_id: UUID, messages: Sequence[Message]) -> float:
        """Return things a second: pages as a scan writes them, and whatever jobs they wake."""
        began_s = perf_counter()
        for first in range(0, len(messages), PAGE):
            await self._accept(channel_id, messages[first : first + PAGE])
        await self.product.drain()
        return len(messages) / (perf_counter() - began_s)

    async def _accept(self, channel_id: UUID, messages: Sequence[Message]) -> None:
        parts = self.product.parts
        async with parts.database.transaction() as tx:
            rules = await parts.rules.get(tx, channel_id)
            now = parts.clock.now()
            await accept_messages(tx, channel_id, messages, rules=rules, ids=parts.ids, now=now)

    async def count_made(self, channel_id: UUID) -> int:
        async with self.product.database.transaction() as tx:
            return await tx.value(Q["count_made"], channel_id=channel_id)

    async def live_ms(self, *, count: int) -> list[float]:
        """Return how long each of some messages took from its posting until its sighting was there."""
        clock, choices = RealClock(), Randomness(SEED)
        posted_s: dict[str, float] = {}
        delays_ms: list[float] = []
        async with self._listening():
            looking = asyncio.create_task(self._note_seen(posted_s, delays_ms, count=count))
            for number in range(count):
                await clock.sleep(choices.uniform(0, 2 / LIVE_PER_S))
                key = f"live-{choices.below(LIVE_STREAMS)}"
                began_s = perf_counter()
                message = self.world.post(key, files=[file_of(f"{number}.zip", str(number).encode())])
                posted_s[message.key] = began_s
            await asyncio.wait_for(looking, LAST_S)
        return delays_ms

    async def _note_seen(self, posted_s: dict[str, float], delays_ms: list[float], *, count: int) -> None:
        """Look again and again, on a connection of its own, at what has become visible."""
        while len(delays_ms) < count:
            await asyncio.sleep(LOOK_S)
            cursor = await self.connection.execute(Q["list_seen"].sql, {"keys": list(posted_s)})
            seen_s = perf_counter()
            delays_ms.extend((seen_s - posted_s.pop(key)) * 1000 for (key,) in await cursor.fetchall())

    @asynccontextmanager
    async def _listening(self) -> AsyncGenerator[None, None]:
        parts = self.product.parts
        manifest = parts.links.manifest(self.account.platform)
        intake = LiveIntake(self.account, manifest, parts.database, parts.clock, parts.ids, parts.rules)
        running = asyncio.create_task(intake.run(parts.links))
        while not self.world.timeline.connections:  # noqa: ASYNC110 - the world has no sign for it
            await asyncio.sleep(LOOK_S)
        try:
            yield
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def measure_ingest(sizes: IngestSizes) -> Report:
    """Measure everything about taking in, in a database made for it."""
    clock = RealClock()
    world = _build_world(sizes)
    with progress_bar("Measuring ingest", total=sizes.rounds * 3 + 1) as advance:
        async with (
            open_ground() as url,
            await connect(url, name="headgate bench") as connection,
            open_product(url, clock, world) as product,
        ):
            bench = IngestBench(url, connection, product, world, await product.follow())
            rates = await _measure_rounds(bench, sizes, lambda: advance(1))
            await bench.clear()
            delays_ms = await bench.live_ms(count=sizes.live)
            advance(1)
            version = connection.info.parameter_status("server_version") or "unknown"
    return _report(sizes, rates, delays_ms, server_version=version.split()[0])


def _build_world(sizes: IngestSizes) -> World:
    # Late events are the platform's doing, and would be counted as ours.
    world = World(SEED, RealClock(), unpaced_profile().but(late_chance=0.0))
    world.add_account(READER)
    for number in range(sizes.rounds):
        key = _stream_of(number)
        world.add_stream(key, topics=[f"Topic {topic}" for topic in range(TOPICS)])
        world.fill(key, sizes.messages, shape="archive", hours=HISTORY_H)
    for number in range(LIVE_STREAMS):
        world.add_stream(f"live-{number}")
    return world


def _stream_of(round_number: int) -> str:
    return f"forum-{round_number}"


async def _measure_rounds(bench: IngestBench, sizes: IngestSizes, step: Callable[[], None]) -> IngestRates:
    channel_ids = await bench.product.channel_ids()
    rates = IngestRates()
    for number in range(sizes.rounds):
        key = _stream_of(number)
        channel_id, messages = channel_ids[key], bench.world.messages(key)
        await bench.clear()
        rates.ours.append(await bench.take_in(channel_id, messages))
        if (made := await bench.count_made(channel_id)) != len(messages):
            raise RuntimeError(f"{len(messages)} messages became {made} items")
        step()
        rows = await asyncio.to_thread(read_rows, bench.url, channel_id)
        await bench.clear()
        rates.floor.append(await asyncio.to_thread(measure_batches, bench.url, rows, page=PAGE, batch=BATCH))
        step()
        await bench.clear()
        count = max(1, sizes.messages // ROWS_SHARE)
        rates.rows.append(await asyncio.to_thread(measure_rows, bench.url, rows, count=count))
        step()
    return rates


def _report(sizes: IngestSizes, rates: IngestRates, delays_ms: list[float], *, server_version: str) -> Report:
    ours, floor, rows = median(rates.ours), median(rates.floor), median(rates.rows)
    p50_ms, p95_ms = percentile(delays_ms, 0.5), percentile(delays_ms, 0.95)
    values = {
        "items_per_s": round(ours, 1),
        "floor_rows_per_s": round(floor, 1),
        "ratio": round(ours / floor, 3),
        "per_row_per_s": round(rows, 1),
        "times_per_row": round(ours / rows, 2),
        "live_ms_p50": round(p50_ms, 1),
        "live_ms_p95": round(p95_ms, 1),
        "messages": sizes.messages,
        "rounds": sizes.rounds,
        "live": len(delays_ms),
        "live_per_s": LIVE_PER_S,
        "page": PAGE,
        "batch": BATCH,
        "rate_of": "median of rounds",
        "server_version": server_version,
        "python": platform.python_version(),
    }
    lines = [
        rate_line("items, against batches", per_s=ours, floor_per_s=floor, least_ratio=MIN_RATIO),
        rate_line("items, against single rows", per_s=ours, floor_per_s=rows, least_ratio=MIN_TIMES),
        delay_line("live message to sighting, median", delay_ms=p50_ms),
        delay_line("live message to sighting, 95 of 100", delay_ms=p95_ms, most_ms=MAX_LIVE_MS),
    ]
    title = f"Ingest on PostgreSQL {server_version}, Python {platform.python_version()}"
    note = (
        f"Rates are the median of {sizes.rounds} rounds of {sizes.messages:,} messages, in pages of {PAGE}"
        f" and batches of {BATCH}."
    )
    floor_note = (
        "The floors write the same rows of messages, sightings, items, files and the shelf with plain"
        " upserts: in batches of the same sizes, and one a statement and commit."
    )
    return Report("ingest", title, values, lines, [note, floor_note])
