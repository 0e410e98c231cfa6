"""Words as search knows them: split at punctuation, case and digits, without case and accents.

Texts and queries are split by the same rules, so whatever is written in a name finds it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

MAX_WORD_LENGTH = 40
"""Characters of a word that count; what is longer is a checksum and not a word."""

_UPPER = "A-ZΑ-ΩА-ЯЁ"
_LOWER = "a-zα-ωа-яё"
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Kana and ideographs, which are written without blanks."""
_RUN = re.compile(r"[^\W_]+")
_PART = re.compile(
    rf"[{_UNSPACED}]+|\d+|[{_UPPER}]+(?![{_LOWER}])|[{_UPPER}]?(?:(?![{_UPPER}{_UNSPACED}\d])[^\W_])+"
)
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_LIGATURES = str.maketrans(
    {
        "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ð": "d",
        "Ð": "D", "ł": "l", "Ł": "L", "ħ": "h", "Ħ": "H", "þ": "th", "Þ": "Th", "ı": "i",
    }
)  # fmt: skip


def split_words(text: str) -> list[str]:
    """Return the different words by which a text can be found, in their order.

    `KnightBase` is found as `knight`, `base` and `knightbase`.
    """
    return list(
        dict.fromkeys(word for run in _RUN.findall(_without_accents(text)) for word in _words_of(run))
    )


def split_query(text: str) -> list[str]:
    """Return the different words of what a person typed: each must be found."""
    runs = _RUN.findall(_without_accents(text))
    return list(dict.fromkeys(word for run in runs for part in _PART.findall(run) for word in _typed(part)))


def _words_of(run: str) -> Iterator[str]:
    if run.isascii() and run.isalpha() and run.islower():
        yield run[:MAX_WORD_LENGTH]
        return
    joined = ""
    parts = _PART.findall(run)
    for part in parts:
        if _IS_UNSPACED.match(part):
            # Pairs, and the last character alone: so the beginning of a pair finds every character.
            yield from (part[start : start + 2] for start in range(len(part)))
        else:
            yield _folded(part)
    for part in [*parts, "0"]:
        if part[0].isdecimal() or _IS_UNSPACED.match(part):
            if joined and joined not in parts:
                yield _folded(joined)
            joined = ""
        else:
            joined += part


def _typed(part: str) -> list[str]:
    if _IS_UNSPACED.match(part) and len(part) > 1:
        return [part[start : start + 2] for start in range(len(part) - 1)]
    return [_folded(part)]


def _folded(part: str) -> str:
    """Return a part as it is compared; `007` is 7."""
    if part[0].isdecimal():
        part = part.lstrip("0") or "0"
    return part.casefold()[:MAX_WORD_LENGTH]


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    letters = unicodedata.normalize("NFKD", text).translate(_LIGATURES)
    plain = "".join(letter for letter in letters if unicodedata.category(letter)[0] != "M")
    return unicodedata.normalize("NFC", plain)
