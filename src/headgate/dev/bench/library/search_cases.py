"""How long a search takes: documents loaded by COPY, and a mix of what people type."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from random import Random

from headgate.catalogue.search.indexing import SLICE_SIZE
from headgate.catalogue.search.searching import search_library
from headgate.dev.bench.measuring import percentile
from headgate.domain.library.search.search_documents import SearchTexts, build_document, slice_prefix
from headgate.domain.library.search.spelling import can_be_misspelt, spelling_variants
from headgate.domain.library.shelf_filters import NO_FILTERS, ShelfFilters
from headgate.kernel.clock import Clock
from headgate.storage.database import Connection, Database

ROUNDS = 20


@dataclass(frozen=True)
class SearchCase:
    """One kind of search, with examples of it."""

    name: str
    typed: tuple[str, ...]
    filters: ShelfFilters = NO_FILTERS


@dataclass(frozen=True)
class SearchFigures:
    """How long searches took, in milliseconds."""

    p50_ms: float
    p95_ms: float
    cases: Mapping[str, Mapping[str, float]]
    """For each kind of search its p50, p95, and the hits that it found on average."""


async def load_documents(connection: Connection, texts: Iterable[SearchTexts]) -> int:
    """Load documents in their order of arrival; returns how many."""
    known: set[str] = set()
    opened: list[tuple[int, datetime, int]] = []
    await connection.execute("drop index search_document_words")
    async with connection.cursor() as cursor:
        async with cursor.copy(
            "copy search_document (id, is_group, slice, posted_at, names, words) from stdin"
        ) as copy:
            waiting = iter(texts)
            while some := list(islice(waiting, SLICE_SIZE)):
                number = len(opened)
                opened.append((number, some[0].caught_at, len(some)))
                for line in _document_lines(some, number, known):
                    await copy.write(line)
        async with cursor.copy("copy search_slice (number, since, documents) from stdin") as copy:
            for row in opened:
                await copy.write_row(row)
        async with cursor.copy("copy search_word (word, variants) from stdin") as copy:
            for word in sorted(filter(can_be_misspelt, known)):
                await copy.write_row((word, spelling_variants(word)))
    await connection.execute("set maintenance_work_mem = '512MB'")
    await connection.execute(
        "create index search_document_words on search_document using gin (words) with (fastupdate = off)"
    )
    await connection.execute("vacuum analyze search_document, search_word, search_slice")
    return sum(documents for _, _, documents in opened)


def _document_lines(texts: Sequence[SearchTexts], number: int, known: set[str]) -> Iterator[str]:
    prefix = slice_prefix(number)
    for one in texts:
        document = build_document(one)
        known |= document.names
        names = " ".join(f"'{word}'" for word in document.names)
        words = " ".join(f"'{prefix}{word}'" for word in document.words)
        group = "t" if document.is_group else "f"
        yield f"{document.id}\t{group}\t{number}\t{document.posted_at.isoformat()}\t{names}\t{words}\n"


async def measure_search(
    database: Database,
    cases: Sequence[SearchCase],
    *,
    clock: Clock,
    timer: Callable[[], float],
    rounds: int = ROUNDS,
) -> SearchFigures:
    """Search for every example in turn, again and again, and return how long it took."""
    taken: dict[str, list[float]] = {case.name: [] for case in cases}
    found: dict[str, list[int]] = {case.name: [] for case in cases}
    async for case, typed in _examples(cases, rounds):
        async with database.transaction() as tx:
            began = timer()
            page = await search_library(tx, typed, clock=clock, filters=case.filters)
            taken[case.name].append((timer() - began) * 1000)
            found[case.name].append(page.found)
    everything = [ms for of_case in taken.values() for ms in of_case]
    return SearchFigures(
        p50_ms=percentile(everything, 0.5),
        p95_ms=percentile(everything, 0.95),
        cases={
            name: {
                "p50_ms": percentile(of_case, 0.5),
                "p95_ms": percentile(of_case, 0.95),
                "hits": sum(found[name]) / len(found[name]),
            }
            for name, of_case in taken.items()
        },
    )


async def _examples(cases: Sequence[SearchCase], rounds: int) -> AsyncIterator[tuple[SearchCase, str]]:
    """Yield the kinds of search by turns, so that none has the caches to itself."""
    for number in range(rounds):
        for case in cases:
            yield case, case.typed[number % len(case.typed)]


def misspelt(word: str, randomness: Random) -> str:
    """Return a word with two neighbouring letters swapped."""
    place = randomness.randrange(1, len(word) - 2)
    return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
