"""Which words may be meant by a word that is typed wrong.

Two words that are one or two mistakes apart become equal when a letter or two are left out of both. So a word
is stored with what is left of it without them, and candidates are found by equality, however many words there
are. Only the beginning of a word is treated like that; the rest is compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from zlib import crc32

MIN_LETTERS = 4
"""Shorter words have too many neighbours."""
LONG_WORD = 8
"""Letters from which two mistakes are forgiven."""
MAX_MEANT = 5
_HEAD = 7


def can_be_misspelt(word: str) -> bool:
    return len(word) >= MIN_LETTERS and word.isalpha()


def max_mistakes(word: str) -> int:
    return 2 if len(word) >= LONG_WORD else 1


def spelling_variants(word: str) -> list[int]:
    """Return the numbers that a word shares with words that are spelled alike."""
    head = word[:_HEAD]
    left = {
        "".join(letter for place, letter in enumerate(head) if place not in gone)
        for mistakes in range(max_mistakes(word) + 1)
        for gone in combinations(range(len(head)), mistakes)
    }
    return sorted(crc32(text.encode()) - 2**31 for text in left)


def words_meant(typed: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """Return the words that are nearest to what was typed, the likeliest first; none if all are too far."""
    most = max_mistakes(typed)
    near = [
        (mistakes, word[:1] != typed[:1], abs(len(word) - len(typed)), word)
        for word in set(candidates)
        if word != typed and (mistakes := mistakes_between(typed, word)) <= most
    ]
    nearest = min((mistakes for mistakes, *_ in near), default=0)
    return tuple(word for mistakes, *_, word in sorted(near) if mistakes == nearest)[:MAX_MEANT]


def mistakes_between(typed: str, word: str) -> int:
    """Return how many letters must be added, dropped, replaced or swapped with their neighbour."""
    before: list[int] = []
    row = list(range(len(word) + 1))
    for place, letter in enumerate(typed, start=1):
        above, before = before, row
        row = [place]
        for other_place, other in enumerate(word, start=1):
            cost = min(before[other_place] + 1, row[-1] + 1, before[other_place - 1] + (letter != other))
            swapped = (
                place > 1
                and other_place > 1
                and letter == word[other_place - 2]
                and other == typed[place - 2]
            )
            row.append(min(cost, above[other_place - 2] + 1) if swapped else cost)
    return row[-1]
