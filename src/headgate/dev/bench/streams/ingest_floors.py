"""What the bare database does with the rows that ingesting writes: in batches, and one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any
from uuid import UUID

import psycopg

_SIGHTING = {
    "id": "uuid", "channel_id": "uuid", "message_key": "text", "attachment_key": "text", "position": "bigint",
    "topic": "text", "url": "text", "file_name": "text", "size_bytes": "bigint", "mime_type": "text",
    "content_id": "text", "sent_at": "timestamptz", "version_at": "timestamptz", "seen_at": "timestamptz",
    "verdict": "text", "settings_hash": "text",
}  # fmt: skip
_MESSAGE = {
    "channel_id": "uuid", "key": "text", "position": "bigint", "topic": "text", "album": "text",
    "author_key": "text", "author": "text", "from_bot": "boolean", "from_webhook": "boolean", "text": "text",
    "reply_to": "text", "sent_at": "timestamptz", "version_at": "timestamptz", "seen_at": "timestamptz",
}  # fmt: skip
_ITEM = {
    "id": "uuid", "channel_id": "uuid", "content_key": "text", "kind": "text", "type": "text",
    "title": "text", "name_key": "text", "size_bytes": "bigint", "sent_at": "timestamptz",
    "caught_at": "timestamptz",
}  # fmt: skip
_SHELF = {
    "id": "uuid", "item_id": "uuid", "name": "text", "name_key": "text", "kind": "text", "type": "text",
    "size_bytes": "bigint", "min_bytes": "bigint", "max_bytes": "bigint", "oldest_at": "timestamptz",
    "file_count": "bigint", "member_count": "int", "content_count": "int", "tags": "text[]",
    "creators": "text[]", "channel_ids": "uuid[]", "state": "text", "problem": "boolean",
    "sort_at": "timestamptz", "facets": "int[]", "dated_facets": "int[]",
}  # fmt: skip
_FACET = {
    "facet": "int", "sort_at": "timestamptz", "shelf_id": "uuid", "name_key": "text", "size_bytes": "bigint",
}  # fmt: skip

_FILE = {
    "sighting_id": "uuid", "channel_id": "uuid", "state": "text", "source": "text", "size_bytes": "bigint",
    "priority": "smallint", "due_at": "timestamptz",
}  # fmt: skip

_SIGHTING_CONFLICT = """on conflict (channel_id, message_key, attachment_key) do update
    set file_name = excluded.file_name, verdict = excluded.verdict"""
_MESSAGE_CONFLICT = """on conflict (channel_id, key) do update
    set text = excluded.text, version_at = excluded.version_at"""
_ITEM_CONFLICT = "on conflict (channel_id, content_key) do nothing"
_FILE_CONFLICT = "on conflict (sighting_id) do nothing"
_SHELF_CONFLICT = "on conflict (id) do nothing"
_FACET_CONFLICT = "on conflict do nothing"

Row = Sequence[Any]
Rows = Sequence[Row]


@dataclass(frozen=True)
class Written:
    """Rows that the product wrote, as plain values, to be written again without it."""

    messages: Rows
    sightings: Rows
    items: Rows
    files: Rows
    shelf: Rows
    facets: Rows
    """Two for each row of the shelf: its channel and its topic."""


def read_rows(url: str, channel_id: UUID) -> Written:
    """Return all that was written of a channel's messages, in the order in which it was made."""
    columns = ", ".join(f"f.{name}" for name in _FACET)
    facets = f"select {columns} from shelf s join shelf_facet f on f.shelf_id = s.id"  # noqa: S608 - our own words
    with psycopg.connect(url) as connection:
        return Written(
            connection.execute(_select("message", _MESSAGE, by="position"), [channel_id]).fetchall(),
            connection.execute(_select("sighting", _SIGHTING), [channel_id]).fetchall(),
            connection.execute(_select("item", _ITEM), [channel_id]).fetchall(),
            connection.execute(_select("item_file", _FILE, by="sighting_id"), [channel_id]).fetchall(),
            connection.execute(_select("shelf", _SHELF, of="%s = any(channel_ids)"), [channel_id]).fetchall(),
            connection.execute(
                f"{facets} where %s = any(s.channel_ids) order by s.id, f.facet".encode(), [channel_id]
            ).fetchall(),
        )


def measure_batches(url: str, rows: Written, *, page: int, batch: int) -> float:
    """Return things a second, each of seven rows: plain upserts of many, with a commit for each."""
    messages = _upsert_many("message", _MESSAGE, _MESSAGE_CONFLICT)
    sightings = _upsert_many("sighting", _SIGHTING, _SIGHTING_CONFLICT)
    items = _upsert_many("item", _ITEM, _ITEM_CONFLICT)
    files = _upsert_many("item_file", _FILE, _FILE_CONFLICT)
    shelf = _upsert_many("shelf", _SHELF, _SHELF_CONFLICT)
    facets = _upsert_many("shelf_facet", _FACET, _FACET_CONFLICT)
    with psycopg.connect(url, autocommit=True, options="-c jit=off") as connection:
        began_s = perf_counter()
        for first in range(0, len(rows.messages), page):
            connection.execute(messages, _columns(rows.messages[first : first + page]))
        for first in range(0, len(rows.sightings), page):
            connection.execute(sightings, _columns(rows.sightings[first : first + page]))
        for first in range(0, len(rows.items), batch):
            connection.execute(items, _columns(rows.items[first : first + batch]))
        for first in range(0, len(rows.files), page):
            connection.execute(files, _columns(rows.files[first : first + page]))
        for first in range(0, len(rows.shelf), page):
            connection.execute(shelf, _columns(rows.shelf[first : first + page]))
        for first in range(0, len(rows.facets), 2 * page):
            connection.execute(facets, _columns(rows.facets[first : first + 2 * page]))
        return len(rows.sightings) / (perf_counter() - began_s)


def measure_rows(url: str, rows: Written, *, count: int) -> float:
    """Return things a second when each of their rows is upserted alone, with its own commit."""
    message = _upsert_one("message", _MESSAGE, _MESSAGE_CONFLICT)
    sighting = _upsert_one("sighting", _SIGHTING, _SIGHTING_CONFLICT)
    item = _upsert_one("item", _ITEM, _ITEM_CONFLICT)
    file = _upsert_one("item_file", _FILE, _FILE_CONFLICT)
    row = _upsert_one("shelf", _SHELF, _SHELF_CONFLICT)
    facet = _upsert_one("shelf_facet", _FACET, _FACET_CONFLICT)
    pairs = list(zip(rows.facets[::2], rows.facets[1::2], strict=True))
    tables = (rows.messages, rows.sightings, rows.items, rows.files, rows.shelf, pairs)
    things = list(zip(*(table[:count] for table in tables), strict=True))
    with psycopg.connect(url, autocommit=True, options="-c jit=off") as connection:
        began_s = perf_counter()
        for one_message, one_sighting, one_item, one_file, one_row, two_facets in things:
            connection.execute(message, one_message)
            connection.execute(sighting, one_sighting)
            connection.execute(item, one_item)
            connection.execute(file, one_file)
            connection.execute(row, one_row)
            for one_facet in two_facets:
                connection.execute(facet, one_facet)
        return len(things) / (perf_counter() - began_s)


def _columns(rows: Rows) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _select(table: str, columns: Mapping[str, str], *, by: str = "id", of: str = "channel_id = %s") -> bytes:
    """Lists within a row are read as texts, since lists of lists cannot be written."""
    read = ", ".join(f"{name}::text" if "[]" in kind else name for name, kind in columns.items())
    return f"select {read} from {table} where {of} order by {by}".encode()  # noqa: S608


def _upsert_many(table: str, columns: Mapping[str, str], conflict: str) -> bytes:
    arrays = ", ".join(f"%s::{_plain(kind)}[]" for kind in columns.values())
    read = ", ".join(f"n.{name}::{kind}" for name, kind in columns.items())
    rows = f"select {read} from unnest({arrays}) as n ({', '.join(columns)})"  # noqa: S608
    return _insert(table, columns, rows, conflict)


def _upsert_one(table: str, columns: Mapping[str, str], conflict: str) -> bytes:
    return _insert(
        table, columns, f"values ({', '.join(f'%s::{kind}' for kind in columns.values())})", conflict
    )


def _plain(kind: str) -> str:
    return "text" if "[]" in kind else kind


def _insert(table: str, columns: Mapping[str, str], rows: str, conflict: str) -> bytes:
    return f"insert into {table} ({', '.join(columns)}) {rows} {conflict}".encode()
