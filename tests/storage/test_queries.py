"""Every named query is one that the server accepts, that its module uses, and that says why it is there."""

from __future__ import annotations

import ast
import re
from importlib import resources

import psycopg
import pytest

from headgate.storage.queries import Query, QueryFile, list_query_files

FILES = list_query_files()
_PARAMETER = re.compile(r"%\((\w+)\)s")


def _file_name(file: QueryFile) -> str:
    return next(iter(file)).file


def _numbered(query: Query) -> str:
    """Return the statement with `$n` in place of `%(name)s`."""
    numbers = {name: str(number) for number, name in enumerate(query.parameters, start=1)}
    return _PARAMETER.sub(lambda match: f"${numbers[match[1]]}", query.sql).replace("%%", "%")


def _queries_named_in(module_text: str) -> set[str]:
    """Return the names in subscripts such as `Q["list_due"]`."""
    return {
        node.slice.value
        for node in ast.walk(ast.parse(module_text))
        if isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    }


def _try(connection: psycopg.Connection, query: Query) -> None:
    """Let the server parse and plan a statement; those that cannot be prepared are run and rolled back."""
    statement = _numbered(query)
    first_word = next(line for line in statement.splitlines() if not line.startswith("--")).split()[0]
    if first_word in {"select", "insert", "update", "delete", "with", "values", "merge"}:
        connection.execute(f"prepare candidate as {statement}".encode())
    else:
        connection.execute(statement.encode())


@pytest.mark.parametrize("file", FILES, ids=_file_name)
def test_the_server_accepts_every_query(file: QueryFile, shared_url: str) -> None:
    faults: list[str] = []
    with psycopg.connect(shared_url) as connection:
        for query in file:
            try:
                _try(connection, query)
                connection.execute("deallocate all")
            except psycopg.Error as error:
                faults.append(f"{query.file}, {query.name}: {error}")
            connection.rollback()
    assert not faults, "\n".join(faults)


@pytest.mark.once
@pytest.mark.parametrize("file", FILES, ids=_file_name)
def test_every_query_is_used_by_the_module_beside_it(file: QueryFile) -> None:
    module = _file_name(file).replace(".sql", ".py")
    text = resources.files("headgate.storage").joinpath(module).read_text(encoding="utf-8")
    unused = {query.name for query in file} - _queries_named_in(text)
    assert not unused, f"{module} does not use {sorted(unused)}"


@pytest.mark.once
@pytest.mark.parametrize("file", FILES, ids=_file_name)
def test_every_query_has_a_comment(file: QueryFile) -> None:
    silent = [query.name for query in file if not query.sql.startswith("-- ")]
    assert not silent, f"{_file_name(file)}: say why above {silent}"


@pytest.mark.once
def test_a_file_that_names_a_query_twice_is_refused() -> None:
    with pytest.raises(ValueError, match=r"things\.sql names a query twice"):
        QueryFile("things.sql", "-- name: one\nselect 1\n-- name: one\nselect 2")


@pytest.mark.once
def test_parameters_are_listed_once_in_order_of_appearance() -> None:
    (query,) = QueryFile("things.sql", "-- name: one\nselect %(b)s, %(a)s, %(b)s")
    assert query.parameters == ("b", "a")
