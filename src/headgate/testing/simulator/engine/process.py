"""One simulated process of the product: its loops and workers as actors, and its death."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from headgate.connectors.protocol import Connector
from headgate.jobs.execution import Execution
from headgate.jobs.job import Settlement
from headgate.jobs.kinds import Kinds
from headgate.jobs.stepper import ClaimedJob, Stepper
from headgate.kernel.clock import Clock
from headgate.kernel.randomness import Randomness
from headgate.outflow.notifications.push_out import Pusher
from headgate.storage.database import Connection, Database
from headgate.storage.errors import DatabaseAway
from headgate.testing.simulator.engine.database import (
    COUNTED,
    StagedDatabase,
    count_statements,
)
from headgate.testing.simulator.engine.lines import Lines
from headgate.testing.simulator.engine.stage import AT_WORK, Stage, StageClock, Troupe

HEARTBEAT_TIMEOUT_S = 5.0
IDLE_S = 2.0
MAX_IDLE_S = 8.0
WORKERS = 2
"""For all kinds whose runners are shared; a runner that a kind has to itself is as wide as that kind."""
SHARED = frozenset({"fast", "bulk"})
OUTSIDE = frozenset({"inspect"})
"""Kinds that work in real subprocesses, whose pace no seed decides: they are not played."""
SHUTDOWN_S = 8.0
"""How long a process that is asked to stop lets its jobs go on, as a real one does."""
STOP_LOOK_S = 0.5


@dataclass(frozen=True)
class Product:
    """What the simulator needs of the product; whoever wires the product hands it in."""

    execution: Execution
    kinds: Kinds
    tick: Callable[[], Coroutine[Any, Any, None]]
    listen: Callable[[], Coroutine[Any, Any, None]]
    serve_holds: Callable[[], None]
    """Keeps the exclusive accounts that it opens, and takes their jobs, as a worker does."""
    follow: Callable[[str], Coroutine[Any, Any, None]]
    """Follows everything that the account of a name sees, as a person's command does."""
    close: Callable[[], Coroutine[Any, Any, None]]
    """Closes the connections to the platform, as a process does that ends in order."""
    data_dir: Path
    """Where the key of its secrets is, and its files."""
    open_files: Callable[[], Coroutine[Any, Any, None]]
    """Begins to use stored files, as a process does when it starts."""
    lose_files: Callable[[], None]
    """Lets go of open files as a kill does."""


ProductFactory = Callable[[Database, Clock, Randomness, Connector, Pusher], Product]


@dataclass
class Process:
    """A running process of the product on the stage."""

    stage: Stage
    lines: Lines
    name: str
    build: ProductFactory
    connector: Connector
    pusher: Pusher
    randomness: Randomness
    listens: bool = True
    downloads: bool = False
    counted: Counter[str] = field(default_factory=Counter[str])
    """How many statements its jobs needed."""
    troupe: Troupe = field(init=False)
    stopping: bool = False
    stopped: bool = False
    """It ended in order."""
    _at_work: set[asyncio.Task[Any]] = field(default_factory=set["asyncio.Task[Any]"])
    _connections: list[Connection] = field(default_factory=list[Connection])

    def __post_init__(self) -> None:
        self.troupe = self.stage.enter(self.name)
        self.clock = StageClock(self.stage)
        self.database = StagedDatabase(self.lines, self.clock, self.stage, name=self.name)
        self.product = self.build(self.database, self.clock, self.randomness, self.connector, self.pusher)

    def start(self) -> None:
        self.product.serve_holds()
        loops = [self.product.tick, self.product.listen] if self.listens else [self.product.tick]
        self.troupe.start(*(loop() for loop in loops))
        self._loops = list(self.troupe.tasks)
        kinds = [kind for kind in self.product.kinds if kind.name not in OUTSIDE]
        shared = [kind.name for kind in kinds if kind.runner in SHARED]
        own = [kind for kind in kinds if kind.runner not in SHARED and self._runs(kind.runner)]
        self.troupe.start(
            self._dispatch(shared, WORKERS), *(self._dispatch([kind.name], kind.concurrency) for kind in own)
        )

    def _runs(self, runner: str) -> bool:
        return self.downloads or runner != "transfer"

    def stop(self) -> None:
        """Ask it to end in order, as a deploy does; it can still die over it."""
        if not self.stopping:
            self.stopping = True
            self.troupe.start(self._end_in_order())

    async def _end_in_order(self) -> None:
        """Let jobs end for a while, give the others back, then end the loops; what a real process does."""
        self.product.execution.stopping.set()
        deadline_s = self.clock.monotonic() + SHUTDOWN_S
        while self._at_work and self.clock.monotonic() < deadline_s:
            await self.clock.sleep(STOP_LOOK_S)
        late = list(self._at_work)
        for task in [*late, *self._loops]:
            task.cancel()
        await asyncio.gather(*late, *self._loops, return_exceptions=True)
        await self.product.close()
        self.stopped = True

    async def _dispatch(self, kinds: Sequence[str], width: int) -> None:
        """A runner: claim a job whenever there is room for one; each is carried out by a task of its own."""
        if kinds == ["fetch"]:
            await self._open_files()
        stepper = await self._stepper(kinds)
        idle_s = IDLE_S
        running: set[asyncio.Task[None]] = set()
        while not self.stopping:
            try:
                job = await self._alone("claim", stepper.claim()) if len(running) < width else None
            except DatabaseAway:
                stepper = await self._stepper(kinds)
                continue
            if job is None:
                await self.clock.sleep(idle_s)
                idle_s = min(idle_s * 2, MAX_IDLE_S)
                continue
            idle_s = IDLE_S
            (task,) = self.troupe.start(self._work(stepper, job))
            running.add(task)
            task.add_done_callback(running.discard)

    async def _open_files(self) -> None:
        while True:
            try:
                await self.product.open_files()
            except DatabaseAway:
                await self.clock.sleep(IDLE_S)
            else:
                return

    async def _stepper(self, kinds: Sequence[str]) -> Stepper:
        await self.stage.point("connect")
        self.stage.hold()
        try:
            connection = await self._connect()
        finally:
            self.stage.release()
        owner = UUID(int=self.randomness.bits(128))
        stepper = Stepper(self.product.execution, connection, owner, HEARTBEAT_TIMEOUT_S, kinds)
        self.troupe.start(self._beat(stepper))
        return stepper

    async def _connect(self) -> Connection:
        """Return the connection of all runners: their statements come one at a time."""
        if not self._connections or self._connections[-1].closed:
            self._connections.append(await self.lines.open())
        return self._connections[-1]

    async def _work(self, stepper: Stepper, job: ClaimedJob | None) -> None:
        """Carry out a job and what follows soon: in the engine a freed slot is filled without a poll."""
        while job is not None:
            await self._carry_out(stepper, job)
            try:
                # What a job enqueues at its end is due only once the virtual clock has moved on.
                job = await self._claim(stepper) or await self._claim(stepper, after_s=IDLE_S)
            except DatabaseAway:
                return

    async def _claim(self, stepper: Stepper, *, after_s: float = 0.0) -> ClaimedJob | None:
        if after_s and not self.stopping:
            await self.clock.sleep(after_s)
        return None if self.stopping else await self._alone("claim", stepper.claim())

    async def _carry_out(self, stepper: Stepper, job: ClaimedJob) -> None:
        COUNTED.set(self.counted)
        # Its claim and its settlement are two.
        count_statements(2)
        AT_WORK.set(True)
        settlement = await self._execute(stepper, job)
        AT_WORK.set(False)
        COUNTED.set(None)
        with suppress(DatabaseAway):
            await self._alone("settle", stepper.settle(job, settlement))

    async def _execute(self, stepper: Stepper, job: ClaimedJob) -> Settlement:
        """Carry out a job; one that a stop cancels is given back, which counts as no attempt."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - every actor is a task
        self._at_work.add(task)
        try:
            _, settlement = await stepper.execute(job)
        except asyncio.CancelledError:
            if self.stopping and not self.troupe.over:
                await self.product.execution.release(stepper.pick(job))
            raise
        finally:
            self._at_work.discard(task)
        return settlement

    async def _beat(self, stepper: Stepper) -> None:
        while True:
            await self.clock.sleep(HEARTBEAT_TIMEOUT_S / 4)
            if stepper.busy:
                await self._alone("beat", stepper.beat())

    async def _alone(self, label: str, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a statement of the engine between two points."""
        try:
            await self.stage.point(f"before {label}")
        except BaseException:
            work.close()
            raise
        self.stage.hold()
        try:
            done = await work
        finally:
            self.stage.release()
        await self.stage.point(f"after {label}")
        return done

    def bury(self) -> None:
        """Cut the connections of a process that is gone."""
        self.stage.forget(self.troupe)
        self.cut()
        self.product.lose_files()

    def cut(self) -> None:
        for connection in self._connections:
            self.lines.cut(connection)
        self.database.cut()

    async def dispose(self) -> None:
        """Let go of the tasks of a process that is gone; none of them can do anything any more."""
        self.troupe.over = True
        if self.troupe in self.stage.troupes:
            self.stage.forget(self.troupe)
        for waits in (*self.troupe.tasks, *self.troupe.left):
            waits.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*self.troupe.tasks, return_exceptions=True)
