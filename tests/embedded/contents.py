"""All that a database holds, for comparing it with another or with itself at another time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import psycopg
from psycopg import sql

# When a migration was applied is true of one database and not of its copy.
MADE_BY_EACH = "headgate_migration"
SCHEMAS = r"n.nspname !~ '^pg_' and n.nspname <> 'information_schema'"
OBJECTS = {
    "functions": "select p.oid::regprocedure::text from pg_proc p"
    f" join pg_namespace n on n.oid = p.pronamespace where {SCHEMAS} order by 1",
    "triggers": "select t.tgrelid::regclass::text || ' ' || t.tgname || ' ' || t.tgenabled::text"
    " from pg_trigger t"
    " join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace"
    f" where not t.tgisinternal and {SCHEMAS} order by 1",
    "constraints": "select k.conrelid::regclass::text || ' ' || k.conname || ' ' ||"
    " pg_get_constraintdef(k.oid)"
    f" from pg_constraint k join pg_namespace n on n.oid = k.connamespace where {SCHEMAS} order by 1",
    "sequences": "select sequencename || ' ' || coalesce(last_value::text, 'unused') from pg_sequences"
    " where schemaname not like 'sim%' order by 1",
    "extensions": "select extname::text from pg_extension order by 1",
}


def rows_of(url: str) -> dict[str, list[str]]:
    """Return every row of every table in the schemas that are not the server's own, as text."""
    with psycopg.connect(url) as connection:
        names: Iterable[Any] = connection.execute(
            "select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            f" where c.relkind = 'r' and {SCHEMAS} order by 1, 2"
        ).fetchall()
        return {f"{schema}.{name}": _rows(connection, schema, name) for schema, name in names}


def contents_of(url: str) -> dict[str, list[str]]:
    """Return the rows, and what else there is beside tables."""
    with psycopg.connect(url) as connection:
        objects = {
            name: [str(row[0]) for row in connection.execute(query.encode())]
            for name, query in OBJECTS.items()
        }
    return rows_of(url) | objects


def _rows(connection: psycopg.Connection[Any], schema: str, name: str) -> list[str]:
    columns = sql.SQL("t.number, t.name, t.checksum" if name == MADE_BY_EACH else "t.*")
    query = sql.SQL("select (select row_to_json(r)::text from (select {}) r) from {} t order by 1")
    return [row[0] for row in connection.execute(query.format(columns, sql.Identifier(schema, name)))]
