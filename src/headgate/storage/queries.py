"""Named SQL: every statement of a module stands in the `.sql` file beside it.

A file is a sequence of blocks `-- name: the_name`, each with a comment that says why and one
statement with `%(name)s` parameters.

What several statements share stands above the first one: `-- let passes: <SQL>` says what `{passes}` means.
With `-- each order newest: key=sort_at way=desc`, a block named `walk_{order}` is a statement for each order,
in which `{key}` and `{way}` mean what the line of that order says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from typing import LiteralString, cast

PACKAGE = "headgate.storage"
_NAME = re.compile(r"^-- name: (?P<name>[a-z][a-z0-9_]*(?:\{[a-z]+\})?)\s*$", re.MULTILINE)
_LET = re.compile(r"^-- let (?P<name>[a-z_]+): (?P<sql>.+(?:\n--  .+)*)", re.MULTILINE)
_EACH = re.compile(r"^-- each (?P<what>[a-z]+) (?P<value>[a-z_]+): (?P<words>.+)$", re.MULTILINE)
_PARAMETER = re.compile(r"%\((?P<name>\w+)\)s")


@dataclass(frozen=True)
class Query:
    """One named statement."""

    file: str
    name: str
    sql: LiteralString

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameter names in the order of their first appearance."""
        return tuple(dict.fromkeys(_PARAMETER.findall(self.sql)))


class _Shared:
    """What stands above the first statement of a file, for all of them."""

    def __init__(self, text: str) -> None:
        self._lets = {found["name"]: found["sql"].replace("\n--", "\n") for found in _LET.finditer(text)}
        self._each: dict[str, dict[str, dict[str, str]]] = {}
        for found in _EACH.finditer(text):
            words = dict(word.split("=", 1) for word in found["words"].split())
            self._each.setdefault(found["what"], {})[found["value"]] = words

    def expand(self, name: str, body: str) -> list[tuple[str, str]]:
        """Return the statements that a block stands for, each with its name."""
        sql = _replaced(body, self._lets)
        start, _, what = name.removesuffix("}").partition("{")
        if not what:
            return [(name, sql)]
        return [(start + value, _replaced(sql, words)) for value, words in self._each[what].items()]


def _replaced(sql: str, words: dict[str, str]) -> str:
    for name, text in words.items():
        sql = sql.replace(f"{{{name}}}", text)
    return sql


class QueryFile:
    """The statements of one file, by name."""

    def __init__(self, file: str, text: str) -> None:
        pieces = _NAME.split(text)
        shared = _Shared(pieces[0])
        written = [
            statement
            for name, body in zip(pieces[1::2], pieces[2::2], strict=True)
            for statement in shared.expand(name, body.strip().rstrip(";"))
        ]
        self._queries = {name: Query(file, name, cast("LiteralString", sql)) for name, sql in written}
        if len(self._queries) != len(written):
            raise ValueError(f"{file} names a query twice")

    def __getitem__(self, name: str) -> Query:
        return self._queries[name]

    def __iter__(self):
        return iter(self._queries.values())


def load_queries(module: str) -> QueryFile:
    """Return the statements of the `.sql` file beside a module, which passes its `__name__`."""
    package, _, name = module.rpartition(".")
    folder = package.removeprefix(PACKAGE).removeprefix(".").replace(".", "/")
    text = resources.files(package).joinpath(f"{name}.sql").read_text(encoding="utf-8")
    return QueryFile(f"{folder}/{name}.sql" if folder else f"{name}.sql", text)


def list_query_files() -> list[QueryFile]:
    """Return every query file of the product, for the tests that prepare them all."""
    folder = resources.files(PACKAGE)
    rooms = [entry.name for entry in folder.iterdir() if entry.is_dir() and entry.name != "migrations"]
    return [
        load_queries(f"{package}.{entry.name.removesuffix('.sql')}")
        for package in [PACKAGE, *(f"{PACKAGE}.{room}" for room in sorted(rooms))]
        for entry in sorted(resources.files(package).iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".sql") and entry.name != "schema.sql"
    ]
