"""The product's database with points between its transactions, on a server whose time is the stage's.

Crashes can come before a transaction, at each of its statements, right before the commit, and after it but
before its answer. A connection can be lost with the commit done or undone, and the process lives on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

from headgate.kernel.clock import Clock
from headgate.storage.database import Connection, Database, Statement, Tx
from headgate.storage.errors import DatabaseAway
from headgate.storage.queries import Query
from headgate.testing.simulator.engine.lines import Lines
from headgate.testing.simulator.engine.stage import Stage

SHADOW_NOW = b"""
create schema sim;
create function sim.now() returns timestamptz language sql stable
    return current_setting('sim.now')::timestamptz;
create or replace function headgate_real_now() returns timestamptz language sql volatile parallel safe
    return current_setting('sim.now')::timestamptz;
alter table pgqueuer alter created set default sim.now(), alter updated set default sim.now(),
    alter heartbeat set default sim.now(), alter execute_after set default sim.now();
alter table pgqueuer_log alter created set default sim.now();
"""
COUNTED: ContextVar[Counter[str] | None] = ContextVar("counted", default=None)
"""Where the statements of whoever carries out a job are counted."""


def count_statements(statements: int) -> None:
    if (counted := COUNTED.get()) is not None:
        counted["statements"] += statements


class StagedTx(Tx):
    """A transaction in which the process can die at each statement."""

    def __init__(self, connection: Connection, stage: Stage, *, whole: bool = True) -> None:
        super().__init__(connection)
        self._stage = stage
        self._whole = whole
        """Its statements are done together or not at all."""

    async def _reach(self, query: Query) -> None:
        count_statements(1)
        await self._stage.point(query.name, switch=False, undone=self._whole)

    async def execute(self, query: Query, /, **parameters: Any) -> int:
        await self._reach(query)
        return await super().execute(query, **parameters)

    async def all(self, row: type[Any], query: Query, /, **parameters: Any) -> list[Any]:
        await self._reach(query)
        return await super().all(row, query, **parameters)

    async def one(self, row: type[Any], query: Query, /, **parameters: Any) -> Any:
        await self._reach(query)
        return await super().one(row, query, **parameters)

    async def row(self, query: Query, /, **parameters: Any) -> Sequence[Any]:
        await self._reach(query)
        return await super().row(query, **parameters)

    async def value(self, query: Query, /, **parameters: Any) -> Any:
        await self._reach(query)
        return await super().value(query, **parameters)

    async def column(self, query: Query, /, **parameters: Any) -> list[Any]:
        await self._reach(query)
        return await super().column(query, **parameters)


class StagedDatabase(Database):
    """One process's database on the stage."""

    def __init__(self, lines: Lines, clock: Clock, stage: Stage, *, name: str) -> None:
        super().__init__(lines.url, clock, name=name)
        self._lines = lines
        self._stage = stage
        self._lent: list[Connection] = []

    async def open(self) -> None:
        """Nothing to open: connections are made when they are needed."""

    async def close(self) -> None:
        self.cut()

    def cut(self) -> None:
        """Lose all connections at once."""
        for connection in self._lent:
            self._lines.cut(connection)

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Tx, None]:
        await self._stage.point("begin")
        self._stage.hold()
        try:
            async with super().transaction() as tx:
                # Its beginning and its end.
                count_statements(2)
                staged = StagedTx(tx.connection, self._stage)
                yield staged
                await staged.finish()
                await self._stage.point("before commit", switch=False, undone=True)
                if self._stage.loses_connection():
                    self._lines.cut(tx.connection)
                    raise DatabaseAway("the connection was lost before the commit")
        finally:
            self._stage.release()
        await self._after_commit()

    @asynccontextmanager
    async def autocommit(self) -> AsyncGenerator[Tx, None]:
        await self._stage.point("begin")
        self._stage.hold()
        try:
            async with super().autocommit() as tx:
                yield StagedTx(tx.connection, self._stage, whole=False)
        finally:
            self._stage.release()
        await self._after_commit()

    async def run_together(self, statements: Sequence[Statement]) -> None:
        await self._stage.point("begin")
        self._stage.hold()
        try:
            count_statements(len(statements))
            await super().run_together(statements)
        finally:
            self._stage.release()
        await self._after_commit()

    async def _after_commit(self) -> None:
        """Die, lose the answer, or let others go on: the transaction is done."""
        await self._stage.point("after commit")
        if self._stage.loses_connection():
            raise DatabaseAway("the answer to a commit was lost")

    async def _acquire(self) -> Connection:
        connection = await self._lines.open()
        self._lent.append(connection)
        return connection

    async def _put(self, connection: Connection) -> None:
        self._lines.cut(connection)
        self._lent.remove(connection)
