"""Questions of one transaction that become one statement."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest

from headgate.storage.database import Database, Tx
from headgate.storage.queries import QueryFile
from headgate.storage.together import ask_together

Q = QueryFile(
    "test",
    """
-- name: count_up
-- With a comment at its end, and a sign that the driver reads: 100 %%.
select n from generate_series(1, %(limit)s) as n order by n -- no more

-- name: name_twice
select %(name)s::text from generate_series(1, 2)

-- name: none
select 1 where false

-- name: wrong
select 1 / %(zero)s::int

-- name: note
create temporary table noted as select %(name)s::text as name

-- name: rename
-- An update; the word select in a comment makes no question of it.
update noted set name = %(name)s returning name

-- name: noted
select name from noted
""",
)

Asker = Callable[[Tx], Awaitable[list[object]]]


def up_to(limit: int) -> Asker:
    return lambda tx: tx.column(Q["count_up"], limit=limit)


async def ask(database: Database, *askers: Asker) -> list[list[object]]:
    async with database.transaction() as tx:
        return await ask_together(tx, askers)


async def test_each_gets_its_own_answer_in_their_order(database: Database) -> None:
    answers = await ask(
        database,
        up_to(3),
        lambda tx: tx.column(Q["none"]),
        lambda tx: tx.column(Q["name_twice"], name="otter's 100 %"),
        up_to(1),
    )
    assert answers == [[1, 2, 3], [], ["otter's 100 %", "otter's 100 %"], [1]]


async def test_nobody_asks_nothing(database: Database) -> None:
    assert await ask(database) == []


async def test_all_lists_are_one_statement(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[object] = []
    execute: Any = psycopg.AsyncConnection.execute

    async def counted(connection: object, query: object, *args: object) -> object:
        sent.append(query)
        return await execute(connection, query, *args)

    async with database.transaction() as tx:
        monkeypatch.setattr(psycopg.AsyncConnection, "execute", counted)
        await ask_together(tx, [up_to(2), up_to(3), up_to(4)])
    assert len([query for query in sent if "array(" in str(query)]) == 1
    assert sum("generate_series" in str(query) for query in sent) == 1


async def test_one_that_asks_twice_and_one_that_writes_do_not_hold_up_the_others(database: Database) -> None:
    async def twice(tx: Tx) -> list[object]:
        return [*await tx.column(Q["count_up"], limit=1), *await tx.column(Q["count_up"], limit=2)]

    async def write(tx: Tx) -> list[object]:
        await tx.execute(Q["note"], name="seen")
        return await tx.column(Q["noted"])

    async def change(tx: Tx) -> list[object]:
        return await tx.column(Q["rename"], name="renamed")

    async def ask_nothing(tx: Tx) -> list[object]:
        return ["nothing"]

    assert await ask(database, twice, write, change, ask_nothing, up_to(2)) == [
        [1, 1, 2],
        ["renamed"],
        ["renamed"],
        ["nothing"],
        [1, 2],
    ]


async def test_an_error_reaches_the_caller_and_nobody_waits_for_ever(database: Database) -> None:
    async def refuse(tx: Tx) -> list[object]:
        raise LookupError("not today")

    with pytest.raises(psycopg.errors.DivisionByZero):
        await ask(database, up_to(2), lambda tx: tx.column(Q["wrong"], zero=0))
    with pytest.raises(LookupError, match="not today"):
        await ask(database, up_to(2), refuse)
    assert await ask(database, up_to(1)) == [[1]]
