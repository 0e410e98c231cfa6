"""What a message costs when no pace holds it up: the whole way through run, sender and platform.

Ours and the floor take turns; the median of the rounds counts, for both.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from headgate.app.parts import Parts, open_parts
from headgate.cli.output import progress_bar
from headgate.connectors.protocol import CallKind, LaneDefault
from headgate.dev.bench.floors import measure_commit_floor
from headgate.dev.bench.ground import open_ground
from headgate.dev.bench.measuring import Figure, Report, rate_line
from headgate.dev.bench.sending.paced import Paced
from headgate.domain.reminders.windows import Window
from headgate.kernel.clock import RealClock
from headgate.kernel.settings import load_settings
from headgate.storage.database import connect
from headgate.testing import PRESETS, SimulatedConnector, World
from headgate.testing.simulator.sending.plan import plan_runs

ACCOUNTS = 8
MIN_RATIO = 0.5
MAX_OVER_LIMIT = 1.02
MAX_STATEMENTS = 2.0
LOOK_S = 0.01

_UNPACED = LaneDefault(per_minute=60_000, burst=30_000)


@dataclass(frozen=True)
class FanoutSizes:
    """How much is measured."""

    targets: int = 1_000
    messages: int = 20_000
    rounds: int = 3


async def measure_fanout(sizes: FanoutSizes, paced: Mapping[str, Paced]) -> Report:
    """Measure the cost of messages with the limit off, and report it with the paced fan-outs."""
    rates: list[float] = []
    floors: list[float] = []
    with progress_bar("Sending with the limit off", total=sizes.rounds * 2) as advance:
        for _ in range(sizes.rounds):
            async with open_ground() as url:
                async with await connect(url, name="headgate bench") as connection:
                    await connection.execute("create table bench_effect (key text not null)")
                floors.append(
                    await measure_commit_floor(url, count=sizes.messages // 2, connections=ACCOUNTS)
                )
                advance(1)
                rates.append(await _send_all(url, sizes.messages))
                advance(1)
    return _report(sizes, paced, rate=median(rates), floor=median(floors))


async def _send_all(url: str, messages: int) -> float:
    """Return messages a second, from the start of a worker to the end of the last run."""
    clock = RealClock()
    lanes: dict[CallKind, LaneDefault] = dict.fromkeys(("read", "send", "upload"), _UNPACED)
    world = World(1, clock, PRESETS["plain"].but(lanes=lanes))
    for number in range(ACCOUNTS):
        world.add_account(f"account-{number}")
    for number in range(messages // ACCOUNTS):
        world.add_group(f"group-{number}", title=f"Group {number}")
    connectors = {"simulated": SimulatedConnector(world)}
    with TemporaryDirectory(prefix="headgate-bench-") as folder:
        settings = load_settings(
            {"HEADGATE_DATA_DIR": folder, "HEADGATE_OUTFLOW_MESSAGES_PER_MINUTE": "60000"}
        )
        async with open_parts(settings, url, clock=clock, connectors=connectors) as parts:
            async with parts.database.transaction() as tx:
                now = datetime.now(UTC)
                await plan_runs(tx, world, ("Dear {group}",), window=Window(0, 1440), ids=parts.ids, now=now)
            took_s = await _work(parts, world, messages)
    if len(world.log.sends()) != messages or world.log.doubled_sends():
        raise RuntimeError("not every message was sent once")
    return messages / took_s


async def _work(parts: Parts, world: World, messages: int) -> float:
    worker = parts.worker()
    began_s = perf_counter()
    running = asyncio.create_task(worker.run())
    try:
        async with await connect(parts.url, name="headgate bench") as connection:
            while world.log.counts["send"] < messages or await _has_open_runs(connection):
                if running.done():
                    running.result()
                await asyncio.sleep(LOOK_S)
            return perf_counter() - began_s
    finally:
        await worker.stop()
        await running


async def _has_open_runs(connection: Any) -> bool:
    cursor = await connection.execute("select exists (select from run where ended_at is null)")
    row = await cursor.fetchone()
    return row is not None and row[0]


def _report(sizes: FanoutSizes, paced: Mapping[str, Paced], *, rate: float, floor: float) -> Report:
    values: dict[str, Any] = {}
    for name, played in paced.items():
        values |= played.values if not name else {name: played.values}
    values |= {
        "messages_per_s": round(rate, 1),
        "floor_tx_per_s": round(floor, 1),
        "cost_ratio": round(rate / floor, 3),
        "targets": sizes.targets,
        "accounts": ACCOUNTS,
        "unpaced_messages": sizes.messages,
        "rounds": sizes.rounds,
        "python": platform.python_version(),
    }
    lines = [
        *(
            line
            for name, played in paced.items()
            for line in _paced_lines(name or "text and picture", played)
        ),
        rate_line("messages, limit off", per_s=rate, floor_per_s=floor, least_ratio=MIN_RATIO),
    ]
    notes = [
        "Virtual time: how long the fan-out takes at 40 messages a minute, beside messages / rate.",
        f"Limit off: {sizes.messages:,} messages over {ACCOUNTS} accounts, beside plain commits a second.",
    ]
    return Report("fanout", f"Fan-out to {sizes.targets:,} groups", values, lines, notes)


def _paced_lines(name: str, played: Paced) -> list[Figure]:
    sound = not played.outcome.failures and not played.outcome.doubled and not played.outcome.uncertain
    return [
        Figure(
            what=name.replace("_", " "),
            figure=f"{played.outcome.virtual_s:,.0f} s",
            floor=f"{played.limit_s:,.0f} s",
            ratio=played.ratio,
            bound=f"ratio ≤ {MAX_OVER_LIMIT:g}, none twice",
            ok=played.ratio <= MAX_OVER_LIMIT and sound,
        ),
        Figure(
            what="  statements a message",
            figure=f"{played.statements:.2f}",
            bound=f"≤ {MAX_STATEMENTS:g}",
            ok=played.statements <= MAX_STATEMENTS,
        ),
    ]
