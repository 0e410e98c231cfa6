"""The rooms of an account: their names, their spaces, and which are encrypted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from headgate.connectors.matrix.shapes import Shape, part, parts, text, texts
from headgate.connectors.protocol import FoundChannel
from headgate.domain.text import is_key

ENCRYPTED = "(encrypted)"


@dataclass(frozen=True)
class Room:
    """A room that the account is in."""

    key: str
    name: str
    is_space: bool
    encrypted: bool
    children: tuple[str, ...] = ()
    """Of a space: the rooms that stand in it."""

    @property
    def title(self) -> str:
        return f"{self.name} {ENCRYPTED}" if self.encrypted else self.name


def joined(answer: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield the rooms of a sync that the account is in, with what the sync tells of each."""
    for key in part(answer, "rooms", "join"):
        if is_key(key):
            yield key, part(answer, "rooms", "join", key)


def invited(answer: Shape) -> list[str]:
    return [key for key in part(answer, "rooms", "invite") if is_key(key)]


def facts_of(told: Shape) -> Iterator[Shape]:
    """Yield the state events of a room, older ones first."""
    yield from parts(part(told, "state"), "events")
    yield from (event for event in parts(part(told, "timeline"), "events") if "state_key" in event)


def is_encrypted(facts: Iterable[Shape]) -> bool:
    return any(text(fact, "type") == "m.room.encryption" for fact in facts)


def read_rooms(answer: Shape) -> list[Room]:
    return [_read_room(key, told) for key, told in joined(answer)]


def _read_room(key: str, told: Shape) -> Room:
    facts = list(facts_of(told))
    state = {(text(fact, "type"), text(fact, "state_key")): part(fact, "content") for fact in facts}
    return Room(
        key=key,
        name=_name_of(key, state, part(told, "summary")),
        is_space=text(state.get(("m.room.create", ""), {}), "type") == "m.space",
        encrypted=is_encrypted(facts),
        # A child that was taken out of a space keeps its event, without servers to reach it by.
        children=tuple(
            child
            for (kind, child), content in state.items()
            if kind == "m.space.child" and content.get("via")
        ),
    )


def _name_of(key: str, state: dict[tuple[str, str], Shape], summary: Shape) -> str:
    """Return the name of a room, its address, or the names of the others in it."""
    name = text(state.get(("m.room.name", ""), {}), "name").strip()
    alias = text(state.get(("m.room.canonical_alias", ""), {}), "alias")
    return name or alias or ", ".join(texts(summary, "m.heroes")) or key


def channels_of(rooms: Sequence[Room]) -> list[FoundChannel]:
    """Return rooms as channels, each under its space, and those that take messages as targets."""
    spaces = {child: room for room in rooms if room.is_space for child in room.children}
    found: list[FoundChannel] = []
    for room in rooms:
        if room.is_space:
            continue
        space = spaces.get(room.key)
        parent, parent_title = ("", "") if space is None else (space.key, space.name)
        found.append(FoundChannel(room.key, room.title, "stream", parent, parent_title=parent_title))
        if not room.encrypted:
            found.append(FoundChannel(room.key, room.title, "target"))
    return found
