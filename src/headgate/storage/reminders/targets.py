"""Where messages can go, and which accounts can write there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.kernel.ids import Ids
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class SeenTarget:
    """A target as the platform names it."""

    key: str
    title: str


@dataclass(frozen=True)
class TargetLine:
    """A target, with the number of accounts that can write to it."""

    id: UUID
    platform: str
    key: str
    title: str
    accounts: int


@dataclass(frozen=True)
class NamedTarget:
    """A target that a person named, with the words that did."""

    reference: str
    id: UUID
    platform: str
    key: str
    title: str


@dataclass(frozen=True)
class TargetCursor:
    """A place in the order of targets."""

    title: str
    id: UUID


@dataclass(frozen=True)
class Refreshed:
    """What an account sees now, and what has changed since it was asked before."""

    seen: int
    new: int
    gone: int


FIRST = TargetCursor("", UUID(int=0))


async def note_targets(
    tx: Tx, account_id: UUID, seen: Sequence[SeenTarget], *, platform: str, ids: Ids, now: datetime
) -> Refreshed:
    """Write down what an account can write to now; whatever it does not see any more is gone for it."""
    titles = {one.key: one.title for one in seen}
    keys = list(titles)
    await tx.execute(
        Q["upsert_targets"],
        ids=[ids.new() for _ in keys],
        keys=keys,
        titles=list(titles.values()),
        platform=platform,
        now=now,
    )
    new = await tx.value(Q["see_targets"], account_id=account_id, platform=platform, keys=keys, now=now)
    gone = await tx.execute(Q["lose_targets"], account_id=account_id, keys=keys, now=now)
    return Refreshed(len(keys), new, gone)


async def search_targets(
    tx: Tx,
    *,
    words: str = "",
    account_id: UUID | None = None,
    among: Sequence[UUID] | None = None,
    after: TargetCursor = FIRST,
    limit: int,
) -> list[TargetLine]:
    """Return targets by title; each word must be somewhere in it, and the account must see it.

    `among` are those of which to search, if not of all.
    """
    patterns = [f"%{_literally(word)}%" for word in words.split()]
    return await tx.all(
        TargetLine,
        Q["search_targets"],
        patterns=patterns,
        account_id=account_id,
        among=None if among is None else list(among),
        limit=limit,
        **vars(after),
    )


def _literally(word: str) -> str:
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


async def find_targets(tx: Tx, references: Sequence[str], *, platform: str) -> list[NamedTarget]:
    """Return the targets of a platform that ids, keys or titles name; a key goes before a title."""
    identities = {reference: _as_id(reference) for reference in references}
    known = {reference: one for reference, one in identities.items() if one is not None}
    return await tx.all(
        NamedTarget,
        Q["find_targets"],
        references=list(identities),
        id_references=list(known),
        ids=list(known.values()),
        platform=platform,
    )


def _as_id(reference: str) -> UUID | None:
    try:
        return UUID(reference)
    except ValueError:
        return None


async def list_target_names(tx: Tx, *, platform: str) -> list[str]:
    """Return titles and keys, to guess what a person meant."""
    return await tx.column(Q["list_target_names"], platform=platform)
