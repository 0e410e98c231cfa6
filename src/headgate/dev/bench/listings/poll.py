"""Polling: the calls of a beat on a site that tells its news at once, whatever the number of its series.

The site is simulated and time is virtual. A beat is five minutes; some series get a new chapter in each.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from headgate.cli.output import progress_bar
from headgate.connectors.protocol import FoundChannel
from headgate.dev.bench.followed import PLATFORM, READER, BenchProduct, open_product, unpaced_profile
from headgate.dev.bench.ground import open_ground
from headgate.dev.bench.measuring import Figure, Report
from headgate.domain.listings.listings import Entry
from headgate.intake.listings.sources import ListingSources, NewSource
from headgate.lanes.links import AccountRef
from headgate.storage.channels.channels import upsert_account
from headgate.testing import VirtualClock, World

MAX_CALLS = 10
BEAT_S = 300.0
BEATS = 12
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class PollSizes:
    """How much is measured."""

    series: int = 10_000
    changed: int = 20


async def measure_poll(sizes: PollSizes) -> Report:
    """Count the calls that it takes to hear of new chapters."""
    clock = VirtualClock(START)
    world = World(1, clock, unpaced_profile().but(sweeps=True), keep_calls=0)
    world.add_account(READER)
    keys = [f"series-{n:05}" for n in range(sizes.series)]
    for key in keys:
        world.add_listing(key)
        _publish(world, key, 1)
    async with open_ground() as url, open_product(url, clock, world) as product:
        with progress_bar("Polling", total=BEATS + 2) as advance:
            await _follow(product, keys)
            advance(1)
            await product.work()
            advance(1)
            first_calls = world.log.counts.total()
            await _spread(product)
            calls: list[int] = []
            for beat in range(BEATS):
                for n in range(sizes.changed):
                    _publish(world, keys[(beat * sizes.changed + n) * 7 % sizes.series], beat + 2)
                before = world.log.counts.total()
                clock.advance(BEAT_S * 1.15)
                await product.work()
                calls.append(world.log.counts.total() - before)
                advance(1)
            async with product.database.transaction() as tx:
                (row,) = await tx.raw("select count(*) as chapters from chapter")
    return _report(sizes, calls, first_calls=first_calls, found=int(row["chapters"]) - sizes.series)


def _publish(world: World, listing: str, number: int) -> None:
    entry = Entry(
        key=f"{listing}-{number}",
        title=f"Chapter {number}",
        url=f"https://example.org/{listing}/{number}",
        published_at=world.clock.now(),
        number=str(number),
    )
    world.publish(listing, entry)


async def _follow(product: BenchProduct, keys: list[str]) -> None:
    parts = product.parts
    sources = ListingSources(parts.links, parts.database, parts.clock, parts.ids)
    now = parts.clock.now()
    async with parts.database.transaction() as tx:
        account_id = await upsert_account(
            tx, parts.ids.new(), platform=PLATFORM, name=READER, established=True, now=now
        )
        account = AccountRef(account_id, PLATFORM, READER, established=True)
        for key in keys:
            found = FoundChannel(key, key, "listing", is_series=True)
            await sources.add_in(tx, account, NewSource(found), now=now)


async def _spread(product: BenchProduct) -> None:
    """Let the looks of the safety net be due as they are on an ordinary day, not all after a week."""
    async with product.database.transaction() as tx:
        await tx.raw(
            "update listing l set due_at = $1::timestamptz + make_interval(secs => $2 * s.share)"
            " from (select channel_id, row_number() over (order by channel_id)::float8 / count(*) over ()"
            " as share from listing) as s where l.channel_id = s.channel_id",
            [product.parts.clock.now(), product.parts.settings.series.net_s],
        )


def _report(sizes: PollSizes, calls: list[int], *, first_calls: int, found: int) -> Report:
    most, published = max(calls), sizes.changed * BEATS
    values = {
        "calls_per_beat": most,
        "calls_by_beat": calls,
        "one_by_one_per_beat": sizes.series,
        "chapters_found": found,
        "chapters_published": published,
        "first_calls": first_calls,
        "series": sizes.series,
        "changed": sizes.changed,
        "beats": BEATS,
    }
    lines = [
        Figure(
            "calls of a beat, at most",
            f"{most}",
            floor=f"{sizes.series:,} one by one",
            bound=f"≤ {MAX_CALLS}",
            ok=most <= MAX_CALLS,
        ),
        Figure(
            "new chapters found",
            f"{found:,}",
            floor=f"{published:,} published",
            bound="all",
            ok=found == published,
        ),
    ]
    title = f"Calls for {sizes.series:,} series of which {sizes.changed} change in each beat"
    note = (
        f"A beat is {BEAT_S / 60:g} minutes; the first looks at all series took {first_calls:,} calls, once."
    )
    return Report("poll", title, values, lines, [note])
