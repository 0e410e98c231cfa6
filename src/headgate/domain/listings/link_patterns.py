"""Patterns of links: globs, or regular expressions, both in linear time.

Patterns are written by users and links by strangers, so a backtracking engine could be kept busy for ever.
RE2 reads a text once whatever the pattern is; it has no look-around and no back-references.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import re2 as untyped_re2

re2: Any = untyped_re2
"""It has no types."""
PREFIX = "re:"
MAX_PATTERN = 200
_MAX_PROGRAM_BYTES = 2**20
_GLOB_PIECE = re.compile(r"\*+|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)


def check_link_pattern(pattern: str) -> str:
    """Return the pattern without blanks around it; raise `ValueError` if it must not be used."""
    pattern = pattern.strip()
    if not pattern or len(pattern) > MAX_PATTERN:
        raise ValueError(f"must have 1 to {MAX_PATTERN} characters")
    try:
        _compiled(pattern)
    except re2.error as error:
        raise ValueError(f"is not a regular expression that can be used here: {_reason(error)}") from None
    return pattern


def matches_link(pattern: str, url: str) -> bool:
    """Tell whether a whole link matches; upper and lower case are the same.

    A glob without `://` is compared with what follows the scheme, so that `mega.nz/*` does what it says.
    """
    is_whole = pattern.startswith(PREFIX) or "://" in pattern
    text = url if is_whole else url.partition("://")[2] or url
    return _compiled(pattern).fullmatch(text) is not None


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> Any:
    is_expression = pattern.startswith(PREFIX)
    text = pattern.removeprefix(PREFIX) if is_expression else _from_glob(pattern)
    options = re2.Options()
    options.case_sensitive = False
    options.dot_nl = True
    options.log_errors = False
    options.max_mem = _MAX_PROGRAM_BYTES
    return re2.compile(text, options)


def _from_glob(glob: str) -> str:
    return "".join(_from_piece(piece) for piece in _GLOB_PIECE.findall(glob))


def _from_piece(piece: str) -> str:
    """Return what a piece of a glob is in a regular expression: `*`, `?`, `[seq]`, `[!seq]` or itself."""
    if piece[0] == "*":
        return ".*"
    if piece == "?":
        return "."
    if piece[0] == "[" and len(piece) > 2:
        excluded = piece[1] == "!"
        signs = piece[2 if excluded else 1 : -1].replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
        return f"[{'^' if excluded else ''}{signs}]" if signs.strip("^") else re.escape(piece)
    return re.escape(piece)


def _reason(error: Exception) -> str:
    told = error.args[0] if error.args else ""
    return told.decode(errors="replace") if isinstance(told, bytes) else str(told)
