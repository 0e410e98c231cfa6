"""All files behind a row of the library, under the items that they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from headgate.catalogue.shelf.listing import ListedRow, list_rows
from headgate.domain.errors import UserError
from headgate.domain.text import containing
from headgate.storage.database import Tx
from headgate.storage.shelf import row_files
from headgate.storage.shelf.row_files import RowItem

MAX_SECTIONS = 50
"""Items of one answer."""
MAX_FILES = 100
"""Of each item in one answer; the item's own page lists all of them."""
MAX_THINGS = 10_000
"""Items of one action."""


@dataclass(frozen=True)
class FileLine:
    """A file as it is listed: inside an archive, or a file that was posted."""

    name: str
    size_bytes: int | None
    path: str
    """Where it is downloaded, below the item; empty if it is not stored."""


@dataclass(frozen=True)
class FileSection:
    """The files of one item."""

    item: RowItem
    files: list[FileLine]
    more: int
    """Files that are not listed here."""


@dataclass(frozen=True)
class RowFiles:
    """Some of the items of a row with their files."""

    sections: list[FileSection]
    next: int | None
    """Where the next page begins, as `skip`."""


async def list_row_files(tx: Tx, row_id: UUID, *, search: str = "", skip: int = 0) -> RowFiles:
    """Return the files of a row by item: those inside archives, else the archives and files themselves."""
    pattern = containing(search) if search else None
    items = await row_files.list_items(tx, row_id, pattern=pattern, skip=skip, limit=MAX_SECTIONS + 1)
    shown = items[:MAX_SECTIONS]
    sections = await _sections(tx, shown, pattern)
    return RowFiles(sections, skip + MAX_SECTIONS if len(items) > MAX_SECTIONS else None)


async def list_things(tx: Tx, ids: Sequence[UUID]) -> list[UUID]:
    """Return the items that selected rows and members stand for."""
    found = await row_files.list_things(tx, ids, limit=MAX_THINGS + 1)
    if len(found) > MAX_THINGS:
        raise UserError(f"At most {MAX_THINGS:,} items can be changed at once.", remedy="Choose fewer.")
    if not found:
        raise UserError("Nothing is selected.", remedy="Select something first.", field="items")
    return found


async def find_homes(tx: Tx, row_ids: Sequence[UUID]) -> dict[UUID, ListedRow]:
    """Return the rows of the groups that former rows have joined."""
    homes = await row_files.list_homes(tx, row_ids) if row_ids else {}
    rows = {row.id: row for row in await list_rows(tx, sorted(set(homes.values())))}
    return {row_id: rows[group_id] for row_id, group_id in homes.items() if group_id in rows}


async def _sections(tx: Tx, items: Sequence[RowItem], pattern: str | None) -> list[FileSection]:
    ids = [item.id for item in items]
    lines: dict[UUID, list[FileLine]] = {item_id: [] for item_id in ids}
    found: dict[UUID, int] = dict.fromkeys(ids, 0)
    for entry in await row_files.list_entries(tx, ids, pattern=pattern, limit=MAX_FILES):
        lines[entry.item_id].append(FileLine(entry.name, entry.size_bytes, f"contents/{entry.number}"))
        found[entry.item_id] = entry.found
    without = [item_id for item_id in ids if not lines[item_id]]
    for file in await row_files.list_volumes(tx, without, pattern=pattern, limit=MAX_FILES):
        path = f"files/{file.sighting_id}" if file.is_stored else ""
        lines[file.item_id].append(FileLine(file.name, file.size_bytes, path))
        found[file.item_id] = file.found
    return [FileSection(item, lines[item.id], max(0, found[item.id] - len(lines[item.id]))) for item in items]
