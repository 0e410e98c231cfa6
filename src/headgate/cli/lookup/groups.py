"""Groups, as people name them on the command line."""

from __future__ import annotations

from uuid import UUID

from headgate.cli.lookup.items import find_item
from headgate.domain.errors import UserError
from headgate.domain.text import containing, typed_text
from headgate.storage.database import Tx
from headgate.storage.groups.groups import NamedGroup, find_by_name

_MAX_NAMED = 5


async def find_group(tx: Tx, reference: str) -> UUID:
    """Return the group that is meant, or say which could be."""
    try:
        return UUID(reference)
    except ValueError:
        found = await _find(tx, reference)
    if not found:
        raise UserError(f"No group has {reference!r} in its name.", command="headgate library list")
    return _choose(found, reference)


async def find_thing(tx: Tx, reference: str) -> UUID:
    """Return the group or item that is meant; a group goes before an item of the same name."""
    try:
        return UUID(reference)
    except ValueError:
        found = await _find(tx, reference)
    return _choose(found, reference) if found else await find_item(tx, reference)


async def _find(tx: Tx, reference: str) -> list[NamedGroup]:
    return await find_by_name(tx, pattern=containing(typed_text(reference)), limit=_MAX_NAMED + 1)


def _choose(found: list[NamedGroup], reference: str) -> UUID:
    same = [group for group in found if group.name.casefold() == reference.strip().casefold()]
    if len(same) == 1 or len(found) == 1:
        return (same or found)[0].id
    named = "; ".join(f"{group.id} ({group.name})" for group in found[:_MAX_NAMED])
    raise UserError(
        f"Several groups have {reference!r} in their names.", remedy=f"Use the id of one: {named}."
    )
