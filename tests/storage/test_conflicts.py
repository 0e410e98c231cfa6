"""Of two writers that insert one thing, one gives way: conflict clauses cover every unique constraint."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from itertools import pairwise

import psycopg
import pytest

from headgate.storage.queries import list_query_files

_INSERT = re.compile(r"\binsert into (\w+)", re.IGNORECASE)
_CONFLICT = re.compile(r"\bon conflict\b\s*(\(?)", re.IGNORECASE)
_DERIVED = re.compile(r"\b(md5|sha256|hashtext\w*)\(", re.IGNORECASE)
_KEYS = re.compile(r"USING \w+ \((.*?)\)(?: INCLUDE \(.*?\))?(?: NULLS NOT DISTINCT)?(?: WHERE .*)?$")

# No conflict clause can name a constraint that is compared only at the end; who writes such rows takes turns.
_UNIQUE = """
select t.relname, pg_get_indexdef(x.indexrelid)
from pg_index x
join pg_class t on t.oid = x.indrelid
join pg_namespace n on n.oid = t.relnamespace
where x.indisunique and x.indimmediate and n.nspname = 'public'
"""


@dataclass(frozen=True)
class Insert:
    """An insert that may meet another one."""

    where: str
    table: str
    text: str
    target: str
    """The constraint that its conflict clause names; empty: every one."""

    @property
    def derives_its_id(self) -> bool:
        """Two inserts of one thing have one id, so that the primary key can conflict as well."""
        return _DERIVED.search(self.text) is not None


OUTSIDE = {("blobs/places.sql, upsert_placed", "sha256")}
"""Rows that a partial index leaves out: a file in place stands for no other copy of its content."""


def inserts_in(where: str, sql: str) -> Iterator[Insert]:
    starts = [match.start() for match in _INSERT.finditer(sql)]
    for start, end in pairwise([*starts, len(sql)]):
        text = sql[start:end]
        table, clause = _INSERT.match(text), _CONFLICT.search(text)
        if table is not None and clause is not None:
            target = _balanced(text[clause.end() :]) if clause[1] else ""
            yield Insert(where, table[1], text, _plain(target))


def _balanced(text: str) -> str:
    depth = 1
    for place, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0:
            return text[:place]
    raise ValueError("a parenthesis is not closed")


def _plain(keys: str) -> str:
    return re.sub(r'[\s"]', "", keys).lower()


def all_inserts() -> list[Insert]:
    texts = [(f"{query.file}, {query.name}", query.sql) for file in list_query_files() for query in file]
    folder = resources.files("headgate.storage").joinpath("migrations")
    texts += [(path.name, path.read_text(encoding="utf-8")) for path in folder.iterdir()]
    return [insert for where, sql in texts for insert in inserts_in(where, sql)]


@pytest.fixture
def unique_keys(database_url: str) -> dict[str, list[str]]:
    keys: dict[str, list[str]] = {}
    with psycopg.connect(database_url) as connection:
        for table, definition in connection.execute(_UNIQUE.encode()):
            found = _KEYS.search(definition)
            assert found is not None, definition
            keys.setdefault(table, []).append(_plain(found[1]))
    return keys


def faults_of(insert: Insert, keys: list[str]) -> list[str]:
    if not insert.target:
        return []
    # A new id meets no other; one that follows from the row does.
    others = [key for key in keys if key != insert.target and (key != "id" or insert.derives_its_id)]
    others = [key for key in others if (insert.where, key) not in OUTSIDE]
    return [f"{insert.where}: {insert.table} ({key}) is not covered" for key in others]


def test_a_conflict_clause_covers_every_unique_constraint(unique_keys: dict[str, list[str]]) -> None:
    found = [
        fault for insert in all_inserts() for fault in faults_of(insert, unique_keys.get(insert.table, []))
    ]
    assert not found, "\n".join(found)


def test_a_clause_that_leaves_a_constraint_out_is_found() -> None:
    (derived,) = inserts_in(
        "here", "insert into note (id, name) select md5(%(name)s), %(name)s on conflict (name) do nothing"
    )
    assert faults_of(derived, ["id", "name"]) == ["here: note (id) is not covered"]
    (fresh,) = inserts_in(
        "here", "insert into note (id, name) values (%(id)s, %(name)s) on conflict (lower(name)) do nothing"
    )
    assert faults_of(fresh, ["id", "lower(name)"]) == []
    assert faults_of(fresh, ["id", "lower(name)", "place"]) == ["here: note (place) is not covered"]
    (every,) = inserts_in("here", "insert into note (id) select md5('') on conflict do nothing")
    assert faults_of(every, ["id", "name"]) == []
