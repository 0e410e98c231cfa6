"""Texts from platforms and people, cleaned so that they can be stored."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256

from headgate.domain.errors import UserError

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


MAX_KEY = 500
"""Longer texts do not fit an index."""
MAX_KEY_BYTES = 1000
"""An index row holds 2,704 bytes; the widest index has two keys and an id."""
_STAND_IN = re.compile("…#[0-9a-f]{16}$")
_GREATEST = 2**63 - 1
MAX_LANGUAGES = 50
MAX_LANGUAGE_LENGTH = 35
_LANGUAGE = re.compile(r"[a-z]{2,8}(-[a-z0-9]{1,8})*")
MAX_TYPED_LENGTH = 200
MAX_TITLE_LENGTH = 500
"""Of a series, a feed or an entry."""


def is_key(text: str) -> bool:
    """Tell whether a text can be a key: not empty, not too long, and stored as it is."""
    return text != "" and _UNSTORABLE.search(text) is None and len(text.encode()) <= MAX_KEY_BYTES


def is_whole(number: int) -> bool:
    """Tell whether a number fits a column."""
    return -_GREATEST <= number <= _GREATEST


def stand_in_key(text: str) -> str:
    """Return a key for something whose own key cannot be stored; different texts get different ones."""
    digest = sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{storable(text)[:100]}…#{digest}"


def is_stand_in(key: str) -> bool:
    """Tell whether a key was made here, so that no platform knows it."""
    return _STAND_IN.search(key) is not None


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


def typed_text(text: str, *, max_length: int = MAX_TYPED_LENGTH) -> str:
    """Return a line of text without control characters, which PostgreSQL would refuse or pages would hide."""
    shown = "".join(sign for sign in text if unicodedata.category(sign)[0] != "C")
    return " ".join(shown.split())[:max_length]


def check_languages(languages: Iterable[str]) -> tuple[str, ...]:
    """Return languages as they are stored: lower case, hyphens, each once."""
    listed = tuple(dict.fromkeys(language.strip().lower().replace("_", "-") for language in languages))
    listed = tuple(language for language in listed if language)
    for language in listed:
        if len(language) > MAX_LANGUAGE_LENGTH or not _LANGUAGE.fullmatch(language):
            raise UserError(
                f"{language!r} is not a language.",
                remedy="Write languages like en, pt or pt-br.",
                field="languages",
            )
    if len(listed) > MAX_LANGUAGES:
        raise UserError(
            f"There can be at most {MAX_LANGUAGES} languages.",
            remedy="Leave them out to include all languages.",
            field="languages",
        )
    return listed
