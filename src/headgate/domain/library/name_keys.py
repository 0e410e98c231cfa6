"""How names are sorted: accents and case do not count, and numbers count as numbers."""

from __future__ import annotations

import re
import unicodedata

MAX_NAME_KEY = 100
"""Characters of a name that count; a longer text may not fit an index."""
_DIGITS = 9
_NUMBER = re.compile(r"[0-9]+")


def name_key(name: str) -> str:
    """Return the text by which a name is sorted, by its bytes."""
    plain = "".join(
        sign
        for sign in unicodedata.normalize("NFKD", name[: 2 * MAX_NAME_KEY]).casefold()
        if not unicodedata.combining(sign)
    )
    words = " ".join(plain.replace("_", " ").split())
    return _NUMBER.sub(lambda found: found[0].lstrip("0").zfill(_DIGITS), words)[:MAX_NAME_KEY]
