"""Named SQL: every statement of a module stands in the `.sql` file beside it.

A file is a sequence of blocks `-- name: the_name`, each with a comment that says why and one
statement with `%(name)s` parameters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from typing import LiteralString, cast

PACKAGE = "headgate.storage"
_NAME = re.compile(r"^-- name: (?P<name>[a-z][a-z0-9_]*)\s*$", re.MULTILINE)
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


class QueryFile:
    """The statements of one file, by name."""

    def __init__(self, file: str, text: str) -> None:
        pieces = _NAME.split(text)
        names, bodies = pieces[1::2], pieces[2::2]
        if len(set(names)) != len(names):
            raise ValueError(f"{file} names a query twice")
        self._queries = {
            name: Query(file, name, cast("LiteralString", body.strip().rstrip(";")))
            for name, body in zip(names, bodies, strict=True)
        }

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
