"""Many accounts that send at once: each at the full pace of its lane, in one process and in two."""

from __future__ import annotations

import asyncio
import json
import platform
import sys
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from tempfile import TemporaryDirectory

from headgate.cli.output import progress_bar
from headgate.dev.bench.ground import open_ground
from headgate.dev.bench.measuring import Figure, Report, delay_line
from headgate.dev.bench.sending.accounts_process import (
    BURST,
    PER_MINUTE,
    Sent,
    build_world,
    idle_names,
    sender_names,
)
from headgate.domain.reminders.windows import Window
from headgate.kernel.clock import RealClock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.database import Database, connect
from headgate.testing.simulator.sending.fanout import plan_runs

MIN_LANE_RATIO = 0.98
MAX_FIRST_MESSAGE_MS = 2_000.0
SENDING = 8
"""So many others send while a new run begins."""
NEW_RUNS = 3
_PROCESS = "headgate.dev.bench.sending.accounts_process"
_CLOCK = RealClock()


@dataclass(frozen=True)
class AccountSizes:
    """How much is measured; one of the measurements is so long that every sender's turn ends in it."""

    accounts: tuple[int, ...] = (1, 4, 8, 16)
    seconds: float = 9.0
    long_seconds: float = 50.0


@dataclass(frozen=True)
class Measured:
    """What came of some accounts that sent at once."""

    accounts: int
    processes: int
    lane_ratio: float
    first_message_ms: float | None = None

    @property
    def key(self) -> str:
        return f"accounts_{self.accounts}_processes_{self.processes}"


async def measure_accounts(sizes: AccountSizes) -> Report:
    """Measure all numbers of accounts in one process and in two."""
    measured: list[Measured] = []
    plan = [(accounts, processes) for processes in (1, 2) for accounts in sizes.accounts]
    with progress_bar("Sending from many accounts", total=len(plan)) as advance:
        async with open_ground() as url:
            for accounts, processes in plan:
                longest = (accounts, processes) == (max(sizes.accounts), 2)
                seconds = sizes.long_seconds if longest else sizes.seconds
                measured.append(await _measure(url, accounts, processes, seconds=seconds))
                await _clear(url)
                advance(1)
    return _report(sizes, measured)


async def _measure(url: str, accounts: int, processes: int, *, seconds: float) -> Measured:
    idle = NEW_RUNS if accounts == SENDING else 0
    database = Database(url, _CLOCK, name="headgate bench")
    await database.open()
    try:
        await _plan(database, sender_names(accounts), group="group")
        begun: dict[str, datetime] = {}
        sent: Sent = []
        async with _processes(url, processes, accounts=accounts, idle=idle, sent=sent):
            for name in idle_names(idle):
                await _CLOCK.sleep(seconds / (NEW_RUNS + 1))
                begun[name] = await _plan(database, [name], group=f"late-{name}")
            await _CLOCK.sleep(seconds / (NEW_RUNS + 1) if idle else seconds)
    finally:
        await database.close()
    times = _by_account(sent)
    ratio = min(lane_ratio(times.get(name, ())) for name in sender_names(accounts))
    firsts_ms = [
        (min(times[name]) - at) / timedelta(milliseconds=1) if times.get(name) else float("inf")
        for name, at in begun.items()
    ]
    return Measured(accounts, processes, ratio, max(firsts_ms, default=None))


async def _clear(url: str) -> None:
    async with await connect(url, name="headgate bench") as connection:
        await connection.execute(
            "truncate account, reminder, run, target, lane, lease, pgqueuer, blob_store cascade"
        )


async def _plan(database: Database, accounts: Sequence[str], *, group: str) -> datetime:
    """Begin a run of each account; return the moment before the commit."""
    world = build_world(accounts=list(accounts), group=group)
    async with database.transaction() as tx:
        now = _CLOCK.now()
        ids = Ids(_CLOCK, Randomness())
        await plan_runs(tx, world, ("Dear {group}",), window=Window(0, 1440), ids=ids, now=now)
        return _CLOCK.now()


@asynccontextmanager
async def _processes(
    url: str, count: int, *, accounts: int, idle: int, sent: Sent
) -> AsyncGenerator[None, None]:
    """Run real workers on the database; at the end, collect what they sent."""
    with TemporaryDirectory(prefix="headgate-bench-") as folder:
        command = [sys.executable, "-m", _PROCESS, url, folder, str(accounts), str(idle)]
        pipe = asyncio.subprocess.PIPE
        running = [
            await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, limit=2**24)
            for _ in range(count)
        ]
        try:
            for process in running:
                await _read_line(process)
            yield
        finally:
            for process in running:
                if process.stdin is not None:
                    process.stdin.close()
        for process in running:
            lines = json.loads(await _read_line(process))
            sent.extend((account, datetime.fromisoformat(at)) for account, at in lines)
            await process.wait()


async def _read_line(process: asyncio.subprocess.Process) -> str:
    line = await process.stdout.readline() if process.stdout is not None else b""
    if not line:
        raise RuntimeError("a worker ended before its time")
    return line.decode()


def _by_account(sent: Sent) -> dict[str, list[datetime]]:
    times: dict[str, list[datetime]] = defaultdict(list)
    for account, at in sorted(sent):
        times[account].append(at)
    return times


def lane_ratio(times: Sequence[datetime]) -> float:
    """Return an account's messages a minute over its lane's rate, from the end of its burst on."""
    paced = times[BURST:]
    if len(paced) < 2:
        return 0.0
    minutes = (paced[-1] - paced[0]) / timedelta(minutes=1)
    return (len(paced) - 1) / minutes / PER_MINUTE


def _report(sizes: AccountSizes, measured: Sequence[Measured]) -> Report:
    worst = min(one.lane_ratio for one in measured)
    firsts_ms = [one.first_message_ms for one in measured if one.first_message_ms is not None]
    first_ms = max(firsts_ms, default=None)
    values = {
        "lane_ratio": round(worst, 4),
        "first_message_ms": None if first_ms is None else round(first_ms, 1),
        "lane_per_minute": PER_MINUTE,
        **{one.key: round(one.lane_ratio, 4) for one in measured},
        "seconds": sizes.seconds,
        "long_seconds": sizes.long_seconds,
        "python": platform.python_version(),
    }
    lines = [_line(one) for one in measured]
    if first_ms is not None:
        what = f"first message, {SENDING} others sending"
        lines.append(delay_line(what, delay_ms=first_ms, most_ms=MAX_FIRST_MESSAGE_MS))
    note = (
        f"The slowest account beside the {PER_MINUTE:g} messages a minute of its lane; the processes are real"
        " ones on one database."
    )
    return Report("accounts", "Accounts that send at once", values, lines, [note])


def _line(one: Measured) -> Figure:
    return Figure(
        what=f"{one.accounts} accounts, {one.processes} process{'es' if one.processes > 1 else ''}",
        figure=f"{one.lane_ratio * PER_MINUTE:.1f}/min",
        floor=f"{PER_MINUTE:g}/min",
        ratio=one.lane_ratio,
        bound=f"ratio ≥ {MIN_LANE_RATIO:g}",
        ok=one.lane_ratio >= MIN_LANE_RATIO,
    )
