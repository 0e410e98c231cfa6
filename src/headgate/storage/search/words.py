"""Words of names, creators and tags, for words that are typed wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headgate.domain.library.search.search_documents import slice_prefix
from headgate.domain.library.search.spelling import can_be_misspelt, max_mistakes, spelling_variants
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

MAX_ALIKE = 200


async def add_words(tx: Tx, words: Iterable[str]) -> None:
    """Make words known; those that are too short or have digits do not count."""
    added = sorted({word for word in words if can_be_misspelt(word)})
    if added:
        variants = ["{" + ",".join(map(str, spelling_variants(word))) + "}" for word in added]
        await tx.execute(Q["add_words"], words=added, variants=variants)


async def mark_stale(tx: Tx, words: Iterable[str]) -> None:
    """Note that documents lost words."""
    lost = sorted({word for word in words if can_be_misspelt(word)})
    if lost:
        await tx.execute(Q["mark_stale"], words=lost)


async def settle_stale(tx: Tx, slices: Sequence[int], *, limit: int) -> int:
    """Forget some of the words that no document has any more; returns how many were looked at."""
    stale: list[str] = await tx.column(Q["list_stale"], limit=limit)
    if stale:
        prefixes = [slice_prefix(number) for number in slices]
        used: list[str] = await tx.column(Q["list_used"], words=stale, prefixes=prefixes)
        await tx.execute(Q["settle_words"], used=used, unused=sorted({*stale} - {*used}))
    return len(stale)


async def list_known(tx: Tx, terms: Sequence[str]) -> list[str]:
    """Return those of the terms that are words, or with which words begin."""
    return await tx.column(Q["list_known"], terms=list(terms))


async def list_alike(tx: Tx, typed: str) -> list[str]:
    """Return words that may be meant."""
    return await tx.column(
        Q["list_alike"],
        variants=spelling_variants(typed),
        length=len(typed),
        mistakes=max_mistakes(typed),
        limit=MAX_ALIKE,
    )


async def list_missing(tx: Tx, words: Iterable[str]) -> list[str]:
    """Return those of the words that should be known and are not."""
    return await tx.column(Q["list_missing"], words=sorted({word for word in words if can_be_misspelt(word)}))
