"""What a person can do with a dead letter: replay it, discard it, keep it."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from headgate.domain.errors import UserError
from headgate.jobs.kinds import Kinds, Wake
from headgate.jobs.wake import enqueue
from headgate.storage import dead_letters
from headgate.storage.database import Tx
from headgate.storage.dead_letters import DeadLetter, State


async def replay(tx: Tx, kinds: Kinds, letter_id: UUID, *, now: datetime) -> DeadLetter:
    """Close the letter, make its work due again and wake it, at once."""
    letter = await _close(tx, letter_id, state="replayed", now=now)
    kind = kinds.get(letter.kind)
    if kind is None:
        raise UserError(
            f"Nothing here can carry out jobs of the kind {letter.kind!r}.",
            remedy="It belongs to a part that is switched off or gone; discard the letter instead.",
        )
    try:
        key = kind.parse_key(letter.key)
    except ValueError as error:
        raise UserError(
            f"{letter.key!r} is no key of the kind {letter.kind!r}.", remedy="Discard the letter instead."
        ) from error
    if kind.rows is not None:
        await kind.rows.reopen(tx, key, now=now)
    await enqueue(tx, [Wake(kind.name, letter.key, kind.priority)])
    return letter


async def discard(tx: Tx, letter_id: UUID, *, now: datetime) -> DeadLetter:
    """Close the letter for good; its work stays out of the schedule until something wakes it."""
    return await _close(tx, letter_id, state="discarded", now=now)


async def _close(tx: Tx, letter_id: UUID, *, state: State, now: datetime) -> DeadLetter:
    """Close first and look then: of two people at once, one is told that the other was before."""
    closed = await dead_letters.close_dead_letter(tx, letter_id, state=state, now=now)
    letter = await dead_letters.get_dead_letter(tx, letter_id)
    if letter is None:
        raise UserError(f"There is no dead letter {letter_id}.", remedy="`headgate jobs list` shows them.")
    if not closed:
        raise UserError(f"The dead letter {letter_id} was {letter.state} before.")
    return letter
