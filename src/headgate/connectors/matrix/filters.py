"""What servers are asked to leave out of their answers."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.connectors.matrix.events import TOLD_TYPES
from headgate.connectors.matrix.shapes import Shape

HEAD_EVENTS = 20
"""Enough that edits and redactions after it rarely hide the newest message."""
TIMELINE_EVENTS = 50
_NOTHING: Shape = {"not_types": ["*"]}
_OUTSIDE_ROOMS: Shape = {"presence": _NOTHING, "account_data": _NOTHING}
_ROOM_EXTRAS: Shape = {"ephemeral": _NOTHING, "account_data": _NOTHING}
_ROOM_FACTS = (
    "m.room.name",
    "m.room.canonical_alias",
    "m.room.create",
    "m.room.encryption",
    "m.space.child",
)


def history(*, senders: Sequence[str] = ()) -> Shape:
    """Return what is read of a room's history."""
    only: Shape = {"types": list(TOLD_TYPES), "lazy_load_members": True}
    return {**only, "senders": list(senders)} if senders else only


def live() -> Shape:
    return {
        **_OUTSIDE_ROOMS,
        "room": {
            **_ROOM_EXTRAS,
            # Only a room that was just joined shows how it was created.
            "state": {"types": ["m.room.create", "m.room.encryption"]},
            "timeline": {"types": [*TOLD_TYPES, "m.room.encryption"], "limit": TIMELINE_EVENTS},
        },
    }


def heads(rooms: Sequence[str]) -> Shape:
    return {
        **_OUTSIDE_ROOMS,
        "room": {
            **_ROOM_EXTRAS,
            "rooms": list(rooms),
            "state": {"types": ["m.room.encryption"]},
            "timeline": {"types": [*TOLD_TYPES, "m.room.encryption"], "limit": HEAD_EVENTS},
        },
    }


def rooms() -> Shape:
    """Return what tells names, spaces and encryption of all rooms."""
    return {
        **_OUTSIDE_ROOMS,
        "room": {
            **_ROOM_EXTRAS,
            "state": {"types": list(_ROOM_FACTS), "lazy_load_members": True},
            "timeline": {"types": list(_ROOM_FACTS), "limit": 1, "lazy_load_members": True},
        },
    }
