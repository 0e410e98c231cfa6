"""Work that gave up, with all that a person needs to judge and replay it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

State = Literal["open", "replayed", "discarded"]


@dataclass(frozen=True)
class DeadLetter:
    """One piece of work that gave up."""

    id: UUID
    kind: str
    key: str
    error_class: str
    message: str
    stack: str
    attempts: int
    crashes: int
    first_tried_at: datetime
    died_at: datetime
    state: State = "open"
    closed_at: datetime | None = None
    kept: bool = False


@dataclass(frozen=True)
class OpenLetters:
    """How many open letters died of one class of error."""

    error_class: str
    letters: int


@dataclass(frozen=True)
class LettersOfKind:
    """How many open letters a kind has."""

    kind: str
    letters: int


@dataclass(frozen=True)
class ParkedWork:
    """Work that is out of the schedule, because it gave up."""

    kind: str
    key: str


async def bury(tx: Tx, letter: DeadLetter) -> None:
    """Write a letter with the final completion of its job."""
    await tx.execute(
        Q["bury"],
        id=letter.id,
        kind=letter.kind,
        key=letter.key,
        error_class=letter.error_class,
        message=letter.message,
        stack=letter.stack,
        attempts=letter.attempts,
        crashes=letter.crashes,
        first_tried_at=letter.first_tried_at,
        died_at=letter.died_at,
    )


async def list_dead_letters(
    tx: Tx, *, state: State | None = "open", kind: str | None = None, limit: int = 100
) -> list[DeadLetter]:
    return await tx.all(DeadLetter, Q["list_dead_letters"], state=state, kind=kind, limit=limit)


async def get_dead_letter(tx: Tx, letter_id: UUID) -> DeadLetter | None:
    return await tx.one(DeadLetter, Q["get_dead_letter"], id=letter_id)


async def list_by_ending(tx: Tx, ending: str) -> list[UUID]:
    """Return the letters whose id ends so, at most two: more than one is too many."""
    return await tx.column(Q["list_by_ending"], ending=ending)


async def close_dead_letter(tx: Tx, letter_id: UUID, *, state: State, now: datetime) -> bool:
    """Close an open letter; false if somebody did before."""
    return await tx.execute(Q["close_dead_letter"], id=letter_id, state=state, now=now) == 1


async def keep_dead_letter(tx: Tx, letter_id: UUID, *, kept: bool) -> bool:
    return await tx.execute(Q["keep_dead_letter"], id=letter_id, kept=kept) == 1


async def count_open_by_class(tx: Tx) -> list[OpenLetters]:
    return await tx.all(OpenLetters, Q["count_open_by_class"])


async def count_open_by_kind(tx: Tx) -> list[LettersOfKind]:
    return await tx.all(LettersOfKind, Q["count_open_by_kind"])


async def prune_dead_letters(tx: Tx, *, keep: int, before: datetime, most_open: int) -> list[ParkedWork]:
    """Delete old letters, and return the work of those that were still open."""
    return await tx.all(ParkedWork, Q["prune_dead_letters"], keep=keep, before=before, most_open=most_open)
