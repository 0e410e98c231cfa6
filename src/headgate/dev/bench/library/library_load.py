"""Loads a planned library by COPY: items, what belongs to them, and the shelf.

The rows of the shelf are computed here once more, because the product's own way would take hours;
its verification says whether they are true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice
from uuid import UUID

from headgate.dev.bench.library.library_plan import (
    BEGAN_AT,
    CHANNELS,
    FILES_INSIDE,
    TOPICS,
    LibraryPlan,
    PlannedItem,
    PlannedRow,
    channel_id,
    content_sha256,
    uuid_of,
)
from headgate.domain.library.facets import FacetKind, facet_number
from headgate.domain.library.label_rules import label_key
from headgate.domain.library.name_keys import name_key as key_of_name
from headgate.storage.database import Connection
from headgate.storage.shelf.refresh import album_group_id

AT_ONCE = 20_000
_LATER = timedelta(hours=1)
_FILE_STATES = {"stored": "stored", "waiting": "wanted", "dropped": "dropped"}
_COPIES: dict[str, str] = {
    "channel": "id, platform, key, kind, title, created_at",
    "topic": "channel_id, key, title, created_at",
    "item_group": "id, kind, channel_id, source_key, name, name_key, name_by, created_at",
    "item": "id, channel_id, content_key, kind, type, title, name_key, size_bytes, sent_at, caught_at,"
    " content_hash, group_id, grouped_by",
    "message": "channel_id, key, position, album, text, sent_at, version_at, seen_at",
    "sighting": "id, channel_id, message_key, attachment_key, position, topic, file_name, size_bytes,"
    " mime_type, sent_at, version_at, seen_at, verdict, item_id",
    "blob": "id, sha256, size_bytes, object_name, created_at",
    "item_file": "sighting_id, channel_id, state, blob_id, stored_at",
    "inspection": "item_id, state, entry_count, volumes, inspected_at",
    "item_label": "item_id, kind, source, key, name, rule",
    "shelf": "id, group_id, item_id, content_hash, name, name_key, kind, type, size_bytes, min_bytes,"
    " max_bytes, oldest_at, file_count, member_count, content_count, tags, creators, channel_ids,"
    " cover_item_id, state, problem, sort_at, facets, dated_facets",
    "shelf_facet": "facet, sort_at, shelf_id, name_key, size_bytes",
}
_LIST_INDEXES = """
select format('drop index %%I', i.relname), pg_get_indexdef(i.oid)
from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
where t.relname = any(%(tables)s) and not x.indisunique
"""
_LIST_FOREIGN_KEYS = """
select format('alter table %%I drop constraint %%I', t.relname, c.conname),
       format('alter table %%I add constraint %%I %%s', t.relname, c.conname, pg_get_constraintdef(c.oid))
from pg_constraint c join pg_class t on t.oid = c.conrelid
where t.relname = any(%(tables)s) and c.contype = 'f'
"""
Lines = dict[str, list[str]]


async def load_library(connection: Connection, plan: LibraryPlan, on_progress: Callable[[int], None]) -> None:
    """Load a planned library into a database that has nothing of it."""
    set_aside = await _set_aside(connection)
    await _copy(connection, _places())
    rows = plan.rows()
    while batch := list(islice(rows, AT_ONCE)):
        lines: Lines = {table: [] for table in _COPIES}
        for row in batch:
            _write_row(row, lines)
        await _copy(connection, lines)
        on_progress(sum(len(row.members) for row in batch))
    for statement in set_aside:
        await connection.execute(statement.encode())
    await connection.execute("vacuum analyze")


async def _set_aside(connection: Connection) -> list[str]:
    """Drop foreign keys and plain indexes for the load; returns the statements that create them again."""
    cursor = await connection.execute(_LIST_INDEXES, {"tables": list(_COPIES)})
    found = await cursor.fetchall()
    cursor = await connection.execute(_LIST_FOREIGN_KEYS, {"tables": list(_COPIES)})
    found += await cursor.fetchall()
    for drop, _ in found:
        await connection.execute(drop.encode())
    return [make for _, make in found]


async def _copy(connection: Connection, lines: Lines) -> None:
    for table, columns in _COPIES.items():
        if not lines.get(table):
            continue
        async with (
            connection.cursor() as cursor,
            cursor.copy(f"copy {table} ({columns}) from stdin".encode()) as copy,
        ):
            await copy.write("\n".join(lines[table]) + "\n")


def _places() -> Lines:
    lines: Lines = {"channel": [], "topic": []}
    for number in range(CHANNELS):
        place = channel_id(number)
        lines["channel"].append(
            _line(place, "simulated", f"bench-{number}", "stream", f"Channel {number}", BEGAN_AT)
        )
        if number % 10 == 0:
            lines["topic"] += [
                _line(place, f"topic-{topic}", f"Topic {topic}", BEGAN_AT) for topic in range(TOPICS)
            ]
    return lines


def _write_row(row: PlannedRow, lines: Lines) -> None:
    group_id: UUID | None = None
    if row.group is not None:
        album = f"album-{row.group.number}" if row.group.album else ""
        first = row.members[0]
        place = channel_id(first.channel) if album else None
        group_id = (
            album_group_id((channel_id(first.channel), album)) if album else uuid_of(3, row.group.number)
        )
        kind, by = ("album", "automatic") if album else ("hand", "person")
        name = row.group.name
        lines["item_group"].append(
            _line(group_id, kind, place, album, name, name_key(name), by, first.sent_at)
        )
        for number, member in enumerate(row.members if album else ()):
            said, at = name if number == 0 else "", member.sent_at
            lines["message"].append(
                _line(channel_id(member.channel), _message(member), member.number, album, said, at, at, at)
            )
    for member in row.members:
        grouped_by = "" if row.group is None else "album" if row.group.album else "person"
        _write_item(member, group_id, grouped_by, lines)
    _write_shelf(row, group_id, lines)


def _write_item(item: PlannedItem, group_id: UUID | None, grouped_by: str, lines: Lines) -> None:
    own, place, at = item_id(item.number), _channel(item.channel), item.sent_at.isoformat()
    content = content_sha256(item.content) if item.state == "stored" else None
    caught_at, sighting = (item.sent_at + _LATER).isoformat(), _id(4, item.number)
    lines["item"].append(
        _line(
            own, place, f"place:{_message(item)}/1", item.kind, item.type, item.title, name_key(item.title),
            item.size_bytes, at, caught_at, content, group_id, grouped_by,
        )
    )  # fmt: skip
    lines["sighting"].append(
        _line(
            sighting, place, _message(item), "1", item.number, item.topic, f"{item.title}.{item.type}",
            item.size_bytes, "", at, at, caught_at, "kept", own,
        )
    )  # fmt: skip
    blob = _id(5, item.content) if content else None
    if content and item.content == item.number:
        lines["blob"].append(_line(blob, content, item.size_bytes, f"bench/{content.hex()}", at))
    if item.state in _FILE_STATES or item.failed:
        state = _FILE_STATES.get(item.state, "failed")
        lines["item_file"].append(_line(sighting, place, state, blob, caught_at if blob else None))
    if blob:
        inside = FILES_INSIDE if item.kind == "package" else 0
        lines["inspection"].append(_line(own, "ok" if inside else "plain", inside, f"{{{blob}}}", caught_at))
    names = [("creator", item.creator)] if item.creator else []
    for kind, name in names + [("tag", tag) for tag in item.tags]:
        lines["item_label"].append(_line(own, kind, "rule", label_key(name), name, "bench"))


def _write_shelf(row: PlannedRow, group_id: UUID | None, lines: Lines) -> None:
    members = sorted(row.members, key=lambda item: (item.sent_at, item.number))
    first, dates = members[0], [item.sent_at for item in members]
    sizes = [item.size_bytes for item in members]
    size_bytes = sum(sizes) if group_id else sizes[0]
    files = [FILES_INSIDE if item.kind == "package" and item.state == "stored" else 1 for item in members]
    row_id = group_id or item_id(first.number)
    sort_at = max(dates) if group_id else min(dates)
    dated = sorted(_dated_facets(members))
    facets = sorted({*dated, *_other_facets(members, grouped=group_id is not None)})
    name = row.group.name if row.group else first.title
    content = content_sha256(first.content) if first.state == "stored" and not group_id else None
    lines["shelf"].append(
        _line(
            row_id, group_id, item_id(first.number), content, name, name_key(name),
            _shared({item.kind for item in members}), _shared({item.type for item in members}),
            size_bytes, min(sizes), max(sizes), min(dates),
            sum(files) if group_id else files[0], len(members), len({item.content for item in members}),
            _array(sorted({tag for item in members for tag in item.tags}, key=label_key)),
            _array(sorted({item.creator for item in members if item.creator}, key=label_key)),
            _array(sorted({_channel(item.channel) for item in members})), None, _state(members),
            any(item.failed for item in members), sort_at, _array(facets), _array(dated),
        )
    )  # fmt: skip
    place = f"\t{sort_at.isoformat()}\t{row_id}\t{name_key(name)}\t{size_bytes}"
    lines["shelf_facet"] += [f"{facet}{place}" for facet in dated]


def _dated_facets(members: Iterable[PlannedItem]) -> set[int]:
    found: set[int] = set()
    for item in members:
        place = _channel(item.channel)
        found.add(_facet("channel", place))
        if item.topic:
            found.add(_facet("topic", f"{place}/{item.topic}"))
        if item.creator:
            found.add(_facet("creator", label_key(item.creator)))
        found.update(_facet("tag", label_key(tag)) for tag in item.tags)
    return found


def _other_facets(members: Iterable[PlannedItem], *, grouped: bool) -> set[int]:
    found: set[int] = set() if grouped else {_facet("ungrouped", "")}
    for item in members:
        found |= {_facet("kind", item.kind), _facet("type", item.type), _facet("state", item.state)}
        if item.failed:
            found.add(_facet("problem", ""))
    return found


def _state(members: Iterable[PlannedItem]) -> str:
    states = {item.state for item in members}
    if "waiting" in states or states == {"stored"}:
        return "waiting" if "waiting" in states else "stored"
    return next(
        (one for one in ("partial", "dropped") if {"partial": "stored"}.get(one, one) in states), "listed"
    )


@lru_cache(maxsize=2)
def name_key(name: str) -> str:
    """Return the same again for the row that shows one item."""
    return key_of_name(name)


@lru_cache(maxsize=CHANNELS)
def _channel(number: int) -> str:
    return str(channel_id(number))


def _id(table: int, number: int) -> str:
    """Return an id as `uuid_of` makes it, at a fraction of the cost."""
    return f"01900000-0000-7000-8000-{table:02x}{number:010x}"


def item_id(number: int) -> str:
    return _id(2, number)


@lru_cache(maxsize=100_000)
def _facet(kind: FacetKind, key: str) -> int:
    return facet_number(kind, key)


def _message(item: PlannedItem) -> str:
    return f"m{item.number}"


def _shared(values: set[str]) -> str:
    return next(iter(values)) if len(values) == 1 else "mixed"


def _array(values: Iterable[object]) -> str:
    return "{" + ",".join(f'"{value}"' for value in values) + "}"


def _line(*values: object) -> str:
    """Return a line of COPY; nothing in the plan needs to be escaped."""
    return "\t".join([value if isinstance(value, str) else _cell(value) for value in values])


def _cell(value: object) -> str:
    if value is None:
        return "\\N"
    if isinstance(value, bytes):
        return f"\\\\x{value.hex()}"
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)
