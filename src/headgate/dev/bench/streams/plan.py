"""What a look costs before its call for heads, and whether that grows with the number of streams.

Plan and floor take turns on one connection; medians count. The same streams are planned again and again, so
that few and many are compared with their pages in memory; and once those of every account, whose pages mostly
have to be fetched where there are many.
"""

from __future__ import annotations

import platform
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from time import perf_counter
from uuid import UUID

from headgate.cli.output import progress_bar
from headgate.dev.bench.ground import open_ground
from headgate.dev.bench.measuring import Figure, Report
from headgate.domain.streams.schedule_knobs import IntakeKnobs
from headgate.intake.channels.rules import RulesCache
from headgate.intake.streams.head_checks import AccountRows, Planner, fill_up
from headgate.jobs.tick import DUE_AT_ONCE
from headgate.kernel.clock import RealClock
from headgate.storage.database import Connection, Database, Tx, connect
from headgate.storage.queries import QueryFile
from headgate.storage.streams import streams

MAX_RATIO = 5.0
MAX_GROWTH = 2.0

FEW = 1_000
HEADS = 100
"""Streams of one call for heads, all of them due."""
PER_ACCOUNT = 10_000
AT_ONCE = 50_000
WARM_UPS = 20

Q = QueryFile(
    "bench plan",
    """
-- name: list_due_rows
select channel_id, due_at, wake_seq, woken, scanned_at, head, idle_scans, idle_at, head_checked_at, tier,
       tier_pinned, arrival_rate, rated_at, lenses
from stream where reader_id = %(account_id)s and due_at <= %(now)s order by due_at limit %(limit)s

-- name: list_accounts
select id from account order by id

-- name: get_due_time
select due_at from stream where reader_id = %(account_id)s order by due_at offset %(heads)s - 1 limit 1
""",
)

# Ids one after the other, as channels are followed; those that are due together lie apart.
PREPARE = """
create function bench_channel(n int) returns uuid immutable
return ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid;
create function bench_account(n int) returns uuid immutable
return ('00000000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid;
"""
FILLING = QueryFile(
    "bench plan filling",
    """
-- name: accounts
insert into account (id, platform, name, created_at)
select bench_account(n), 'simulated', 'reader ' || n, %(now)s
from generate_series(%(first)s::int / %(per_account)s, (%(last)s::int - 1) / %(per_account)s) as n
on conflict do nothing

-- name: channels
insert into channel (id, platform, key, kind, title, created_at)
select bench_channel(n), 'simulated', 'channel-' || n, 'stream', 'Channel ' || n, %(now)s
from generate_series(%(first)s::int, %(last)s::int - 1) as n

-- name: watches
insert into watch (channel_id, account_id, created_at)
select bench_channel(n), bench_account(n / %(per_account)s), %(now)s
from generate_series(%(first)s::int, %(last)s::int - 1) as n

-- name: streams
insert into stream (channel_id, reader_id, head, head_checked_at, lenses, due_at, planned_at, idle_scans,
                    idle_at, scanned_at, tier)
select bench_channel(n), bench_account(n / %(per_account)s), 1000, %(now)s, '{documents,photos}',
       %(now)s::timestamptz + make_interval(hours => 4, secs => mod(n * 7919::bigint, %(per_account)s)),
       %(now)s, 2, %(now)s, %(now)s, 'COLD'
from generate_series(%(first)s::int, %(last)s::int - 1) as n

-- name: coverage
insert into coverage (channel_id, lens, ranges)
select bench_channel(n), lens, case lens when 'everything' then '{}' else '{[0,1001)}' end::int8multirange
from generate_series(%(first)s::int, %(last)s::int - 1) as n,
     unnest(array['documents', 'everything', 'photos']) as lens
""",
)


@dataclass(frozen=True)
class PlanSizes:
    """How much is measured."""

    streams: int = 1_000_000
    plans: int = 400

    @property
    def steps(self) -> list[tuple[int, int]]:
        """The streams to be added at once, after the first few."""
        return [(first, min(first + AT_ONCE, self.streams)) for first in range(FEW, self.streams, AT_ONCE)]


@dataclass
class Times:
    """What was measured with one number of streams, in milliseconds each."""

    plan: list[float] = field(default_factory=list[float])
    floor: list[float] = field(default_factory=list[float])
    scattered_plan: list[float] = field(default_factory=list[float])
    scattered_floor: list[float] = field(default_factory=list[float])
    tick: list[float] = field(default_factory=list[float])


@dataclass
class PlanBench:
    """A database whose streams become more and more."""

    connection: Connection
    database: Database
    started_at: datetime
    rules: RulesCache

    async def add(self, first: int, last: int) -> None:
        """Add idle streams, which have all been read and are due in some hours."""
        for query in FILLING:
            await self.connection.execute(
                query.sql,
                {"first": first, "last": last, "per_account": PER_ACCOUNT, "now": self.started_at},
            )

    async def measure(self, *, plans: int) -> Times:
        """Measure plan, floor and tick in turns, at the moment when the first of all streams are due."""
        await self.connection.execute("vacuum analyze")
        times = Times()
        async with self.database.transaction() as tx:
            accounts: list[UUID] = await tx.column(Q["list_accounts"])
            now = await tx.value(Q["get_due_time"], account_id=accounts[0], heads=HEADS)
            for _ in range(WARM_UPS):
                await self._plan(tx, accounts[0], now)
                await self._list_bare(tx, accounts[0], now)
            # Whoever came second would find the pages that the first one fetched.
            for number, account_id in enumerate(accounts):
                if number % 2:
                    times.scattered_plan.append(await _time_ms(self._plan, tx, account_id, now))
                else:
                    times.scattered_floor.append(await _time_ms(self._list_bare, tx, account_id, now))
            for _ in range(plans):
                times.floor.append(await _time_ms(self._list_bare, tx, accounts[0], now))
                times.plan.append(await _time_ms(self._plan, tx, accounts[0], now))
                times.tick.append(await _time_ms(self._list_accounts, tx, accounts[0], now))
        return times

    async def _plan(self, tx: Tx, account_id: UUID, now: datetime) -> None:
        """Do what a look does until it knows whose heads to ask for."""
        listed = await streams.list_next_streams(tx, account_id, now=now, limit=HEADS)
        rules = await self.rules.get_many(tx, [stream.channel_id for stream in listed])
        planner = Planner(rules, live=False, now=now)
        first = {stream.channel_id: planner.decide(stream) for stream in listed if stream.due}
        asked = fill_up(listed, first, now=now, most=HEADS)
        if len(asked) != HEADS:
            raise RuntimeError(f"of {HEADS} due streams {len(asked)} are asked for")

    async def _list_bare(self, tx: Tx, account_id: UUID, now: datetime) -> None:
        cursor = await tx.connection.execute(
            Q["list_due_rows"].sql, {"account_id": account_id, "now": now, "limit": HEADS}
        )
        if len(await cursor.fetchall()) != HEADS:
            raise RuntimeError("other streams are due than were planned")

    async def _list_accounts(self, tx: Tx, _account_id: UUID, now: datetime) -> None:
        await AccountRows().list_due(tx, now=now, limit=DUE_AT_ONCE)


async def _time_ms(
    work: Callable[[Tx, UUID, datetime], Awaitable[None]], tx: Tx, account_id: UUID, now: datetime
) -> float:
    began_s = perf_counter()
    await work(tx, account_id, now)
    return (perf_counter() - began_s) * 1000


async def measure_plan(sizes: PlanSizes) -> Report:
    """Measure planning with few and with many streams, in a database made for it."""
    clock = RealClock()
    with progress_bar("Measuring plans", total=len(sizes.steps) + 2) as advance:
        async with open_ground() as url, await connect(url, name="headgate bench") as connection:
            database = Database(url, clock, name="headgate bench")
            await database.open()
            try:
                await connection.execute(PREPARE)
                bench = PlanBench(connection, database, clock.now(), RulesCache(IntakeKnobs(), clock))
                await bench.add(0, FEW)
                few = await bench.measure(plans=sizes.plans)
                advance(1)
                for first, last in sizes.steps:
                    await bench.add(first, last)
                    advance(1)
                many = await bench.measure(plans=sizes.plans)
                advance(1)
            finally:
                await database.close()
            version = connection.info.parameter_status("server_version") or "unknown"
    return _report(sizes, few, many, server_version=version.split()[0])


def _report(sizes: PlanSizes, few: Times, many: Times, *, server_version: str) -> Report:
    plan_ms, floor_ms, few_ms = median(many.plan), median(many.floor), median(few.plan)
    tick_ms, few_tick_ms = median(many.tick), median(few.tick)
    ratio, growth = plan_ms / floor_ms, plan_ms / few_ms
    values = {
        "plan_ms": round(plan_ms, 3),
        "floor_ms": round(floor_ms, 3),
        "ratio": round(ratio, 2),
        "plan_ms_few": round(few_ms, 3),
        "floor_ms_few": round(median(few.floor), 3),
        "growth": round(growth, 2),
        "scattered_plan_ms": _median_or_none(many.scattered_plan),
        "scattered_floor_ms": _median_or_none(many.scattered_floor),
        "tick_ms": round(tick_ms, 3),
        "tick_ms_few": round(few_tick_ms, 3),
        "streams": sizes.streams,
        "streams_few": FEW,
        "heads": HEADS,
        "accounts": (sizes.streams - 1) // PER_ACCOUNT + 1,
        "plans": sizes.plans,
        "time_of": "median of plans",
        "server_version": server_version,
        "python": platform.python_version(),
    }
    lines = [
        Figure(
            f"plan of {HEADS} streams",
            f"{plan_ms:.2f} ms",
            floor=f"{floor_ms:.2f} ms",
            ratio=ratio,
            bound=f"ratio ≤ {MAX_RATIO:g}",
            ok=ratio <= MAX_RATIO,
        ),
        Figure(
            f"against {FEW:,} streams",
            f"{plan_ms:.2f} ms",
            floor=f"{few_ms:.2f} ms",
            ratio=growth,
            bound=f"ratio < {MAX_GROWTH:g}",
            ok=growth < MAX_GROWTH,
        ),
        Figure("accounts for the tick", f"{tick_ms:.2f} ms", floor=f"{few_tick_ms:.2f} ms"),
    ]
    title = f"Planning among {sizes.streams:,} streams on PostgreSQL {server_version}"
    note = (
        f"Medians of {sizes.plans} plans of {HEADS} due streams. The floor is the bare index query for the"
        " same rows on the same connection."
    )
    return Report("plan", title, values, lines, [note])


def _median_or_none(times_ms: list[float]) -> float | None:
    """Return nothing where there were too few accounts to measure it."""
    return round(median(times_ms), 3) if times_ms else None
