"""One simulated process of the product: its loops and workers as actors, and its death."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from headgate.connectors.protocol import Connector
from headgate.jobs.execution import Execution
from headgate.jobs.kinds import Kinds
from headgate.jobs.stepper import Stepper
from headgate.kernel.clock import Clock
from headgate.kernel.randomness import Randomness
from headgate.storage.database import Connection, Database, DatabaseAway
from headgate.testing.simulator.database import (
    COUNTED,
    StagedDatabase,
    connect_shadowed,
    count_statements,
)
from headgate.testing.simulator.stage import AT_WORK, Stage, StageClock, Troupe

HEARTBEAT_TIMEOUT_S = 5.0
IDLE_S = 2.0
LONGEST_IDLE_S = 8.0
WORKERS = 2


@dataclass(frozen=True)
class Product:
    """What the simulator needs of the product; whoever wires the product hands it in."""

    execution: Execution
    kinds: Kinds
    tick: Callable[[], Coroutine[Any, Any, None]]
    listen: Callable[[], Coroutine[Any, Any, None]]
    follow: Callable[[str], Coroutine[Any, Any, None]]
    """Follows everything that the account of a name sees, as a person's command does."""


ProductFactory = Callable[[Database, Clock, Randomness, Connector], Product]


@dataclass
class Process:
    """A running process of the product on the stage."""

    stage: Stage
    url: str
    name: str
    build: ProductFactory
    connector: Connector
    randomness: Randomness
    listens: bool = True
    counted: Counter[str] = field(default_factory=Counter[str])
    """How many statements its jobs needed."""
    troupe: Troupe = field(init=False)
    _connections: list[Connection] = field(default_factory=list[Connection])

    def __post_init__(self) -> None:
        self.troupe = self.stage.enter(self.name)
        self.clock = StageClock(self.stage)
        self.database = StagedDatabase(self.url, self.clock, self.stage, name=self.name)
        self.product = self.build(self.database, self.clock, self.randomness, self.connector)

    def start(self) -> None:
        loops = [self.product.tick, self.product.listen] if self.listens else [self.product.tick]
        self.troupe.start(*(loop() for loop in loops), *(self._work() for _ in range(WORKERS)))

    async def _work(self) -> None:
        """A runner: claim, execute, settle; what the engine's library does around our execution."""
        stepper = await self._stepper()
        self.troupe.start(self._beat(stepper))
        idle_s = IDLE_S
        while True:
            try:
                if await self._step(stepper):
                    idle_s = IDLE_S
                else:
                    await self.clock.sleep(idle_s)
                    idle_s = min(idle_s * 2, LONGEST_IDLE_S)
            except DatabaseAway:
                stepper = await self._stepper()

    async def _stepper(self) -> Stepper:
        await self.stage.point("connect")
        self.stage.hold()
        try:
            connection = await self._connect()
        finally:
            self.stage.release()
        owner = UUID(int=self.randomness.bits(128))
        return Stepper(self.product.execution, connection, owner, HEARTBEAT_TIMEOUT_S)

    async def _connect(self) -> Connection:
        """Return the connection of all runners: their statements come one at a time."""
        if not self._connections or self._connections[-1].closed:
            self._connections.append(await connect_shadowed(self.url, self.name))
        return self._connections[-1]

    async def _step(self, stepper: Stepper) -> bool:
        job = await self._alone("claim", stepper.claim())
        if job is None:
            return False
        counted = COUNTED.set(self.counted)
        # Its claim and its settlement are two.
        count_statements(2)
        at_work = AT_WORK.set(True)
        _, settlement = await stepper.execute(job)
        AT_WORK.reset(at_work)
        COUNTED.reset(counted)
        await self._alone("settle", stepper.settle(job, settlement))
        return True

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

    async def bury(self, director: Connection) -> None:
        """Cut the sockets of a dead process and wait until the server has noticed."""
        self.stage.forget(self.troupe)
        for connection in (*self._connections, *self.database.connections):
            connection.pgconn.finish()
        while True:
            cursor = await director.execute(
                "select count(*) from pg_stat_activity"
                " where application_name = %s and datname = current_database()",
                (self.name,),
            )
            row = await cursor.fetchone()
            if row is None or not row[0]:
                return

    async def close(self) -> None:
        for connection in (*self._connections, *self.database.connections):
            await connection.close()

    async def dispose(self) -> None:
        """Let go of the tasks of a process that is gone; none of them can do anything any more."""
        self.troupe.over = True
        for waits in (*self.troupe.tasks, *self.troupe.left):
            waits.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*self.troupe.tasks, return_exceptions=True)
