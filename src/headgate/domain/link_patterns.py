"""Patterns of links: globs, or regular expressions that no link can keep busy.

A regular expression can take for ever on a text that somebody else has written. So it may repeat only simple
things, a few times; it has no look-around and no back-references; and very long links never match.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import translate
from functools import lru_cache

PREFIX = "re:"
LONGEST_PATTERN = 200
LONGEST_LINK = 1000
"""Links beyond this length match no regular expression."""
MOST_REPEATS = 3
MOST_WAYS = 256
"""In so many ways at most the choices of an expression may be taken together."""

_BOUNDS = re.compile(r"\{\d+\}|\{\d*,\d*\}")
_TIMES = re.compile(r"\{\d+\}")
_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?:|\{\d*,?\d*\}|.", re.DOTALL)


def check_link_pattern(pattern: str) -> str:
    """Return the pattern without blanks around it; raise `ValueError` if it must not be used."""
    pattern = pattern.strip()
    if not pattern or len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"must have 1 to {LONGEST_PATTERN} characters")
    if pattern.startswith(PREFIX):
        _check_expression(pattern.removeprefix(PREFIX))
    return pattern


def matches_link(pattern: str, url: str) -> bool:
    """Tell whether a whole link matches; upper and lower case are the same.

    A glob without `://` is compared with what follows the scheme, so that `mega.nz/*` does what it says.
    """
    if pattern.startswith(PREFIX):
        return len(url) <= LONGEST_LINK and _compiled(pattern).fullmatch(url) is not None
    text = url if "://" in pattern else url.partition("://")[2] or url
    return _compiled(pattern).match(text) is not None


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    is_expression = pattern.startswith(PREFIX)
    text = pattern.removeprefix(PREFIX) if is_expression else translate(pattern)
    return re.compile(text, re.IGNORECASE)


def _check_expression(expression: str) -> None:
    try:
        re.compile(expression)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is no regular expression: {error}") from None
    cost = _Cost()
    for piece in _PIECE.findall(expression):
        cost.read(piece)
    if cost.repeats > MOST_REPEATS:
        raise ValueError(f"must not have more than {MOST_REPEATS} of *, + and {{…}}")
    if cost.ways > MOST_WAYS:
        raise ValueError("has too many choices; make several patterns of it")


@dataclass
class _Cost:
    """What a valid expression can cost, found by reading it from left to right."""

    repeats: int = 0
    ways: int = 1
    groups: list[_Group] = field(default_factory=lambda: [_Group()])
    """The groups that are open, the whole expression first."""
    ambiguous: bool = False
    """Whether what was read last can match in several ways."""
    last: str = ""

    def read(self, piece: str) -> None:
        if (piece == "?" and self.last == "(") or (piece[0] == "\\" and piece[1:].isdigit()):
            raise ValueError("must not look around or back; of groups with (? only (?: is known")
        if piece in {"(", "(?:"}:
            self.groups.append(_Group())
        elif piece == ")":
            self._close()
        elif piece == "|":
            self._branch()
        elif piece == "?":
            self._choose()
        elif piece in {"*", "+"} or _BOUNDS.fullmatch(piece):
            self._repeat(counted=_TIMES.fullmatch(piece) is not None)
        else:
            self.ambiguous = False
        self.last = piece

    def _branch(self) -> None:
        group = self.groups[-1]
        self.ways = self.ways // group.branches * (group.branches + 1)
        group.branches += 1
        group.ambiguous = True

    def _close(self) -> None:
        self.ambiguous = self.groups.pop().ambiguous
        self.groups[-1].ambiguous |= self.ambiguous

    def _repeat(self, *, counted: bool) -> None:
        """Read a repeat; one that says exactly how often leaves no choice."""
        if self.ambiguous:
            raise ValueError("must not repeat what holds a repeat or a choice itself")
        if not counted:
            self.repeats += 1
            self.ambiguous = self.groups[-1].ambiguous = True

    def _choose(self) -> None:
        """Read a `?`: something may be missing, or a repeat is to be short."""
        self.ways *= 2
        self.ambiguous = self.groups[-1].ambiguous = True


@dataclass
class _Group:
    branches: int = 1
    ambiguous: bool = False
