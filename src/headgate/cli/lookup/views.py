"""From what a person types to the saved view that is meant."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.cli.lookup.channels import nearest
from headgate.domain.errors import NotFound
from headgate.storage.access.users import UserLine
from headgate.storage.shelf.views import SavedView


def find_view(listed: Sequence[SavedView], reference: str, who: UserLine) -> SavedView:
    """Return the view of a name or id, or say which there are."""
    typed = reference.strip().lower()
    found = next((view for view in listed if typed in {view.name.lower(), str(view.id)}), None)
    if found is None:
        near = nearest(reference, [view.name for view in listed])
        meant = f"Did you mean {near}? " if near else ""
        raise NotFound(
            f"{who.name} has no view {reference!r}.", remedy=meant, command="headgate library views list"
        )
    return found
