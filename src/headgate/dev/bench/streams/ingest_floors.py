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
    "id": "uuid", "channel_id": "uuid", "content_key": "text", "kind": "text", "title": "text",
    "size_bytes": "bigint", "sent_at": "timestamptz", "caught_at": "timestamptz",
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

Row = Sequence[Any]
Rows = Sequence[Row]


@dataclass(frozen=True)
class Written:
    """Rows that the product wrote, as plain values, to be written again without it."""

    messages: Rows
    sightings: Rows
    items: Rows
    files: Rows


def read_rows(url: str, channel_id: UUID) -> Written:
    """Return the messages, sightings, items and files of a channel, in the order in which they were made."""
    with psycopg.connect(url) as connection:
        return Written(
            connection.execute(_select("message", _MESSAGE, by="position"), [channel_id]).fetchall(),
            connection.execute(_select("sighting", _SIGHTING), [channel_id]).fetchall(),
            connection.execute(_select("item", _ITEM), [channel_id]).fetchall(),
            connection.execute(_select("item_file", _FILE, by="sighting_id"), [channel_id]).fetchall(),
        )


def measure_batches(url: str, rows: Written, *, page: int, batch: int) -> float:
    """Return things a second, each of four rows: plain upserts of many, with a commit for each."""
    messages = _upsert_many("message", _MESSAGE, _MESSAGE_CONFLICT)
    sightings = _upsert_many("sighting", _SIGHTING, _SIGHTING_CONFLICT)
    items = _upsert_many("item", _ITEM, _ITEM_CONFLICT)
    files = _upsert_many("item_file", _FILE, _FILE_CONFLICT)
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
        return len(rows.sightings) / (perf_counter() - began_s)


def measure_rows(url: str, rows: Written, *, count: int) -> float:
    """Return things a second when each of their rows is upserted alone, with its own commit."""
    message = _upsert_one("message", _MESSAGE, _MESSAGE_CONFLICT)
    sighting = _upsert_one("sighting", _SIGHTING, _SIGHTING_CONFLICT)
    item = _upsert_one("item", _ITEM, _ITEM_CONFLICT)
    file = _upsert_one("item_file", _FILE, _FILE_CONFLICT)
    tables = (rows.messages, rows.sightings, rows.items, rows.files)
    things = list(zip(*(table[:count] for table in tables), strict=True))
    with psycopg.connect(url, autocommit=True, options="-c jit=off") as connection:
        began_s = perf_counter()
        for one_message, one_sighting, one_item, one_file in things:
            connection.execute(message, one_message)
            connection.execute(sighting, one_sighting)
            connection.execute(item, one_item)
            connection.execute(file, one_file)
        return len(things) / (perf_counter() - began_s)


def _columns(rows: Rows) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _select(table: str, columns: Mapping[str, str], *, by: str = "id") -> bytes:
    return f"select {', '.join(columns)} from {table} where channel_id = %s order by {by}".encode()  # noqa: S608


def _upsert_many(table: str, columns: Mapping[str, str], conflict: str) -> bytes:
    arrays = ", ".join(f"%s::{of}[]" for of in columns.values())
    return _insert(table, columns, f"select * from unnest({arrays})", conflict)  # noqa: S608


def _upsert_one(table: str, columns: Mapping[str, str], conflict: str) -> bytes:
    return _insert(table, columns, f"values ({', '.join('%s' for _ in columns)})", conflict)


def _insert(table: str, columns: Mapping[str, str], rows: str, conflict: str) -> bytes:
    return f"insert into {table} ({', '.join(columns)}) {rows} {conflict}".encode()
