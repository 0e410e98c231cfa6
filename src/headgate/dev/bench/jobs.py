"""The engine under our layer: how fast it drains, completes with effects, and picks up.

Ours and its floor take turns, so that whatever else the machine does falls on both; the median of the rounds
counts, for both.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter

from headgate.cli.output import progress_bar
from headgate.dev.bench.floors import measure_commit_floor, measure_drain_floor
from headgate.dev.bench.ground import open_ground
from headgate.dev.bench.measuring import Report, delay_line, percentile, rate_line
from headgate.jobs.execution import Execution
from headgate.jobs.job import Job
from headgate.jobs.kinds import Handler, Kind, Kinds, Wake
from headgate.jobs.wake import enqueue
from headgate.jobs.worker import Worker, build_worker
from headgate.kernel.clock import RealClock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import JobsSettings
from headgate.storage.database import Connection, Database, Statement, connect
from headgate.storage.queries import QueryFile

CONCURRENCY = 200
CONNECTIONS = 8
MIN_RATIO = 0.25
MIN_FENCED_RATIO = 0.5
MAX_PICKUP_MS = 25.0

WARM_UPS = 10
LOOK_S = 0.002
ENQUEUE_AT_ONCE = 5_000
KIND = "bench"

Q = QueryFile(
    "bench",
    """
-- name: insert_effect
insert into bench_effect (key) select unnest(%(key)s::text[])
""",
)


@dataclass(frozen=True)
class JobSizes:
    """How much is measured."""

    jobs: int = 20_000
    rounds: int = 3
    pickups: int = 200

    @property
    def fenced(self) -> int:
        return self.jobs // 2

    @property
    def interactive(self) -> int:
        return self.jobs // 8


@dataclass
class JobRates:
    """What the rounds gave, a second."""

    drain: list[float] = field(default_factory=list[float])
    floor: list[float] = field(default_factory=list[float])
    fenced: list[float] = field(default_factory=list[float])
    fenced_tx: list[float] = field(default_factory=list[float])
    floor_tx: list[float] = field(default_factory=list[float])


@dataclass
class JobBench:
    """A database to measure on."""

    url: str
    connection: Connection
    database: Database
    clock: RealClock = field(default_factory=RealClock)
    randomness: Randomness = field(default_factory=lambda: Randomness(1))

    async def drain(self, handle: Handler[str], *, count: int) -> float:
        """Return jobs a second from the start of a worker until none of them is queued or running."""
        await self._fill(count)
        ended = Countdown(count)

        async def counted(job: Job[str]) -> None:
            await handle(job)
            ended.step()

        began_s = perf_counter()
        async with self._worker(counted):
            await ended.event.wait()
            while await self._has_open_jobs():  # noqa: ASYNC110 - the last flush is the engine's own
                await asyncio.sleep(LOOK_S)
            return count / (perf_counter() - began_s)

    async def pickups_ms(self, *, count: int) -> list[float]:
        """Return how long each of some jobs waited for an idle worker, from the sending of its commit."""
        await self._clear()
        started = asyncio.Event()
        delays_ms: list[float] = []
        committed_s = 0.0

        async def note(_job: Job[str]) -> None:
            delays_ms.append((perf_counter() - committed_s) * 1000)
            started.set()

        async with self._worker(note):
            for number in range(WARM_UPS + count):
                await asyncio.sleep(self.randomness.uniform(0.005, 0.04))
                started.clear()
                async with self.database.transaction() as tx:
                    await enqueue(tx, [Wake(KIND, str(number))])
                    committed_s = perf_counter()
                await started.wait()
        return delays_ms[WARM_UPS:]

    async def _fill(self, count: int) -> None:
        await self._clear()
        for first in range(0, count, ENQUEUE_AT_ONCE):
            wakes = [Wake(KIND, str(number)) for number in range(first, min(first + ENQUEUE_AT_ONCE, count))]
            async with self.database.transaction() as tx:
                await enqueue(tx, wakes)
        await self.connection.execute("vacuum analyze pgqueuer")

    async def _clear(self) -> None:
        await self.connection.execute("truncate pgqueuer, pgqueuer_log, bench_effect")

    async def _has_open_jobs(self) -> bool:
        cursor = await self.connection.execute(
            "select exists (select from pgqueuer where status in ('queued', 'picked'))"
        )
        row = await cursor.fetchone()
        return row is not None and row[0]

    @asynccontextmanager
    async def _worker(self, handle: Handler[str]) -> AsyncGenerator[Worker, None]:
        execution = Execution(
            kinds=Kinds([Kind(KIND, str, handle)]),
            database=self.database,
            clock=self.clock,
            randomness=self.randomness,
            ids=Ids(self.clock, self.randomness),
        )
        worker = build_worker(self.url, execution, JobsSettings(fast_concurrency=CONCURRENCY))
        running = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            await worker.stop()
            await running


class Countdown:
    """An event that is set by the last of so many steps."""

    def __init__(self, steps: int) -> None:
        self._left = steps
        self.event = asyncio.Event()

    def step(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.event.set()


async def do_nothing(_job: Job[str]) -> None:
    return


async def finish_in_group(job: Job[str]) -> None:
    """End with one effect, as a handler does that needs no answers."""
    await job.finish_with(_effect(job.key))


async def finish_interactively(job: Job[str]) -> None:
    """End with one effect in a transaction of its own, as a handler does that reads in it."""
    async with job.finish() as tx:
        await tx.run(_effect(job.key))


def _effect(key: str) -> Statement:
    return Statement(Q["insert_effect"], {"key": key})


async def measure_jobs(sizes: JobSizes) -> Report:
    """Measure everything about jobs in a database made for it."""
    async with open_ground() as url, await connect(url, name="headgate bench") as connection:
        await connection.execute("create table bench_effect (key text not null)")
        database = Database(url, RealClock(), size=CONNECTIONS, name="headgate bench")
        await database.open()
        try:
            bench = JobBench(url, connection, database)
            rates, delays_ms = await _measure_all(bench, sizes)
        finally:
            await database.close()
        version = connection.info.parameter_status("server_version") or "unknown"
    return _report(sizes, rates, delays_ms, server_version=version.split()[0])


async def _measure_all(bench: JobBench, sizes: JobSizes) -> tuple[JobRates, list[float]]:
    rates = JobRates()
    with progress_bar("Measuring jobs", total=sizes.rounds * 5 + 1) as advance:
        for _ in range(sizes.rounds):
            await _measure_round(bench, sizes, rates, lambda: advance(1))
        delays_ms = await bench.pickups_ms(count=sizes.pickups)
        advance(1)
    return rates, delays_ms


async def _measure_round(bench: JobBench, sizes: JobSizes, rates: JobRates, step: Callable[[], None]) -> None:
    rates.floor.append(await asyncio.to_thread(measure_drain_floor, bench.url, count=sizes.jobs))
    step()
    rates.drain.append(await bench.drain(do_nothing, count=sizes.jobs))
    step()
    rates.floor_tx.append(await measure_commit_floor(bench.url, count=sizes.fenced, connections=CONNECTIONS))
    step()
    rates.fenced.append(await bench.drain(finish_in_group, count=sizes.fenced))
    step()
    rates.fenced_tx.append(await bench.drain(finish_interactively, count=sizes.interactive))
    step()


def _report(sizes: JobSizes, rates: JobRates, delays_ms: list[float], *, server_version: str) -> Report:
    drain, floor = median(rates.drain), median(rates.floor)
    fenced, fenced_tx, floor_tx = median(rates.fenced), median(rates.fenced_tx), median(rates.floor_tx)
    p50_ms, p99_ms = percentile(delays_ms, 0.5), percentile(delays_ms, 0.99)
    values = {
        "drain_per_s": round(drain, 1),
        "floor_per_s": round(floor, 1),
        "ratio": round(drain / floor, 3),
        "fenced_per_s": round(fenced, 1),
        "fenced_tx_per_s": round(fenced_tx, 1),
        "floor_tx_per_s": round(floor_tx, 1),
        "fenced_ratio": round(fenced / floor_tx, 3),
        "fenced_tx_ratio": round(fenced_tx / floor_tx, 3),
        "pickup_ms_p50": round(p50_ms, 2),
        "pickup_ms_p99": round(p99_ms, 2),
        "jobs": sizes.jobs,
        "rounds": sizes.rounds,
        "pickups": sizes.pickups,
        "concurrency": CONCURRENCY,
        "connections": CONNECTIONS,
        "rate_of": "median of rounds",
        "server_version": server_version,
        "python": platform.python_version(),
    }
    lines = [
        rate_line("drain", per_s=drain, floor_per_s=floor, least_ratio=MIN_RATIO),
        rate_line("effect, group commit", per_s=fenced, floor_per_s=floor_tx, least_ratio=MIN_FENCED_RATIO),
        rate_line("effect, own transaction", per_s=fenced_tx, floor_per_s=floor_tx),
        delay_line("pickup, median", delay_ms=p50_ms, most_ms=MAX_PICKUP_MS),
        delay_line("pickup, 99 of 100", delay_ms=p99_ms),
    ]
    title = f"Jobs on PostgreSQL {server_version}, Python {platform.python_version()}"
    note = f"Rates are the median of {sizes.rounds} rounds; {sizes.jobs:,} jobs, {CONCURRENCY} at once."
    floor_note = (
        "Group commit: jobs that end together share one commit (`finish_with`). Own transaction: one for each"
        f" job (`finish`). The floor of both: plain inserts, a commit for each, {CONNECTIONS} connections."
    )
    return Report("jobs", title, values, lines, [note, floor_note])
