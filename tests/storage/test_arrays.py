"""Lists that are written quickly arrive as the driver's own would."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.storage.arrays import QuickListDumper
from headgate.storage.database import Database
from headgate.storage.queries import QueryFile

FULL = os.environ.get("HEADGATE_TEST_FULL") == "1"

Q = QueryFile("arrays", "-- name: echo\nselect unnest(%(values)s::text[]) as value")

# Hypothesis wants bounds without a zone. Nearer to the ends other zones have no such time.
FIRST, LAST = datetime(1, 1, 2), datetime(9999, 12, 30)  # noqa: DTZ001
STORABLE = st.text(st.characters(exclude_characters="\x00", exclude_categories=("Cs",)))
LISTS = st.one_of(
    st.tuples(st.just("text"), st.lists(STORABLE, max_size=5)),
    st.tuples(st.just("text"), st.lists(st.none() | STORABLE, max_size=5)),
    st.tuples(st.just("uuid"), st.lists(st.uuids(), max_size=5)),
    st.tuples(st.just("bigint"), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5)),
    st.tuples(st.just("boolean"), st.lists(st.booleans(), max_size=5)),
    st.tuples(st.just("double precision"), st.lists(st.floats(allow_nan=False), max_size=5)),
    st.tuples(
        st.just("timestamptz"),
        st.lists(st.datetimes(FIRST, LAST, timezones=st.just(UTC)), max_size=5),
    ),
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=300 if FULL else 60,
)
@given(LISTS)
def test_a_list_comes_back_as_it_was(database_url: str, typed: tuple[str, list[Any]]) -> None:
    type_name, values = typed
    with psycopg.connect(database_url, options="-c timezone=UTC") as connection:
        connection.adapters.register_dumper(list, QuickListDumper)
        row = connection.execute(f"select %s::{type_name}[]".encode(), [values]).fetchone()
    assert row == (values,)


@pytest.mark.parametrize("text", ['"', "\\", '\\"', "{a,b}", "NULL", "", " ", "\n", ",", "é", "🎈"])
async def test_what_arrays_escape_is_escaped(database: Database, text: str) -> None:
    async with database.transaction() as tx:
        assert await tx.column(Q["echo"], values=[text, "plain", text]) == [text, "plain", text]


async def test_what_cannot_be_stored_is_refused_as_before(database: Database) -> None:
    with pytest.raises(psycopg.DataError):
        async with database.transaction() as tx:
            await tx.column(Q["echo"], values=["a\x00b", "c"])


async def test_ids_find_their_rows_without_a_cast(database: Database) -> None:
    first = UUID(int=1)
    async with database.transaction() as tx:
        connection = tx.connection
        cursor = await connection.execute("select %s = any(%s)", [first, [first, UUID(int=2)]])
        assert await cursor.fetchone() == (True,)
