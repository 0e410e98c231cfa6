"""Which new passwords are refused: short ones, common ones, and the user's or the product's name.

`common_passwords.txt` holds words that many passwords are made of. A password is too easy if one or two of
them make up the whole of it, without digits and signs at its ends and with replacements (`p@ssw0rd`) undone.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib.resources import files

MIN_LENGTH = 12
MAX_LENGTH = 200

_BETTER = "Use three or four words that have nothing to do with each other."
_TOO_COMMON = f"This password is easy to guess: it is made of common words or patterns. {_BETTER}"
_OWN_NAME = f"This password is easy to guess: it is made of your user name. {_BETTER}"
_MIN_DIFFERENT = 5
_MIN_NAME_PART = 3
_REPLACEMENTS = str.maketrans("013457@$!", "oieastasi")
_ENDS = re.compile(r"^[\W\d_]+|[\W\d_]+$")
_SIGNS = re.compile(r"[\W_]+")
_ROWS = ("abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm", "01234567890123456789")


def weakness(password: str, *, name: str) -> str | None:
    """Say what is wrong with a new password, if anything."""
    if len(password) < MIN_LENGTH:
        return f"This password is too short. Use at least {MIN_LENGTH} characters."
    if len(password) > MAX_LENGTH:
        return f"This password is too long. Use at most {MAX_LENGTH} characters."
    text = unicodedata.normalize("NFKC", password).casefold()
    if len(set(text)) < _MIN_DIFFERENT or _is_made_of(text, _words()):
        return _TOO_COMMON
    return _OWN_NAME if _is_made_of(text, _words() | _parts_of(name)) else None


def _is_made_of(text: str, words: frozenset[str]) -> bool:
    core = _ENDS.sub("", text)
    return any(
        _is_pattern(form) or _is_one_or_two(form, words)
        for spelled in (text, core, core.translate(_REPLACEMENTS))
        for form in (_SIGNS.sub("", spelled),)
    )


def _is_pattern(text: str) -> bool:
    """Tell whether there is nothing but digits, a run of keys or letters, or a short text over and over."""
    if not text or text.isdigit():
        return True
    if any(text in row or text in row[::-1] for row in _ROWS):
        return True
    return any(text == (text[:period] * len(text))[: len(text)] for period in range(1, len(text) // 2 + 1))


def _is_one_or_two(text: str, words: frozenset[str]) -> bool:
    return text in words or any(text[:at] in words and text[at:] in words for at in range(1, len(text)))


def _parts_of(name: str) -> frozenset[str]:
    folded = unicodedata.normalize("NFKC", name).casefold()
    parts = [part for part in _SIGNS.split(folded) if len(part) >= _MIN_NAME_PART]
    whole = _SIGNS.sub("", folded)
    return frozenset({*parts, whole, whole[::-1]} - {""})


@cache
def _words() -> frozenset[str]:
    text = files("headgate.access").joinpath("common_passwords.txt").read_text(encoding="utf-8")
    return frozenset(text.split())
