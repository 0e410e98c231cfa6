"""Questions of one transaction that are put to the server as one.

Every asker runs until it waits for a list; then all lists that are waited for are columns of one statement.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any, LiteralString, NamedTuple, TypeVar, cast

from headgate.storage.queries import Query
from headgate.storage.transactions import Parameters, Row, SomeEnding, Tx

Answer = TypeVar("Answer")

_PARAMETER = re.compile(r"%\((\w+)\)s")
_COMMENT = re.compile(r"--[^\n]*")
_CHANGES = re.compile(r"\b(insert|update|delete|merge)\b", re.IGNORECASE)


async def ask_together(tx: Tx, askers: Sequence[Callable[[Tx], Awaitable[Answer]]]) -> list[Answer]:
    """Let askers work in one transaction and return what they return; raise what went wrong first."""
    shared = _SharedTx(tx, len(askers))
    answers = await asyncio.gather(*(shared.run_asker(asker) for asker in askers), return_exceptions=True)
    if shared.error is not None:
        raise shared.error
    return cast("list[Answer]", answers)


class _Waiting(NamedTuple):
    query: Query
    parameters: Parameters
    answer: asyncio.Future[list[Any]]


class _SharedTx(Tx):
    """A transaction of several askers; only the lists they read are gathered, all else is done at once."""

    def __init__(self, tx: Tx, askers: int) -> None:
        super().__init__(tx.connection)
        self._tx = tx
        self.error: BaseException | None = None
        self._running = askers
        self._waiting: list[_Waiting] = []

    async def run_asker(self, asker: Callable[[Tx], Awaitable[Answer]]) -> Answer:
        try:
            return await asker(self)
        except BaseException as error:
            self.error = self.error or error
            raise
        finally:
            await self._step_back()

    def ending(self, kind: type[SomeEnding]) -> SomeEnding:
        return self._tx.ending(kind)

    async def execute(self, query: Query, /, **parameters: Any) -> int:
        return await self._tx.execute(query, **parameters)

    async def all(self, row: type[Row], query: Query, /, **parameters: Any) -> list[Row]:
        return await self._tx.all(row, query, **parameters)

    async def one(self, row: type[Row], query: Query, /, **parameters: Any) -> Row | None:
        return await self._tx.one(row, query, **parameters)

    async def row(self, query: Query, /, **parameters: Any) -> Sequence[Any]:
        return await self._tx.row(query, **parameters)

    async def value(self, query: Query, /, **parameters: Any) -> Any:
        return await self._tx.value(query, **parameters)

    async def column(self, query: Query, /, **parameters: Any) -> list[Any]:
        if _may_change_rows(query):
            return await self._tx.column(query, **parameters)
        answer: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(query, parameters, answer))
        await self._step_back()
        return await answer

    async def _step_back(self) -> None:
        """Note that an asker waits or has ended; the last one puts the question."""
        self._running -= 1
        if self._running or not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        self._running = len(waiting)
        try:
            columns = await self._ask(waiting)
        except BaseException as error:
            for each in waiting:
                each.answer.set_exception(error)
            if not isinstance(error, Exception):
                raise
        else:
            for each, column in zip(waiting, columns, strict=True):
                each.answer.set_result(column)

    async def _ask(self, waiting: Sequence[_Waiting]) -> Sequence[list[Any]]:
        parameters = {
            f"q{place}_{name}": value
            for place, each in enumerate(waiting)
            for name, value in each.parameters.items()
        }
        return await self._tx.row(_combine(tuple(each.query for each in waiting)), **parameters)


@lru_cache(maxsize=1000)
def _may_change_rows(query: Query) -> bool:
    """Tell whether a statement may do more than read, so that it cannot be a column of another."""
    return _CHANGES.search(_COMMENT.sub("", query.sql)) is not None


@lru_cache(maxsize=100)
def _combine(queries: tuple[Query, ...]) -> Query:
    """Return one statement with the list of each as a column."""
    numbered = (
        _PARAMETER.sub(lambda found, place=place: f"%(q{place}_{found[1]})s", query.sql)
        for place, query in enumerate(queries)
    )
    sql = "select " + ",\n".join(f"array({sql}\n)" for sql in numbered)
    return Query("", "together", cast("LiteralString", sql))
