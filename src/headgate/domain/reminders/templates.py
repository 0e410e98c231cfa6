"""Texts with variables: `Dear {group}` becomes a message of its own for each group.

`{{` and `}}` are braces. A text is read once: what a variable stands for is never looked at again, whatever
braces the name of a group has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from headgate.domain.errors import UserError
from headgate.domain.wall_time import WEEKDAYS, find_zone

VARIABLES = {
    "group": "the name of the group",
    "account": "the name of the account that sends",
    "date": "the date, like 2026-12-01",
    "time": "the time of day, like 09:00",
    "weekday": "the day of the week, like Tuesday",
    "number": "the group's place in the run, from 1",
    "total": "how many groups the run has",
}
_BY_GROUP = {"group", "number"}
_MAX_SHOWN = 40
_PIECE = re.compile(r"(?P<brace>\{\{|\}\})|\{(?P<variable>[^{}]*)\}|(?P<lonely>[{}])|(?P<words>[^{}]+)")


class Values(NamedTuple):
    """What the variables stand for in one message."""

    group: str
    account: str
    date: str
    time: str
    weekday: str
    number: int
    total: int

    @classmethod
    def at(cls, moment: datetime, *, zone: str, group: str, account: str, number: int, total: int) -> Values:
        """Return the values with the date and the time that the clock of a zone shows at a moment."""
        date, time, weekday = _shown(moment, zone)
        return cls(group, account, date, time, weekday, number, total)


@lru_cache(maxsize=1024)
def _shown(moment: datetime, zone: str) -> tuple[str, str, str]:
    """Return date, time and weekday on a wall; many messages of a run have them in common."""
    shown = moment.astimezone(find_zone(zone))
    return f"{shown:%Y-%m-%d}", f"{shown:%H:%M}", WEEKDAYS[shown.weekday()]


def check_template(text: str) -> None:
    """Raise `UserError` if a text has an unknown variable or a brace that belongs to none."""
    for piece in _pieces(text):
        if piece["lonely"]:
            raise UserError(
                f"The brace {piece['lonely']} at character {piece.start() + 1} is not part of a variable.",
                remedy=f"Write it twice to send a brace. {_listed()}",
            )
        name = piece["variable"]
        if name is not None and name not in VARIABLES:
            raise UserError(f"There is no variable {{{_clipped(name)}}}.", remedy=_listed())


def fill(text: str, values: Values) -> str:
    """Return a text with the values for its variables."""
    return "".join(piece if words else str(getattr(values, piece)) for words, piece in _read(text))


@lru_cache(maxsize=256)
def _read(text: str) -> tuple[tuple[bool, str], ...]:
    """Return the words and the variables of a text; a run's texts are the same for all its groups."""
    check_template(text)
    return tuple(_part(piece) for piece in _pieces(text))


def is_same_for_all(text: str) -> bool:
    """Tell whether a text has no variable that differs by group, so that all its messages are alike."""
    return not any(piece["variable"] in _BY_GROUP for piece in _pieces(text))


def _pieces(text: str) -> Iterator[re.Match[str]]:
    return _PIECE.finditer(text)


def _part(piece: re.Match[str]) -> tuple[bool, str]:
    if piece["brace"]:
        return True, piece["brace"][0]
    return (True, piece["words"]) if piece["words"] else (False, piece["variable"])


def _listed() -> str:
    return f"The variables are {', '.join(f'{{{name}}}' for name in VARIABLES)}."


def _clipped(name: str) -> str:
    return name if len(name) <= _MAX_SHOWN else f"{name[:_MAX_SHOWN]}…"
