"""A flood of live messages while the platform refuses every reading: coverage stays small, cost stays flat.

Cost is counted, never timed: statements, rows that were read and written, and blocks that were looked at.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from bench import START, Bench

from headgate.app.parts import build_parts
from headgate.domain.streams.messages import Attachment, LiveEvent, Message, Span
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import load_settings
from headgate.storage.database import Database, Tx
from headgate.testing import PRESETS, SimulatedConnector, VirtualClock, World
from headgate.testing.platform.faults import FaultRates

pytestmark = pytest.mark.once

MESSAGES = 100_000
BATCH = 1_000
MEASURED = 10_000
PER_CONNECTION = 2_500
"""The connection ends so often, and the message that came meanwhile is not heard of."""
FILE_EVERY = 20


@dataclass(frozen=True)
class Cost:
    """What the database did."""

    statements: int
    rows: int
    blocks: int

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.statements - other.statements, self.rows - other.rows, self.blocks - other.blocks)


@pytest.fixture(params=["plain", "telegram_like"], ids=["proof", "hint"])
async def bench(request: pytest.FixtureRequest, database_url: str, tmp_path: Path) -> AsyncIterator[Bench]:
    clock = VirtualClock(START)
    # One connection: its counters are complete as soon as it has written them.
    database = Database(database_url, clock, size=1)
    await database.open()
    world = World(1, clock, PRESETS[request.param])
    world.add_account("reader")
    world.add_stream("packs", title="Packs")
    parts = build_parts(
        load_settings({"HEADGATE_DATA_DIR": str(tmp_path)}),
        database_url,
        database,
        clock=clock,
        randomness=Randomness(1),
        connectors={"simulated": SimulatedConnector(world)},
    )
    bench = Bench(database, database_url, clock, world, parts)
    await bench.follow()
    await _leave_maintenance_to_the_test(bench)
    yield bench
    if bench.claimer is not None:
        await bench.claimer.connection.close()
    await database.close()


@pytest.mark.long
async def test_a_flood_wait_keeps_coverage_small_and_the_cost_of_a_message_flat(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.world.faults.resume(FaultRates(flood=1.0))
    statements = _count_statements(monkeypatch)
    live = await bench.live()
    costs: list[Cost] = []
    events = _events(proof=live.manifest.live == "proof")
    for number in range(MESSAGES // BATCH):
        if number * BATCH == MEASURED:
            # The server would do so by itself, within a minute of such a burst.
            await (await bench.stepper()).connection.execute("analyze")
        if number * BATCH % MEASURED == 0:
            costs.append(await _cost(bench, statements))
        for _ in range(BATCH):
            live.take(next(events))
        assert await live.flush() == BATCH
        await bench.pass_time(60)
        await bench.work()
    costs.append(await _cost(bench, statements))

    calls = list(bench.world.log.calls("read"))
    assert all(call.outcome == "SimFlood" for call in calls)
    assert await _ranges(bench) < 500
    spent = [after - before for before, after in pairwise(costs)]
    # The first batches find empty tables and plans yet to be made; they are no measure.
    early, late = spent[1], spent[-1]
    assert late.statements <= 1.2 * early.statements
    assert late.rows <= 1.2 * early.rows
    # A tree that is ten times as large is one level deeper at most.
    assert late.blocks <= 1.5 * early.blocks
    stream = await bench.stream()
    assert stream.message_count == MESSAGES // FILE_EVERY


async def _leave_maintenance_to_the_test(bench: Bench) -> None:
    """Keep the server from analysing tables at a moment of its own: that would be counted."""
    async with bench.database.transaction() as tx:
        for row in await tx.raw("select relname from pg_stat_user_tables"):
            await tx.raw(f'alter table "{row["relname"]}" set (autovacuum_enabled = off)')


def _events(*, proof: bool) -> Iterator[LiveEvent]:
    before = 0
    for number in range(MESSAGES):
        position = 1_000 + 4 * number
        attachments = (
            (Attachment("a0", f"pack-{number}.zip", 10, "application/zip"),)
            if number % FILE_EVERY == 0
            else ()
        )
        sent_at = START + timedelta(milliseconds=number)
        message = Message(position, str(position), sent_at, author="someone", attachments=attachments)
        first = number % PER_CONNECTION == 0
        proven = Span(position if first else before, position + 1) if proof else None
        before = position
        yield LiveEvent("message", "packs", message, key=message.key, proven=proven)


def _count_statements(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count what goes to the database through transactions."""
    made = [0]
    for name in ("execute", "all", "one", "value", "column"):
        original = getattr(Tx, name)

        async def counting(self: Tx, *given: object, _original: object = original, **named: object) -> object:
            made[0] += 1
            return await _original(self, *given, **named)  # type: ignore[operator]

        monkeypatch.setattr(Tx, name, counting)
    return made


async def _cost(bench: Bench, statements: list[int]) -> Cost:
    stepper = await bench.stepper()
    await stepper.connection.execute("select pg_stat_force_next_flush()")
    async with bench.database.transaction() as tx:
        await tx.raw("select pg_stat_force_next_flush()")
    async with bench.database.transaction() as tx:
        (row,) = await tx.raw(
            "select sum(coalesce(idx_tup_fetch, 0) + seq_tup_read"
            " + n_tup_ins + n_tup_upd + n_tup_del)::bigint as rows,"
            " (select sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0))::bigint"
            "  from pg_statio_user_tables) as blocks"
            " from pg_stat_user_tables"
        )
    return Cost(statements[0], row["rows"], row["blocks"])


async def _ranges(bench: Bench) -> int:
    async with bench.database.transaction() as tx:
        rows = await tx.raw("select count(*) as ranges from coverage, unnest(ranges)")
    return rows[0]["ranges"]
