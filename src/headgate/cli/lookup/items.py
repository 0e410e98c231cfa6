"""Items, as people name them on the command line."""

from __future__ import annotations

from uuid import UUID

from headgate.domain.errors import UserError
from headgate.domain.text import containing, typed_text
from headgate.storage.catalogue.items import find_items
from headgate.storage.database import Tx

_MAX_NAMED = 5


async def find_item(tx: Tx, reference: str) -> UUID:
    """Return the item that is meant, or say which could be."""
    try:
        return UUID(reference)
    except ValueError:
        found = await find_items(tx, pattern=containing(typed_text(reference)), limit=_MAX_NAMED + 1)
    if not found:
        raise UserError(f"No title contains {reference!r}.", command="headgate library list")
    same = [item for item in found if item.title.casefold() == reference.strip().casefold()]
    if len(same) == 1 or len(found) == 1:
        return (same or found)[0].id
    named = "; ".join(f"{item.id} ({item.title})" for item in found[:_MAX_NAMED])
    raise UserError(f"Several titles contain {reference!r}.", remedy=f"Use the id of one: {named}.")
