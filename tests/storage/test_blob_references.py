"""The collector sees all that refers to a blob: foreign keys and the view `blob_reference` say the same."""

from __future__ import annotations

import psycopg

_FOREIGN_KEYS = """
select r.relname || '.' || a.attname, k.confdeltype::text,
       exists (select from pg_index i where i.indrelid = r.oid and i.indkey[0] = a.attnum)
from pg_constraint k
join pg_class r on r.oid = k.conrelid
join pg_attribute a on a.attrelid = r.oid and a.attnum = any(k.conkey)
where k.contype = 'f' and k.confrelid = 'blob'::regclass
"""

_SEEN_COLUMNS = """
select distinct r.relname || '.' || a.attname
from pg_rewrite w
join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
    and d.refclassid = 'pg_class'::regclass and d.refobjsubid > 0
join pg_class r on r.oid = d.refobjid
join pg_attribute a on a.attrelid = r.oid and a.attnum = d.refobjsubid
where w.ev_class = 'blob_reference'::regclass
"""

KEEP_NOTHING_ALIVE = {"blob_alias.blob_id"}
"""They go with their blob."""


def _faults(url: str, *statements: str) -> list[str]:
    """Return what the view and the foreign keys disagree about, after some changes that are undone."""
    with psycopg.connect(url) as connection:
        for statement in statements:
            connection.execute(statement.encode())
        seen = {row[0] for row in connection.execute(_SEEN_COLUMNS).fetchall()}
        faults: list[str] = []
        for column, on_delete, indexed in connection.execute(_FOREIGN_KEYS).fetchall():
            if column in KEEP_NOTHING_ALIVE:
                if on_delete != "c":
                    faults.append(f"{column} must go with its blob")
            elif on_delete != "a":
                faults.append(f"{column} must be `on delete no action`, or it loses its content silently")
            elif column not in seen:
                faults.append(f"add {column} to the view blob_reference, or its content is deleted")
            if not indexed:
                faults.append(f"{column} needs an index, or the collector reads the whole table")
        connection.rollback()
    return faults


def test_every_foreign_key_to_a_blob_is_in_the_view(database_url: str) -> None:
    assert _faults(database_url) == []


def test_a_column_that_the_view_lacks_is_found(database_url: str) -> None:
    table = "create table keepsake (blob_id uuid primary key references blob (id))"
    view = (
        "create or replace view blob_reference as"
        " select blob_id from item_file union all select blob_id from picture"
        " union all select blob_id from group_picture union all select blob_id from keepsake"
    )
    (fault,) = _faults(database_url, table)
    assert "add keepsake.blob_id to the view" in fault
    assert _faults(database_url, table, view) == []


def test_a_column_that_loses_its_content_or_has_no_index_is_found(database_url: str) -> None:
    cascade = "create table keepsake (blob_id uuid primary key references blob (id) on delete cascade)"
    (fault,) = _faults(database_url, cascade)
    assert "no action" in fault
    bare = "create table keepsake (blob_id uuid references blob (id))"
    assert any("needs an index" in fault for fault in _faults(database_url, bare))
