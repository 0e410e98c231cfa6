"""What people type, made harmless."""

from __future__ import annotations

import unicodedata

_LONGEST = 200


def typed_text(text: str, *, longest: int = _LONGEST) -> str:
    """Return a line of text without control characters, which PostgreSQL would refuse or pages would hide."""
    shown = "".join(sign for sign in text if unicodedata.category(sign)[0] != "C")
    return " ".join(shown.split())[:longest]


def local_path(target: str) -> str:
    """Return an address on this site, or the first page if it leads elsewhere."""
    if not target.startswith("/") or target.startswith(("//", "/\\")) or not target.isprintable():
        return "/"
    return target
