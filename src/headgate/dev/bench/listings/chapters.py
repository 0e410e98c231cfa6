"""Chapters: looking again at many series of which little is new, through the real jobs of a worker.

Ours, the bare statement and the job for each chapter take turns on the same entries. The site is a stub that
has its answers ready, so that what is measured is what we do with them.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from statistics import median
from time import perf_counter
from uuid import UUID

from headgate.app.parts import Parts, build_parts
from headgate.cli.output import progress_bar
from headgate.connectors.listing_link import ListingLink
from headgate.connectors.login_steps import LoginAttempt, LoginStep, SignedIn
from headgate.connectors.protocol import FoundChannel, LaneDefault, Link, Manifest, Memory
from headgate.dev.bench.ground import open_ground
from headgate.dev.bench.listings.chapter_floors import MAKE_TABLES, Rows, chapter_job_kind, measure_rows
from headgate.dev.bench.measuring import Figure, Report, rate_line
from headgate.domain.errors import Transient, WorkError
from headgate.domain.listings.listings import Entry, Listed
from headgate.intake.listings.sources import ListingSources, NewSource
from headgate.jobs.kinds import Kinds, Wake
from headgate.jobs.wake import enqueue
from headgate.jobs.worker import build_worker
from headgate.kernel.clock import RealClock
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import JobsSettings, load_settings
from headgate.outflow.notifications.follows import follow
from headgate.storage.access.users import insert_user
from headgate.storage.database import Connection, Database, connect
from headgate.storage.notifications.follows import Subject

MIN_RATIO = 0.3
MIN_TIMES = 20.0
NEW_SHARE = 0.01
POLLS_AT_ONCE = 5
JOBS_AT_ONCE = 10
LOOK_S = 0.02
BEGAN = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class ChapterSizes:
    """How much is measured."""

    series: int = 1_000
    chapters: int = 200
    rounds: int = 3

    @property
    def new(self) -> int:
        """New chapters of each series in a round."""
        return max(1, round(self.chapters * NEW_SHARE))


class InstantSite(ListingLink):
    """Answers at once with what it has."""

    platform = "site"

    def __init__(self, answers: Mapping[str, list[Entry]]) -> None:
        self._answers = answers

    async def list(self, listing: str, cursor: Mapping[str, str]) -> Listed:
        return Listed(tuple(self._answers[listing]), {})


class SiteConnector:
    """Opens the site for anybody."""

    manifest = Manifest(
        platform="site",
        title="Site of the benchmark",
        capabilities=frozenset({"listings", "anonymous"}),
        licence="MIT",
        lanes={"list": LaneDefault(per_minute=1_000_000, burst=100_000)},
    )

    def __init__(self, answers: Mapping[str, list[Entry]]) -> None:
        self._answers = answers

    async def login(self, attempt: LoginAttempt) -> LoginStep:
        return SignedIn()

    async def logout(self, account: str, secrets: Mapping[str, str]) -> None:
        """Nobody is signed in."""

    async def open(self, account: str, secrets: Mapping[str, str], memory: Memory) -> Link:
        return InstantSite(self._answers)

    def host_of(self, listing: str) -> str:
        return "site.example"

    def key_of(self, listing: str) -> str:
        return listing

    def owns(self, address: str) -> bool:
        return False

    def classify(self, error: BaseException) -> WorkError:
        return Transient(str(error))


@dataclass
class ChapterRates:
    """What the rounds gave, a second."""

    ours: list[float] = field(default_factory=list[float])
    floor: list[float] = field(default_factory=list[float])
    jobs: list[float] = field(default_factory=list[float])


@dataclass
class ChapterBench:
    """The product on a database with many series."""

    url: str
    connection: Connection
    parts: Parts
    answers: dict[str, list[Entry]]
    channels: dict[str, UUID] = field(default_factory=dict[str, UUID])

    async def follow_all(self, since: datetime) -> None:
        """Follow every listing as a series, and let one user hear of what is published from then on."""
        parts = self.parts
        sources = ListingSources(parts.links, parts.database, parts.clock, parts.ids)
        account = await sources.reader_of("site")
        now = parts.clock.now()
        async with parts.database.transaction() as tx:
            user_id = parts.ids.new()
            await insert_user(tx, user_id=user_id, name="reader", password_hash="", role="member", now=now)
            for key in self.answers:
                found = FoundChannel(key, f"Series {key}", "listing", is_series=True)
                added = await sources.add_in(tx, account, NewSource(found), now=now)
                self.channels[key] = added.channel_id
                subject = Subject(series_id=added.series_id)
                await follow(tx, subject, None, user_id=user_id, ids=parts.ids, now=since)

    async def poll_all(self) -> float:
        """Look at every listing; returns entries a second."""
        now = self.parts.clock.now()
        await self.connection.execute("update listing set due_at = %s, rest_until = null", (now,))
        await self.connection.execute("vacuum analyze pgqueuer")
        wakes = [Wake("poll", str(channel_id)) for channel_id in self.channels.values()]
        async with self.parts.database.transaction() as tx:
            await enqueue(tx, wakes)
        entries = sum(len(each) for each in self.answers.values())
        return entries / await self.drain(["poll"])

    async def drain(self, kinds: Sequence[str]) -> float:
        """Carry out all queued jobs of some kinds; returns the seconds."""
        known = [kind for kind in self.parts.kinds if kind.name in kinds]
        return await self.run_worker(Kinds(known), kinds, at_once=POLLS_AT_ONCE)

    async def run_worker(self, known: Kinds, names: Sequence[str], *, at_once: int) -> float:
        execution = replace(self.parts.execution, kinds=known)
        worker = build_worker(self.url, execution, JobsSettings(fast_concurrency=at_once))
        began_s = perf_counter()
        running = asyncio.create_task(worker.run())
        try:
            while await self.count(  # noqa: ASYNC110 - the last flush is the engine's own
                "select count(*) from pgqueuer where entrypoint = any(%s)", list(names)
            ):
                await asyncio.sleep(LOOK_S)
            return perf_counter() - began_s
        finally:
            await worker.stop()
            await running

    async def per_chapter(self, chapters: Sequence[tuple[UUID, Entry]]) -> float:
        """Ingest chapters by a job each; returns chapters a second."""
        await self.connection.execute("truncate pgqueuer, bench_chapter, bench_chapter_source, bench_series")
        now = self.parts.clock.now()
        kind = chapter_job_kind(chapters, ids=self.parts.ids, now=now)
        async with self.parts.database.transaction() as tx:
            await enqueue(tx, [Wake("chapter", str(number)) for number in range(len(chapters))])
        seconds = await self.run_worker(Kinds([kind]), ["chapter"], at_once=JOBS_AT_ONCE)
        await self.connection.execute("truncate pgqueuer")
        return len(chapters) / seconds

    async def count(self, sql: str, *arguments: object) -> int:
        cursor = await self.connection.execute(sql.encode(), arguments)
        row = await cursor.fetchone()
        return int(row[0]) if row else 0

    async def mark(self) -> int:
        return await self.count("select pg_current_xact_id()::text::bigint")

    async def written_since(self, mark: int) -> int:
        """Return how many rows of series, chapters and releases are as they are since a moment."""
        return sum(
            [
                await self.count(f"select count(*) from {table} where xmin::text::bigint > %s", mark)  # noqa: S608
                for table in ("series", "chapter", "release")
            ]
        )


@dataclass
class Exactness:
    """What was written and told, beside what really changed."""

    rows_written: int = 0
    rows_changed: int = 0
    notifications: int = 0
    expected_notifications: int = 0

    @property
    def exact(self) -> bool:
        written = self.rows_written == self.rows_changed
        return written and self.notifications == self.expected_notifications


def make_entry(series: int, number: int) -> Entry:
    return Entry(
        key=f"{series:04x}-{number:04x}",
        title=f"Chapter {number}: {('The Flood', 'Low Water', 'Lock and Weir')[number % 3]}",
        url=f"https://site.example/{series}/{number}",
        published_at=BEGAN + timedelta(days=number),
        number=str(number),
        language="en",
        group="Tidewater",
    )


async def measure_chapters(sizes: ChapterSizes) -> Report:
    """Measure looks at series in a database made for it."""
    answers = {
        f"series-{n}": [make_entry(n, number) for number in range(1, sizes.chapters + 1)]
        for n in range(sizes.series)
    }
    rates, exactness = ChapterRates(), Exactness()
    async with open_bench(answers) as bench:
        with progress_bar("Measuring chapters", total=sizes.rounds + 1) as advance:
            await bench.follow_all(BEGAN + timedelta(days=sizes.chapters, hours=1))
            await bench.poll_all()
            await bench.drain(["notify"])
            await measure_rows(bench.url, _rows(bench), connections=POLLS_AT_ONCE)
            await bench.connection.execute("vacuum analyze")
            advance(1)
            for round_ in range(sizes.rounds):
                await _measure_round(bench, sizes, round_, rates, exactness)
                advance(1)
        version = bench.connection.info.parameter_status("server_version") or "unknown"
    return _report(sizes, rates, exactness, server_version=version.split()[0])


@asynccontextmanager
async def open_bench(answers: dict[str, list[Entry]]) -> AsyncGenerator[ChapterBench, None]:
    """Put the product and a site on a fresh database."""
    async with open_ground() as url, await connect(url, name="headgate bench") as connection:
        await connection.set_autocommit(True)
        await connection.execute(MAKE_TABLES.encode())
        clock = RealClock()
        database = Database(url, clock, name="headgate bench")
        await database.open()
        try:
            parts = build_parts(
                load_settings(),
                url,
                database,
                clock=clock,
                randomness=Randomness(1),
                connectors={"site": SiteConnector(answers)},
            )
            yield ChapterBench(url, connection, parts, answers)
            await parts.links.close()
        finally:
            await database.close()


async def _measure_round(
    bench: ChapterBench, sizes: ChapterSizes, round_: int, rates: ChapterRates, exactness: Exactness
) -> None:
    first = sizes.chapters + round_ * sizes.new + 1
    new = [
        (bench.channels[key], make_entry(n, number))
        for n, key in enumerate(bench.answers)
        for number in range(first, first + sizes.new)
    ]
    for n, entries in enumerate(bench.answers.values()):
        entries.extend(make_entry(n, number) for number in range(first, first + sizes.new))
    mark, told = await bench.mark(), await bench.count("select count(*) from notification")
    rates.ours.append(await bench.poll_all())
    exactness.rows_written += await bench.written_since(mark)
    # A chapter and its release each, and once a series its latest chapter.
    exactness.rows_changed += 2 * len(new) + sizes.series
    await bench.drain(["notify"])
    exactness.notifications += await bench.count("select count(*) from notification") - told
    exactness.expected_notifications += len(new)
    rates.floor.append(await measure_rows(bench.url, _rows(bench), connections=POLLS_AT_ONCE))
    rates.jobs.append(await bench.per_chapter(new))


def _rows(bench: ChapterBench) -> Rows:
    return [(bench.channels[key], entries) for key, entries in bench.answers.items()]


def _report(sizes: ChapterSizes, rates: ChapterRates, exactness: Exactness, *, server_version: str) -> Report:
    ours, floor, jobs = median(rates.ours), median(rates.floor), median(rates.jobs)
    values = {
        "chapters_per_s": round(ours, 1),
        "floor_rows_per_s": round(floor, 1),
        "ratio": round(ours / floor, 3),
        "per_chapter_job_per_s": round(jobs, 1),
        "times_per_chapter_job": round(ours / jobs, 1),
        "rows_written": exactness.rows_written,
        "rows_changed": exactness.rows_changed,
        "notifications": exactness.notifications,
        "expected_notifications": exactness.expected_notifications,
        "series": sizes.series,
        "chapters": sizes.chapters,
        "new_per_round": sizes.new * sizes.series,
        "rounds": sizes.rounds,
        "rate_of": "median of rounds",
        "server_version": server_version,
        "python": platform.python_version(),
    }
    lines = [
        rate_line("chapters looked at again", per_s=ours, floor_per_s=floor, least_ratio=MIN_RATIO),
        Figure(
            "beside a job for each chapter",
            f"{ours / jobs:,.0f} times",
            floor=f"{jobs:,.0f}/s",
            bound=f"≥ {MIN_TIMES:g} times",
            ok=ours / jobs >= MIN_TIMES,
        ),
        Figure(
            "rows written, notifications",
            f"{exactness.rows_written:,}, {exactness.notifications:,}",
            floor=f"{exactness.rows_changed:,}, {exactness.expected_notifications:,}",
            bound="exactly",
            ok=exactness.exact,
        ),
    ]
    title = f"Chapters on PostgreSQL {server_version}, Python {platform.python_version()}"
    note = (
        f"{sizes.series:,} series of {sizes.chapters} chapters, {sizes.new * sizes.series:,} of them new in a"
        f" round; the median of {sizes.rounds} rounds. The floor: one bare upsert a series and commit."
    )
    return Report("chapters", title, values, lines, [note])
