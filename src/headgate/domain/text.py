"""Texts from platforms, made fit to be stored."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


LONGEST_KEY = 500
"""Longer texts do not fit an index."""
_GREATEST = 2**63 - 1


def is_key(text: str) -> bool:
    """Tell whether a text can be a key: not empty, not too long, and stored as it is."""
    return 0 < len(text) <= LONGEST_KEY and _UNSTORABLE.search(text) is None


def is_whole(number: int) -> bool:
    """Tell whether a number fits a column."""
    return -_GREATEST <= number <= _GREATEST


def clipped(text: str) -> str:
    """Return a text that fits an index, whatever it was."""
    return storable(text)[:LONGEST_KEY]


def containing(typed: str) -> str | None:
    """Return the ILIKE pattern of a text that contains the words as typed; None for no words."""
    words = typed.strip()
    if not words:
        return None
    escaped = words.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    return f"%{escaped}%"


def storable(text: str) -> str:
    """Return a text without what PostgreSQL cannot hold: NUL, and halves of characters."""
    return _UNSTORABLE.sub(lambda found: "" if found[0] == "\x00" else "\ufffd", text)
