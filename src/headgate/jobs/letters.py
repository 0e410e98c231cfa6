"""How dead letters end: replayed or discarded by a person, or pruned, and then their work is tried again."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from headgate.domain.errors import NotFound, UserError
from headgate.domain.words.states import state_text
from headgate.jobs.kinds import Kinds, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.logs import get_logger
from headgate.storage.database import Tx
from headgate.storage.jobs import dead_letters, engine
from headgate.storage.jobs.dead_letters import DeadLetter, State

log = get_logger("jobs")

OPEN_AT_ONCE = 200
"""Open letters that are pruned at once: each of them is work to be done again."""


async def replay(tx: Tx, kinds: Kinds, letter_id: UUID, *, now: datetime) -> DeadLetter:
    """Close the letter, make its work due again and wake it, at once."""
    letter = await _close(tx, letter_id, state="replayed", now=now)
    await _try_again(tx, kinds, kind_name=letter.kind, raw_key=letter.key, now=now)
    return letter


async def discard(tx: Tx, letter_id: UUID, *, now: datetime) -> DeadLetter:
    """Close the letter for good; its work goes on at its own due time."""
    return await _close(tx, letter_id, state="discarded", now=now)


async def keep(tx: Tx, letter_id: UUID, *, kept: bool) -> DeadLetter:
    """Keep a failed job for ever, whatever its age, or let it be pruned again."""
    await dead_letters.keep_dead_letter(tx, letter_id, kept=kept)
    return await _get(tx, letter_id)


async def prune(tx: Tx, kinds: Kinds, *, keep: int, before: datetime, now: datetime) -> None:
    """Delete old letters, and retry the work of open ones: nothing else would remember it."""
    parked = await dead_letters.prune_dead_letters(tx, keep=keep, before=before, most_open=OPEN_AT_ONCE)
    for work in parked:
        try:
            await _try_again(tx, kinds, kind_name=work.kind, raw_key=work.key, now=now)
        except UserError as error:
            log.warning(
                "work of an old dead letter is given up", kind=work.kind, key=work.key, reason=str(error)
            )


async def _try_again(tx: Tx, kinds: Kinds, *, kind_name: str, raw_key: str, now: datetime) -> None:
    kind = kinds.get(kind_name)
    if kind is None:
        raise UserError(
            f"This installation cannot run jobs of the kind {kind_name!r}.",
            remedy="Its part of Headgate is switched off or removed; discard the failed job instead.",
        )
    try:
        key = kind.parse_key(raw_key)
    except ValueError as error:
        raise UserError(
            f"{raw_key!r} is not a key of the kind {kind_name!r}.", remedy="Discard the failed job instead."
        ) from error
    if kind.rows is not None:
        await kind.rows.reopen(tx, key, now=now)
    wake = Wake(kind.name, raw_key, kind.priority)
    if not await enqueue(tx, [wake]):
        await engine.end_delay(tx, wake.dedupe_key)


async def _close(tx: Tx, letter_id: UUID, *, state: State, now: datetime) -> DeadLetter:
    """Close first and look then: of two people at once, one is told that the other was before."""
    closed = await dead_letters.close_dead_letter(tx, letter_id, state=state, now=now)
    letter = await _get(tx, letter_id)
    if not closed:
        raise UserError(f"The failed job {letter_id} was already {state_text(letter.state)}.")
    return letter


async def _get(tx: Tx, letter_id: UUID) -> DeadLetter:
    letter = await dead_letters.get_dead_letter(tx, letter_id)
    if letter is None:
        raise NotFound(f"There is no failed job {letter_id}.", command="headgate jobs list")
    return letter
