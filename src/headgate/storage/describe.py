"""The schema of a database as text, equal on every supported server.

`schema.sql` is this text after all migrations: what a reader opens to see the tables, and what a test
compares a fresh database with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from headgate.storage.database import Tx, connect
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class ForeignKind:
    """A relation that is no plain table, index or sequence."""

    name: str
    kind: str


@dataclass(frozen=True)
class EnumType:
    """An enumeration."""

    name: str
    labels: list[str]


@dataclass(frozen=True)
class Column:
    """A column, and what its table is."""

    table_name: str
    unlogged: bool
    options: str
    name: str
    type: str
    required: bool
    identity: str
    generated: str
    expression: str


@dataclass(frozen=True)
class Constraint:
    """A constraint in the server's words."""

    table_name: str
    name: str
    definition: str


@dataclass(frozen=True)
class DdlStatement:
    """An index or a trigger of a table, as a whole statement."""

    table_name: str
    definition: str


async def describe_schema(url: str) -> str:
    """Return the tables, views, types and functions of ours as SQL, in a fixed order."""
    connection = await connect(url)
    async with connection:
        tx = Tx(connection)
        if foreign := await tx.all(ForeignKind, Q["list_foreign_kinds"]):
            raise RuntimeError(f"describe.sql does not know these kinds of relation: {foreign}")
        types = await tx.all(EnumType, Q["list_types"])
        functions = await tx.column(Q["list_functions"])
        views = await tx.column(Q["list_views"])
        columns = await tx.all(Column, Q["list_columns"])
        constraints = await tx.all(Constraint, Q["list_constraints"])
        statements = await tx.all(DdlStatement, Q["list_indexes"])
    blocks = [
        *(_spell_type(each) for each in types),
        *(f"{definition.strip()};\n" for definition in functions),
        *(f"{definition.strip()}\n" for definition in views),
        *_spell_tables(columns, constraints, statements),
    ]
    return "\n".join(blocks)


def _spell_type(enum: EnumType) -> str:
    labels = ", ".join(f"'{label}'" for label in enum.labels)
    return f"CREATE TYPE {enum.name} AS ENUM ({labels});\n"


def _spell_tables(
    columns: Sequence[Column], constraints: Sequence[Constraint], statements: Sequence[DdlStatement]
) -> Iterator[str]:
    for table, members in groupby(columns, key=lambda column: column.table_name):
        own = list(members)
        lines = [
            *(_spell_column(column) for column in own),
            *(f"CONSTRAINT {c.name} {c.definition}" for c in constraints if c.table_name == table),
        ]
        kind = "UNLOGGED TABLE" if own[0].unlogged else "TABLE"
        options = f" WITH ({own[0].options})" if own[0].options else ""
        body = ",\n".join(f"    {line}" for line in lines)
        after = "".join(f"{s.definition};\n" for s in statements if s.table_name == table)
        yield f"CREATE {kind} {table} (\n{body}\n){options};\n{after}"


def _spell_column(column: Column) -> str:
    words = [column.name, column.type]
    if column.required:
        words.append("NOT NULL")
    if column.generated:
        words.append(f"GENERATED ALWAYS AS ({column.expression}) STORED")
    elif column.identity:
        always = "ALWAYS" if column.identity == "a" else "BY DEFAULT"
        words.append(f"GENERATED {always} AS IDENTITY")
    elif column.expression:
        words.append(f"DEFAULT {column.expression}")
    return " ".join(words)
