"""Feeds: first and unchanged polls through the real engine, beside the library `reader` on the same server.

Every feed has a host of its own on loopback, which is read by leave; all other settings are the defaults.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import perf_counter

from headgate.app.loops import run_tick
from headgate.app.parts import Parts, open_parts
from headgate.cli.bench.feed_reader import WORKERS, ReaderRates, measure_reader
from headgate.cli.bench.feed_server import open_feeds
from headgate.cli.bench.ground import open_ground
from headgate.cli.bench.measuring import Line, Report, rate_line
from headgate.cli.output import progress_bar
from headgate.connectors.feeds import FeedBounds, FeedsConnector
from headgate.connectors.protocol import FoundChannel
from headgate.intake.listing_sources import ListingSources, NewSource
from headgate.kernel.clock import RealClock
from headgate.kernel.settings import load_settings

LEAST_FIRST = 2.0
LEAST_IDLE = 1.5
_LOOK_S = 0.02


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    feeds: int = 1_000
    entries: int = 30
    rounds: int = 2


@dataclass(frozen=True)
class _Ours:
    first_per_s: float
    idle_per_s: float
    entries: int
    distinct: int


async def measure_feeds(sizes: Sizes) -> Report:
    """Measure polls of feeds in a database made for it."""
    with progress_bar("Measuring feeds", total=3) as advance:
        async with open_feeds(sizes.feeds, sizes.entries) as urls:
            advance(1)
            ours = await _measure_ours(urls, sizes)
            advance(1)
            theirs = await measure_reader(urls, rounds=sizes.rounds)
            advance(1)
    return _report(sizes, ours, theirs)


async def _measure_ours(urls: list[str], sizes: Sizes) -> _Ours:
    settings, clock = load_settings(), RealClock()
    connectors = {"feeds": FeedsConnector(FeedBounds(allow_private=True), clock)}
    async with (
        open_ground() as url,
        open_parts(settings, url, clock=clock, connectors=connectors, name="headgate bench") as parts,
    ):
        await _follow(parts, urls)
        async with _working(parts):
            first_s = await _wait(parts, polls=1)
            idle_s = [await _poll_again(parts, polls=2 + n) for n in range(sizes.rounds)]
        entries = await _count(parts, "select count(*) from sighting")
        distinct = await _count(parts, "select count(distinct (channel_id, message_key)) from sighting")
    return _Ours(len(urls) / first_s, len(urls) / min(idle_s), entries, distinct)


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
    began_s = perf_counter()
    while await _count(parts, f"select count(*) from listing where polls < {polls:d}"):  # noqa: ASYNC110, S608 - a number of ours
        await asyncio.sleep(_LOOK_S)
    return perf_counter() - began_s


async def _count(parts: Parts, sql: str) -> int:
    async with parts.database.transaction() as tx:
        (row,) = await tx.raw(sql)
    return int(row["count"])


def _report(sizes: Sizes, ours: _Ours, theirs: ReaderRates) -> Report:
    expected = sizes.feeds * sizes.entries
    exact = ours.entries == ours.distinct == theirs.entries == expected
    values = {
        "first_per_s": round(ours.first_per_s, 1),
        "idle_per_s": round(ours.idle_per_s, 1),
        "reader_first_per_s": round(theirs.first_per_s, 1),
        "reader_idle_per_s": round(theirs.idle_per_s, 1),
        "first_ratio": round(ours.first_per_s / theirs.first_per_s, 2),
        "idle_ratio": round(ours.idle_per_s / theirs.idle_per_s, 2),
        "entries": ours.entries,
        "distinct_entries": ours.distinct,
        "expected_entries": expected,
        "feeds": sizes.feeds,
        "entries_per_feed": sizes.entries,
        "reader_workers": WORKERS,
        "python": platform.python_version(),
    }
    lines = [
        rate_line(
            "first polls", per_s=ours.first_per_s, floor_per_s=theirs.first_per_s, least_ratio=LEAST_FIRST
        ),
        rate_line(
            "unchanged polls", per_s=ours.idle_per_s, floor_per_s=theirs.idle_per_s, least_ratio=LEAST_IDLE
        ),
        Line("entries", f"{ours.entries:,}", floor=f"{expected:,}", bound="exactly", ok=exact),
    ]
    title = f"{sizes.feeds:,} feeds of {sizes.entries} entries, a host each"
    note = f"The floor is the library `reader` with {WORKERS} workers on the same server."
    return Report("feeds", title, values, lines, [note])
