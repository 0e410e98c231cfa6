"""Feeds: first and unchanged polls through the real engine, beside the library `reader` on the same server.

Every feed has a host of its own on loopback, which is read by leave; all other settings are the defaults.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from time import perf_counter

from headgate.app.loops import run_tick
from headgate.app.parts import Parts, open_parts
from headgate.cli.output import progress_bar
from headgate.connectors.feeds import FeedBounds, FeedsConnector
from headgate.connectors.protocol import FoundChannel
from headgate.dev.bench.ground import open_ground
from headgate.dev.bench.listings.feed_reader import WORKERS, OtherReader, open_reader
from headgate.dev.bench.listings.feed_server import open_feeds
from headgate.dev.bench.measuring import Figure, Report, rate_line
from headgate.intake.listings.sources import ListingSources, NewSource
from headgate.kernel.clock import RealClock
from headgate.kernel.settings import load_settings

MIN_FIRST = 2.0
MIN_IDLE = 1.5
_LOOK_S = 0.05
_QUIET_LOOKS = 60
_JOBS = "select count(*) as count from pgqueuer where status in ('queued', 'picked')"
_LEFT = """
select (select count(*) from listing where polls < {polls:d})
     + (select count(*) from pgqueuer where status in ('queued', 'picked')
        and headgate_job_kind(headers, entrypoint) in ('poll', 'ingest', 'notify')) as count
"""


@dataclass(frozen=True)
class FeedSizes:
    """How much is measured."""

    feeds: int = 1_000
    entries: int = 30
    rounds: int = 3


@dataclass(frozen=True)
class _Measured:
    first_s: float
    reader_first_s: float
    idle_s: list[float]
    reader_idle_s: list[float]
    entries: int
    distinct: int
    reader_entries: int


async def measure_feeds(sizes: FeedSizes) -> Report:
    """Measure polls of feeds in a database made for it."""
    with progress_bar("Measuring feeds", total=2 + sizes.rounds) as advance:
        async with open_feeds(sizes.feeds, sizes.entries) as urls, open_reader(urls) as reader:
            advance(1)
            measured = await _measure(urls, reader, rounds=sizes.rounds, advance=advance)
    return _report(sizes, measured)


async def _measure(
    urls: list[str], reader: OtherReader, *, rounds: int, advance: Callable[[int], None]
) -> _Measured:
    """Measure both in turn, so that whatever else the machine does meets both alike.

    Neither is measured beside what the other leaves to the background (labels, search).
    """
    clock = RealClock()
    connectors = {"feeds": FeedsConnector(FeedBounds(allow_private=True), clock)}
    idle_s: list[float] = []
    reader_idle_s: list[float] = []
    with TemporaryDirectory(prefix="headgate-bench-") as folder:
        settings = load_settings({"HEADGATE_DATA_DIR": folder})
        async with (
            open_ground() as url,
            open_parts(settings, url, clock=clock, connectors=connectors, name="headgate bench") as parts,
        ):
            await _follow(parts, urls)
            async with _working(parts):
                first_s = await _wait(parts, polls=1)
                await _rest(parts)
                reader_first_s = await reader.update()
                advance(1)
                for n in range(rounds):
                    idle_s.append(await _poll_again(parts, polls=2 + n))
                    await _rest(parts)
                    reader_idle_s.append(await reader.update())
                    advance(1)
            entries = await _count(parts, "select count(*) from sighting")
            distinct = await _count(parts, "select count(distinct (channel_id, message_key)) from sighting")
    return _Measured(first_s, reader_first_s, idle_s, reader_idle_s, entries, distinct, await reader.count())


async def _follow(parts: Parts, urls: list[str]) -> None:
    sources = ListingSources(parts.links, parts.database, parts.clock, parts.ids)
    account = await sources.reader_of("feeds")
    async with parts.database.transaction() as tx:
        for url in urls:
            await sources.add_in(
                tx, account, NewSource(FoundChannel(url, url, "listing")), now=parts.clock.now()
            )


@asynccontextmanager
async def _working(parts: Parts) -> AsyncGenerator[None, None]:
    worker = parts.worker()
    running = asyncio.create_task(worker.run())
    ticking = asyncio.create_task(run_tick(parts))
    try:
        yield
    finally:
        ticking.cancel()
        await asyncio.gather(ticking, return_exceptions=True)
        await worker.stop()
        await running


async def _poll_again(parts: Parts, *, polls: int) -> float:
    """Make everything due, and wait until it was polled."""
    async with parts.database.transaction() as tx:
        await tx.raw(
            "update listing set due_at = $1, planned_at = $1, rest_until = null", [parts.clock.now()]
        )
    return await _wait(parts, polls=polls)


async def _wait(parts: Parts, *, polls: int) -> float:
    """Wait until every feed was polled so often, and no job is left of it."""
    began_s = perf_counter()
    while await _count(parts, _LEFT.format(polls=polls)):  # noqa: ASYNC110 - the database tells nobody
        await asyncio.sleep(_LOOK_S)
    return perf_counter() - began_s


async def _rest(parts: Parts) -> None:
    """Wait until nothing is left to do in the background, and the tick has found nothing more."""
    quiet = 0
    while quiet < _QUIET_LOOKS:
        await asyncio.sleep(_LOOK_S)
        quiet = 0 if await _count(parts, _JOBS) else quiet + 1


async def _count(parts: Parts, sql: str) -> int:
    async with parts.database.transaction() as tx:
        (row,) = await tx.raw(sql)
    return int(row["count"])


def _report(sizes: FeedSizes, measured: _Measured) -> Report:
    expected = sizes.feeds * sizes.entries
    exact = measured.entries == measured.distinct == measured.reader_entries == expected
    polls = sizes.feeds * sizes.rounds
    first_per_s, reader_first_per_s = sizes.feeds / measured.first_s, sizes.feeds / measured.reader_first_s
    idle_per_s, reader_idle_per_s = polls / sum(measured.idle_s), polls / sum(measured.reader_idle_s)
    values = {
        "first_per_s": round(first_per_s, 1),
        "idle_per_s": round(idle_per_s, 1),
        "reader_first_per_s": round(reader_first_per_s, 1),
        "reader_idle_per_s": round(reader_idle_per_s, 1),
        "first_ratio": round(first_per_s / reader_first_per_s, 2),
        "idle_ratio": round(idle_per_s / reader_idle_per_s, 2),
        "entries": measured.entries,
        "distinct_entries": measured.distinct,
        "expected_entries": expected,
        "feeds": sizes.feeds,
        "entries_per_feed": sizes.entries,
        "reader_workers": WORKERS,
        "python": platform.python_version(),
    }
    lines = [
        rate_line("first polls", per_s=first_per_s, floor_per_s=reader_first_per_s, least_ratio=MIN_FIRST),
        rate_line("unchanged polls", per_s=idle_per_s, floor_per_s=reader_idle_per_s, least_ratio=MIN_IDLE),
        Figure("entries", f"{measured.entries:,}", floor=f"{expected:,}", bound="exactly", ok=exact),
    ]
    title = f"{sizes.feeds:,} feeds of {sizes.entries} entries, a host each"
    note = f"The floor is the library `reader` with {WORKERS} workers on the same server."
    return Report("feeds", title, values, lines, [note])
