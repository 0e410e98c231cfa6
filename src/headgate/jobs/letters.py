"""What a person can do with a dead letter: replay it, discard it, keep it."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from headgate.domain.errors import UserError
from headgate.jobs.kinds import Kinds, Wake
from headgate.jobs.wake import enqueue
from headgate.storage import dead_letters
from headgate.storage.database import Tx
from headgate.storage.dead_letters import DeadLetter


async def replay(tx: Tx, kinds: Kinds, letter_id: UUID, *, now: datetime) -> DeadLetter:
    """Close the letter, make its work due again and wake it, at once."""
    letter = await _open_letter(tx, letter_id)
    kind = kinds.get(letter.kind)
    if kind is None:
        raise UserError(
            f"Nothing here can carry out jobs of the kind {letter.kind!r}.",
            remedy="It belongs to a part that is switched off or gone; discard the letter instead.",
        )
    await dead_letters.close_dead_letter(tx, letter_id, state="replayed", now=now)
    if kind.rows is not None:
        await kind.rows.reopen(tx, kind.parse_key(letter.key), now=now)
    await enqueue(tx, [Wake(kind.name, letter.key, kind.priority)])
    return letter


async def discard(tx: Tx, letter_id: UUID, *, now: datetime) -> DeadLetter:
    """Close the letter for good; its work stays out of the schedule until something wakes it."""
    letter = await _open_letter(tx, letter_id)
    await dead_letters.close_dead_letter(tx, letter_id, state="discarded", now=now)
    return letter


async def _open_letter(tx: Tx, letter_id: UUID) -> DeadLetter:
    letter = await dead_letters.get_dead_letter(tx, letter_id)
    if letter is None:
        raise UserError(f"There is no dead letter {letter_id}.", remedy="`headgate jobs list` shows them.")
    if letter.state != "open":
        raise UserError(f"The dead letter {letter_id} was {letter.state} before.")
    return letter
