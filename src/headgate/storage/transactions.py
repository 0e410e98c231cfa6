"""An open transaction: how statements are run in it, and what is left to its end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, Protocol, TypeVar, cast

import psycopg
from psycopg.rows import RowMaker, class_row, dict_row

from headgate.storage.errors import Refused, is_refusal
from headgate.storage.queries import Query

Row = TypeVar("Row")
SomeEnding = TypeVar("SomeEnding", bound="Ending")
Parameters = Mapping[str, Any]
Connection = psycopg.AsyncConnection[Any]


@dataclass(frozen=True)
class Statement:
    """One row for a query that writes many at once: every parameter of its SQL is an array."""

    query: Query
    row: Parameters


class Ending(Protocol):
    """What is gathered during a transaction and done once, at its end."""

    async def finish(self, tx: Tx) -> None: ...


class Tx:
    """An open transaction; everything in it happens, or nothing does."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.repeatable = False
        """If it fails its work is done again in smaller transactions, so nothing has to be undone alone."""
        self._endings: dict[type[Any], Ending] = {}

    def ending(self, kind: type[SomeEnding]) -> SomeEnding:
        """Return this transaction's ending of a kind; its `finish` is called right before the commit."""
        if kind not in self._endings:
            self._endings[kind] = kind()
        return cast("SomeEnding", self._endings[kind])

    async def finish(self) -> None:
        """Do what was left to the end of the transaction."""
        while self._endings:
            _, ending = self._endings.popitem()
            await ending.finish(self)

    async def execute(self, query: Query, /, **parameters: Any) -> int:
        """Run a statement and return how many rows it touched."""
        cursor = await self.connection.execute(query.sql, parameters)
        return cursor.rowcount

    async def run(self, statement: Statement) -> int:
        """Write the one row of a statement."""
        return await self.run_all([statement])

    async def run_all(self, statements: Sequence[Statement]) -> int:
        """Write the rows of statements that are all of one query."""
        rows = [statement.row for statement in statements]
        return await self.execute(statements[0].query, **columns_of(rows))

    async def all(self, row: type[Row], query: Query, /, **parameters: Any) -> list[Row]:
        """Return all rows as the given dataclass."""
        async with self.connection.cursor(row_factory=_row_maker(row)) as cursor:
            await cursor.execute(query.sql, parameters)
            return await cursor.fetchall()

    async def one(self, row: type[Row], query: Query, /, **parameters: Any) -> Row | None:
        """Return the only row as the given dataclass, or nothing."""
        async with self.connection.cursor(row_factory=class_row(row)) as cursor:
            await cursor.execute(query.sql, parameters)
            return await cursor.fetchone()

    async def row(self, query: Query, /, **parameters: Any) -> Sequence[Any]:
        """Return the columns of the first row; none if there is no row."""
        cursor = await self.connection.execute(query.sql, parameters)
        return await cursor.fetchone() or ()

    async def value(self, query: Query, /, **parameters: Any) -> Any:
        """Return the first column of the first row, or None."""
        cursor = await self.connection.execute(query.sql, parameters)
        row = await cursor.fetchone()
        return None if row is None else row[0]

    async def column(self, query: Query, /, **parameters: Any) -> list[Any]:
        """Return the first column of every row."""
        cursor = await self.connection.execute(query.sql, parameters)
        return [row[0] for row in await cursor.fetchall()]

    @asynccontextmanager
    async def attempt(self) -> AsyncGenerator[None, None]:
        """Undo the block alone if the database refuses a row of it; after `Refused` the rest goes on.

        A transaction that is repeated in parts fails instead: that saves all others two savepoint commands.
        """
        if self.repeatable:
            yield
            return
        try:
            async with self.connection.transaction():
                yield
        except psycopg.Error as error:
            if is_refusal(error):
                raise Refused(error.diag.message_primary or str(error)) from error
            raise

    @asynccontextmanager
    async def undone(self) -> AsyncGenerator[None, None]:
        """Undo whatever the block writes when it ends."""
        async with self.connection.transaction(force_rollback=True):
            yield

    async def raw(self, sql: str, arguments: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Run a foreign statement with `$1` placeholders (the engine's own SQL)."""
        cursor = psycopg.AsyncRawCursor(self.connection, row_factory=dict_row)
        await cursor.execute(sql.encode(), arguments or None)
        return await cursor.fetchall() if cursor.description else []


def columns_of(rows: Sequence[Parameters]) -> dict[str, list[Any]]:
    """Return rows as arrays, by the names of their columns."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def _row_maker(row: type[Row]) -> Callable[[psycopg.AsyncCursor[Any]], RowMaker[Row]]:
    """Return a factory of rows; columns in the order of a row's fields need not be matched row by row."""

    def make(cursor: psycopg.AsyncCursor[Any]) -> RowMaker[Row]:
        if _fields_of(row) != tuple(column.name for column in cursor.description or ()):
            return class_row(row)(cursor)
        made = cast("Callable[[Sequence[Any]], Row] | None", getattr(row, "_make", None))
        return made or (lambda values: row(*values))

    return make


@cache
def _fields_of(row: type[Any]) -> tuple[str, ...]:
    """Return the fields of a tuple or a dataclass in their order; nothing for any other class."""
    if not is_dataclass(row):
        return getattr(row, "_fields", ())
    given = fields(row)
    return tuple(one.name for one in given) if all(one.init and not one.kw_only for one in given) else ()
