"""Patterns of titles: which entries of a feed belong to a series, and what their titles tell.

A pattern is plain text with `{number}`, `{volume}`, `{title}` and `*`, which is anything:

    One Piece {number}*
    [Group] Berserk - {volume}x{number} - {title}

It is cut at its open places, `*` and `{title}`, into runs of text and numbers. A run matches at a place in
one way or not at all, and each is looked for behind the one before it. So no title can keep a pattern busy.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from headgate.domain.errors import UserError
from headgate.domain.listings.chapters import canonical_number, read_number
from headgate.domain.text import MAX_TITLE_LENGTH

MAX_PATTERN = 200

_PIECE = re.compile(r"\{[^{}]*\}|\*|[^{}*]+|[{}]")
_PLACE = re.compile(r"\{[a-z]+\}|\*")
_GROUP = re.compile(r"^\s*\[[^\]]*\]\s*")
_OPEN = ("*", "{title}")
_COUNTED = ("{number}", "{volume}")


@dataclass(frozen=True)
class TitleMatch:
    """What a title tells; what it does not is empty."""

    number: str
    volume: str
    title: str


@dataclass(frozen=True)
class TitlePattern:
    """A pattern that a person wrote; `text` is as it is stored."""

    text: str

    @classmethod
    def parse(cls, text: str) -> TitlePattern:
        """Read a pattern, or say what is wrong with it."""
        text = _normal(text)
        if not text or len(text) > MAX_PATTERN:
            raise UserError(
                f"A title pattern has 1 to {MAX_PATTERN} characters.",
                remedy="Write the part of the title that is always the same, like: One Piece {number}*",
                field="pattern",
            )
        _check(_PIECE.findall(text))
        return cls(text)

    @property
    def series_title(self) -> str:
        """What a series is called that has no other title: the longest text of the pattern."""
        texts = [_GROUP.sub("", text).strip(" -–—:,|#([") for text in _PLACE.split(self.text)]
        return max(texts, key=len) or self.text

    def match(self, title: str) -> TitleMatch | None:
        """Return what a title tells if the whole of it matches; upper and lower case are the same."""
        title = _normal(title)[:MAX_TITLE_LENGTH].rstrip()
        told = _compiled(self.text).match(title)
        if told is None:
            return None
        number, volume = told.get("number", ""), canonical_number(told.get("volume", ""))
        if number:
            return TitleMatch(canonical_number(number), volume, told.get("title", ""))
        number, read_volume = read_number(title)
        return TitleMatch(number, volume or read_volume, told.get("title", ""))


def _normal(text: str) -> str:
    """Return a text with the digits that everybody has, and single blanks."""
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return " ".join(text.split())


def _check(pieces: list[str]) -> None:
    for piece in pieces:
        if piece[0] in "{}" and piece not in (*_COUNTED, "{title}"):
            raise UserError(
                f"A title pattern cannot contain {piece}.",
                remedy="Use {number}, {volume}, {title} and *; for a brace in the title write *.",
                field="pattern",
            )
        if piece[0] == "{" and pieces.count(piece) > 1:
            raise UserError(
                f"The title pattern has {piece} twice.", remedy="Write * for one of them.", field="pattern"
            )
    if not any(letter.isalnum() for piece in pieces if piece[0] not in "{*" for letter in piece):
        raise UserError(
            "The title pattern has no fixed text, so every entry would match.",
            remedy="Write the part of the title that is always the same, like: One Piece {number}*",
            field="pattern",
        )
    _check_neighbours([piece for piece in pieces if piece != " "], _OPEN, _OPEN)
    _check_neighbours(pieces, (*_OPEN, *_COUNTED), _COUNTED)


def _check_neighbours(pieces: list[str], before: tuple[str, ...], after: tuple[str, ...]) -> None:
    """Refuse two neighbouring places without a boundary between them."""
    for one, other in pairwise(pieces):
        if one in before and other in after:
            raise UserError(
                f"The title pattern has nothing between {one} and {other}.",
                remedy="Write the text that separates them, or leave one of them out.",
                field="pattern",
            )


@dataclass(frozen=True)
class _Compiled:
    runs: tuple[re.Pattern[str], ...]
    """The first begins the title, and the last ends it."""
    opens: tuple[str, ...]
    """What stands between them."""
    pad: tuple[str, str]
    """Blanks that make an open place at an end match nothing, too."""

    def match(self, title: str) -> dict[str, str] | None:
        title = f"{self.pad[0]}{title}{self.pad[1]}"
        found = self.runs[0].match(title)
        if found is None:
            return None
        told = found.groupdict()
        for place, run in zip(self.opens, self.runs[1:], strict=True):
            at = found.end()
            found = run.search(title, at)
            if found is None:
                return None
            told |= found.groupdict() | {place: title[at : found.start()].strip()}
        return told


@lru_cache(maxsize=4096)
def _compiled(text: str) -> _Compiled:
    pieces = _PIECE.findall(text)
    runs, opens = [""], list[str]()
    for piece, following in zip(pieces, [*pieces[1:], ""], strict=True):
        if piece in _OPEN:
            opens.append(piece.strip("{}"))
            runs.append("")
        else:
            runs[-1] += _expression(piece, following[:1])
    runs[-1] += r"\Z"
    pad = (
        " " if pieces[0] in _OPEN and len(pieces) > 1 and pieces[1][0] == " " else "",
        " " if pieces[-1] in _OPEN and len(pieces) > 1 and pieces[-2][-1] == " " else "",
    )
    return _Compiled(tuple(re.compile(run, re.IGNORECASE) for run in runs), tuple(opens), pad)


def _expression(piece: str, following: str) -> str:
    """Return what a piece matches; a number leaves to the text after it what that begins with."""
    if piece not in _COUNTED:
        return re.escape(piece)
    fraction = "" if following in {".", ","} else r"(?:[.,][0-9]{1,4}){0,2}"
    if piece == "{volume}":
        return rf"(?>(?P<volume>[0-9]{{1,4}}{fraction}))"
    if following.isalnum():
        return rf"(?>(?P<number>[0-9]{{1,9}}{fraction}))"
    upto = "" if following == "-" else rf"(?:-[0-9]{{1,9}}{fraction}(?!\w))?"
    return rf"(?>(?P<number>-?[0-9]{{1,9}}{fraction}[a-z]?{upto})(?:v[0-9])?(?!\w))"
