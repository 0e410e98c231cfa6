"""The shelf of a large library: pages and filters beside the bare query, and the rate of ingest into it.

Ours and the floor take turns on one connection, so that whatever else the machine does falls on both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

from headgate.catalogue.shelf.listing import count_shelf, list_shelf
from headgate.catalogue.shelf.members import list_members
from headgate.cli.output import progress_bar
from headgate.dev.bench.followed import READER, SEED, open_product, unpaced_profile
from headgate.dev.bench.ground import open_ground
from headgate.dev.bench.library.filter_cases import CASES, FilterCase
from headgate.dev.bench.library.library_load import load_library
from headgate.dev.bench.library.library_plan import LibraryPlan
from headgate.dev.bench.library.search_cases import measure_search
from headgate.dev.bench.library.search_plan import load_search, search_cases
from headgate.dev.bench.library.shelf_report import FEW_MATCHES, CaseTimes, ShelfTimes, report_shelf
from headgate.dev.bench.measuring import Report
from headgate.dev.bench.streams.ingest import IngestBench
from headgate.domain.library.shelf_filters import ShelfView
from headgate.kernel.clock import RealClock
from headgate.storage.database import Tx, connect
from headgate.storage.queries import QueryFile
from headgate.storage.shelf.rows import STARTS, ShelfCursor, ShelfSearch, count_matching
from headgate.testing import World

PAGE = 50
PLACES = 20
"""Places deep in the library from which pages are read."""
WARM_UPS = 3
OFFSETS = 2
MAX_COUNT_MS = 50_000
EVERYTHING = ShelfView()
HISTORY_H = 24 * 30.0
CLEAR = "truncate message, sighting, item, item_group, shelf, shelf_facet, shelf_queue cascade"

Q = QueryFile(
    "bench shelf",
    """
-- name: read_page
select id, group_id, item_id, name, name_key, kind, type, size_bytes, file_count, member_count, content_count,
       tags, creators, channel_ids, cover_item_id, state, problem, sort_at
from shelf where (sort_at, id) < (%(key)s, %(id)s) order by sort_at desc, id desc limit %(limit)s

-- name: pick_place
select sort_at as key, id from shelf order by sort_at desc, id desc offset %(skip)s limit 1

-- name: count_shelf
select count(*) from shelf

-- name: read_offset_page
select coalesce(i.group_id, i.id) as shown, max(i.caught_at) as sort_date, i.group_id is not null as is_group
from item i left join item_group g on g.id = i.group_id
where not i.hidden
group by coalesce(i.group_id, i.id), i.group_id is not null
order by sort_date desc limit %(limit)s offset %(skip)s
""",
)


@dataclass(frozen=True)
class ShelfSizes:
    """How much is measured."""

    items: int = 1_000_000
    rounds: int = 40
    messages: int = 3_000
    """Taken in for a rate."""
    ingest_rounds: int = 3


@dataclass
class ShelfBench:
    """A loaded library, and a transaction that reads it again and again."""

    tx: Tx
    rounds: int
    times: ShelfTimes = field(default_factory=ShelfTimes)

    async def measure(self) -> ShelfTimes:
        """Measure pages, members and filters in turns with the bare query."""
        places = await self._pick_places()
        listed = await list_shelf(self.tx, EVERYTHING, limit=PAGE)
        rows = [row.id for row in listed.rows if row.member_count > 1]
        for number in range(-WARM_UPS, self.rounds):
            times = self.times if number >= 0 else ShelfTimes()
            deep = places[number % len(places)]
            times.floor.append(await _time_ms(self._read_bare(STARTS["newest"])))
            times.first.append(await _time_ms(self._list(EVERYTHING)))
            times.floor.append(await _time_ms(self._read_bare(deep)))
            times.deep.append(await _time_ms(self._list(EVERYTHING, after=deep)))
            times.members.append(await _time_ms(lambda: list_members(self.tx, rows)))
            for case in CASES:
                of_case = times.cases.setdefault(case.name, CaseTimes(case))
                of_case.ms.append(await _time_ms(self._list(case.view)))
        await self._count(CASES)
        self.times.rows = await self.tx.value(Q["count_shelf"])
        for _ in range(OFFSETS):
            self.times.offset.append(await _time_ms(self._read_offset))
        return self.times

    async def _pick_places(self) -> list[ShelfCursor]:
        choose = Random(SEED)  # noqa: S311 - not a secret
        total: int = await self.tx.value(Q["count_shelf"])
        skips = [choose.randrange(total // 2, max(total - PAGE, total // 2 + 1)) for _ in range(PLACES)]
        return [ShelfCursor(*await self.tx.row(Q["pick_place"], skip=skip)) for skip in skips]

    async def _count(self, cases: tuple[FilterCase, ...]) -> None:
        for case in cases:
            began_s = perf_counter()
            await count_shelf(self.tx, case.view.filters)
            self.times.count.append((perf_counter() - began_s) * 1000)
            search = ShelfSearch.of(case.view.filters)
            found = await count_matching(self.tx, search, cap=FEW_MATCHES, limit_ms=MAX_COUNT_MS)
            self.times.cases[case.name].matches = found if found is not None and found < FEW_MATCHES else None

    def _list(self, view: ShelfView, after: ShelfCursor | None = None) -> Callable[[], Awaitable[Any]]:
        return lambda: list_shelf(self.tx, view, after=after, limit=PAGE)

    def _read_bare(self, beyond: ShelfCursor) -> Callable[[], Awaitable[Any]]:
        async def read() -> None:
            wanted = {"limit": PAGE + 1, **beyond._asdict()}
            await (await self.tx.connection.execute(Q["read_page"].sql, wanted)).fetchall()

        return read

    async def _read_offset(self) -> None:
        skip = self.times.rows // 2
        await (
            await self.tx.connection.execute(Q["read_offset_page"].sql, {"limit": PAGE, "skip": skip})
        ).fetchall()


async def measure_shelf(sizes: ShelfSizes) -> Report:
    """Load a library and measure it, in a database made for it."""
    clock, world = RealClock(), _build_world(sizes)
    with progress_bar("Measuring the shelf", total=sizes.items) as advance:
        async with (
            open_ground() as url,
            await connect(url, name="headgate bench") as connection,
            open_product(url, clock, world) as product,
        ):
            ingest = IngestBench(url, connection, product, world, await product.follow())
            empty = await _measure_ingest(ingest, sizes, clear=True)
            began_s = perf_counter()
            await load_library(connection, LibraryPlan(sizes.items), advance)
            documents = await load_search(connection, sizes.items)
            load_s = perf_counter() - began_s
            async with product.database.transaction() as tx:
                times = await ShelfBench(tx, sizes.rounds).measure()
            times.documents, times.search = (
                documents,
                await measure_search(
                    product.database,
                    search_cases(sizes.items),
                    clock=clock,
                    timer=perf_counter,
                    rounds=sizes.rounds,
                ),
            )
            full = await _measure_ingest(ingest, sizes, clear=False)
            version = connection.info.parameter_status("server_version") or "unknown"
    times.empty_per_s, times.full_per_s, times.load_s = empty, full, load_s
    return report_shelf(times, items=sizes.items, rounds=sizes.rounds, server_version=version.split()[0])


async def _measure_ingest(bench: IngestBench, sizes: ShelfSizes, *, clear: bool) -> float:
    """Return how many messages a second become items with their rows, as a scan takes them in."""
    channel_ids = await bench.product.channel_ids()
    rates: list[float] = []
    for number in range(sizes.ingest_rounds):
        if clear:
            await bench.connection.execute(CLEAR)
        key = _stream_of(number)
        rates.append(await bench.take_in(channel_ids[key], bench.world.messages(key)))
    if clear:
        await bench.connection.execute(CLEAR)
    return median(rates)


def _build_world(sizes: ShelfSizes) -> World:
    world = World(SEED, RealClock(), unpaced_profile())
    world.add_account(READER)
    for number in range(sizes.ingest_rounds):
        world.add_stream(_stream_of(number))
        world.fill(_stream_of(number), sizes.messages, shape="archive", hours=HISTORY_H)
    return world


def _stream_of(round_number: int) -> str:
    return f"arrivals-{round_number}"


async def _time_ms(work: Callable[[], Awaitable[Any]]) -> float:
    began_s = perf_counter()
    await work()
    return (perf_counter() - began_s) * 1000
