"""What can be found of an item or a group, and how a search asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import UserError
from headgate.domain.library.search.search_words import split_query, split_words

MAX_WORDS = 20_000
"""Of a document; one of all words of the largest archives would not fit a row."""
MAX_CAPTION = 10_000
MAX_TERMS = 10
MAX_SLICES = 36**3
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class SearchTexts:
    """What a document is made of."""

    id: UUID
    is_group: bool
    posted_at: datetime
    caught_at: datetime
    name: str
    creator: str = ""
    tags: tuple[str, ...] = ()
    captions: tuple[str, ...] = ()
    file_names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Files inside its archive."""
    facets: tuple[int, ...] = ()
    """Of a group: those of all its members."""


@dataclass(frozen=True)
class SearchDocument:
    """The words of an item or a group."""

    id: UUID
    is_group: bool
    posted_at: datetime
    names: frozenset[str]
    words: frozenset[str]
    """With marks for its facets, and without the slice."""


def build_document(texts: SearchTexts) -> SearchDocument:
    """Return what is stored for an item or a group."""
    names = split_words("\n".join((texts.name, texts.creator, *texts.tags)))
    captions = "\n".join(texts.captions)[:MAX_CAPTION]
    others = split_words("\n".join((*texts.file_names, captions, *texts.paths)))
    marks = map(_facet_mark, texts.facets)
    words = list(dict.fromkeys((*names, *marks, *others)))[:MAX_WORDS]
    return SearchDocument(
        texts.id, texts.is_group, texts.posted_at, frozenset(names[:MAX_WORDS]), frozenset(words)
    )


@dataclass(frozen=True)
class Term:
    """A word that must be found, whole or as the beginning of a word."""

    word: str
    begins: bool
    meant: tuple[str, ...] = ()
    """Words that were probably meant, if the word was typed wrong."""

    def means(self, words: Sequence[str]) -> Term:
        return replace(self, meant=tuple(words))

    def found_in(self, words: Iterable[str]) -> bool:
        """Tell whether one of the words is it, or begins with it."""
        wanted = {self.word, *self.meant}
        return any(word in wanted or (self.begins and word.startswith(self.word)) for word in words)


def parse_terms(typed: str) -> tuple[Term, ...]:
    """Return what a person looks for: the last word may be unfinished, and longer ones may be shortened."""
    words = split_query(typed)
    if not words:
        raise UserError("Type a word to search for.", field="words", remedy="Letters and digits count.")
    terms = [Term(word, begins=len(word) > 2 and word.isalpha()) for word in words[:MAX_TERMS]]
    terms[-1] = replace(terms[-1], begins=True)
    return tuple(terms)


def slice_prefix(number: int) -> str:
    """Return what every word of a slice begins with."""
    if not 0 <= number < MAX_SLICES:
        raise ValueError(f"there are at most {MAX_SLICES} slices")
    high, low = divmod(number, 36)
    return f"{_DIGITS[high // 36]}{_DIGITS[high % 36]}{_DIGITS[low]}"


def slice_query(terms: Sequence[Term], facets: Sequence[Sequence[int]], *, number: int) -> str:
    """Return the full-text query for the documents of one slice."""
    prefix = slice_prefix(number)
    marks = [
        "(" + " | ".join(_quoted(prefix + _facet_mark(facet)) for facet in one_of) + ")" for one_of in facets
    ]
    return " & ".join([names_query(terms, prefix=prefix), *marks])


def names_query(terms: Sequence[Term], *, prefix: str = "", whole: bool = False) -> str:
    """Return the full-text query for all terms; `whole`: beginnings of words do not count."""
    return " & ".join(
        "("
        + " | ".join([_asked(term, prefix, whole=whole), *(_quoted(prefix + word) for word in term.meant)])
        + ")"
        for term in terms
    )


def _asked(term: Term, prefix: str, *, whole: bool) -> str:
    return _quoted(prefix + term.word) + (":*" if term.begins and not whole else "")


def _quoted(lexeme: str) -> str:
    return f"'{lexeme}'"


def _facet_mark(facet: int) -> str:
    return f"#{facet & 0xFFFFFFFF:08x}"
