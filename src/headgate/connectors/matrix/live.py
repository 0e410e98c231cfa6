"""Live events, from the answers of a sync."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.connectors.matrix.events import Deleted, Edited, Unreadable, read_event
from headgate.connectors.matrix.rooms import joined
from headgate.connectors.matrix.shapes import Shape, part, parts, text
from headgate.domain.streams.messages import LiveEvent, Message
from headgate.domain.text import is_key

SYNC = "sync"
"""Where the last sync ended, in the account's memory."""


def tell_start(answer: Shape) -> Iterator[LiveEvent]:
    """Tell that everything before a first sync is unknown."""
    token = text(answer, "next_batch")
    for room, _ in joined(answer):
        yield LiveEvent("gap", room, bookmark=token)
    yield LiveEvent("mark", memory={SYNC: token})


def tell_sync(answer: Shape, *, since: str) -> Iterator[LiveEvent]:
    """Tell what happened since the sync before, and remember it as told."""
    token = text(answer, "next_batch")
    for kind in ("join", "leave"):
        for room in filter(is_key, part(answer, "rooms", kind)):
            yield from _tell_room(room, part(answer, "rooms", kind, room), token=token)
    if token not in {"", since}:
        yield LiveEvent("mark", memory={SYNC: token})


def _tell_room(room: str, told: Shape, *, token: str) -> Iterator[LiveEvent]:
    """Tell the events of a room; a timeline that was cut, or of a room just joined, begins with a gap."""
    timeline = part(told, "timeline")
    before = text(timeline, "prev_batch") or token
    just_joined = any(text(fact, "type") == "m.room.create" for fact in parts(part(told, "state"), "events"))
    if timeline.get("limited") is True or just_joined:
        yield LiveEvent("gap", room, bookmark=before)
    # Reading back from before the timeline would leave out the first message if only a later one is placed.
    bookmark = before
    for event in parts(timeline, "events"):
        if (live := _tell(room, event, bookmark=bookmark)) is not None:
            yield live
            bookmark = token


def _tell(room: str, event: Shape, *, bookmark: str) -> LiveEvent | None:
    match read_event(event):
        case Message() as message:
            return LiveEvent("message", room, message, key=message.key, bookmark=bookmark)
        case Unreadable(key):
            return LiveEvent("message", room, key=key, bookmark=bookmark)
        case Edited(key):
            return LiveEvent("edit", room, key=key)
        case Deleted(key):
            return LiveEvent("delete", room, key=key)
        case None:
            return None
