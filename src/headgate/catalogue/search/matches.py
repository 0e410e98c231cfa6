"""What matched in a hit: which words, in which field, and the text around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING
from uuid import UUID

from headgate.catalogue.search.sources import item_texts
from headgate.domain.library.search.search_documents import SearchTexts, Term
from headgate.domain.library.search.search_words import split_words
from headgate.domain.words.match_words import MatchedField
from headgate.storage.database import Tx
from headgate.storage.search.finding import list_inside
from headgate.storage.search.sources import list_items

if TYPE_CHECKING:
    from headgate.catalogue.search.searching import Hit

MAX_SNIPPET = 160


@dataclass(frozen=True)
class Match:
    """A field in which words were found."""

    field: MatchedField
    text: str
    """What stands there, shortened; of `inside`, the path of a file in the archive."""
    words: tuple[str, ...]
    """Words as they were typed."""


async def explain_matches(tx: Tx, hits: Sequence[Hit], terms: Sequence[Term]) -> list[Hit]:
    """Return hits with what matched in each."""
    items = await list_items(tx, [hit.item_id for hit in hits if hit.item_id])
    texts = {one.id: one for one in await item_texts(tx, items)}
    explained: dict[UUID, tuple[list[Match], list[Term]]] = {}
    for hit in hits:
        of_item = texts.get(hit.item_id) if hit.item_id else None
        fields = _fields_of(of_item) if of_item else _fields_of_group(hit)
        explained[hit.shelf_id] = find_matches(fields, terms)
    await _look_inside(tx, hits, explained)
    return [replace(hit, matches=tuple(explained[hit.shelf_id][0])) for hit in hits]


def find_matches(
    fields: Iterable[tuple[MatchedField, str]], terms: Sequence[Term]
) -> tuple[list[Match], list[Term]]:
    """Return the first field in which each term stands, and the terms that stand in none."""
    matches: list[Match] = []
    left = list(terms)
    for field, text in fields:
        words = split_words(text)
        if here := [term for term in left if term.found_in(words)]:
            matches.append(Match(field, _snippet(text, here), tuple(term.word for term in here)))
            left = [term for term in left if term not in here]
        if not left:
            break
    return matches, left


def _fields_of(texts: SearchTexts) -> Iterator[tuple[MatchedField, str]]:
    yield "name", texts.name
    yield "creator", texts.creator
    for tag in texts.tags:
        yield "tag", tag
    for name in texts.file_names:
        yield "file_name", name
    for caption in texts.captions:
        yield "caption", caption


def _fields_of_group(hit: Hit) -> Iterator[tuple[MatchedField, str]]:
    yield "group", hit.name


async def _look_inside(
    tx: Tx, hits: Sequence[Hit], explained: dict[UUID, tuple[list[Match], list[Term]]]
) -> None:
    """Find the rest of the terms in the names of files inside archives."""
    waiting = {hit.item_id: hit for hit in hits if hit.item_id and explained[hit.shelf_id][1]}
    left = {term for hit in waiting.values() for term in explained[hit.shelf_id][1]}
    words = sorted({word for term in left for word in (term.word, *term.meant)})
    found = await list_inside(tx, list(waiting), words) if waiting else []
    for item_id, paths in groupby(found, key=lambda inside: inside.id):
        matches, wanted = explained[waiting[item_id].shelf_id]
        ordered = _best_first([inside.path for inside in paths], wanted)
        more, missing = find_matches((("inside", path) for path in ordered), wanted)
        explained[waiting[item_id].shelf_id] = ([*matches, *more], missing)


def _best_first(paths: Sequence[str], terms: Sequence[Term]) -> list[str]:
    """Return paths with the most of the terms first."""

    def found(path: str) -> int:
        words = split_words(path)
        return sum(term.found_in(words) for term in terms)

    return sorted(paths, key=found, reverse=True)


def _snippet(text: str, terms: Sequence[Term]) -> str:
    """Return the line that has the most of the terms, shortened."""
    lines = [line for line in text.splitlines() if line.strip()] or [text]
    line = _best_first(lines, terms)[0].strip() if len(lines) > 1 else lines[0].strip()
    if len(line) <= MAX_SNIPPET:
        return line
    found = [place for term in terms if (place := line.lower().find(term.word)) >= 0]
    start = max(0, min(found, default=0) - MAX_SNIPPET // 4)
    return ("…" if start else "") + line[start : start + MAX_SNIPPET].strip() + "…"
