"""Misses are tried again one by one, by their key: no stream is read for them, and none waits for them.

A message that could not be read is fetched again. A sighting of which no item could be made is fetched
again too (its links may have expired) and then left to ingesting, which ends the miss or counts an attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.domain.errors import error_class
from headgate.domain.streams.misses import MISS_CAP
from headgate.intake.streams.head_checks import refusal
from headgate.intake.streams.refetch import FailedRefetch, Fetched, Refetched, SingleMessages
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.storage.database import Tx
from headgate.storage.streams import misses
from headgate.storage.streams.misses import Miss

KIND = "miss"
ASKED = 10
"""Priority of what a person waits for."""
WAKE_AT_ONCE = 500
"""How many misses that a person retries get a job at once; the tick wakes the rest."""
NOBODY_CAN_S = 1800.0
RECHECK_S = 3600.0
"""Check again after this whether a retry that went on to ingesting succeeded."""


class MissRows:
    """Open misses as the work of the kind `miss`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await misses.list_due_misses(tx, now=now, limit=limit)

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        await misses.set_miss_due(tx, key, due_at=until)

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        await misses.set_miss_due(tx, key, due_at=now)


@dataclass
class MissRetries:
    """Tries misses again."""

    messages: SingleMessages
    cap: int = MISS_CAP

    def kind(self) -> Kind[UUID]:
        return Kind(name=KIND, parse_key=UUID, handle=self.retry, rows=MissRows())

    async def retry(self, job: Job[UUID]) -> None:
        """Try one miss, if it is due."""
        async with job.database.transaction() as tx:
            miss = await misses.get_miss(tx, job.key)
        if miss is None or not _is_due(miss, self._now()):
            return
        if miss.standing in {"waiting", "settled"}:
            await self._leave(job, miss)
            return
        fetched = await self.messages.fetch(job.database, miss.channel_id, message_key=miss.message_key)
        async with job.finish() as tx:
            if await self._end(tx, miss, fetched):
                await enqueue(tx, [Wake(KIND, str(miss.id), ASKED)])

    async def _leave(self, job: Job[UUID], miss: Miss) -> None:
        """Fetch nothing: ingesting has yet to try, or nothing is left to be tried."""
        async with job.finish() as tx:
            if miss.standing == "settled":
                await misses.delete_miss(tx, miss.id)
                return
            await enqueue(tx, [Wake("ingest", str(miss.channel_id))])
            await misses.postpone_try(tx, miss, due_at=self._later(RECHECK_S), now=self._now())

    async def _end(self, tx: Tx, miss: Miss, fetched: Fetched) -> bool:
        """Write what came of a try; true if a person wants another one at once."""
        fetched = await self.messages.take(tx, miss.channel_id, message_key=miss.message_key, fetched=fetched)
        if isinstance(fetched, Refetched):
            await self._clear(tx, miss)
            return False
        if isinstance(fetched, FailedRefetch):
            return await misses.fail_try(
                tx,
                miss,
                error_class=error_class(fetched.error),
                error_message=str(fetched.error),
                now=self._now(),
                cap=self.cap,
            )
        return await misses.postpone_try(tx, miss, due_at=self._later(NOBODY_CAN_S), now=self._now())

    async def _clear(self, tx: Tx, miss: Miss) -> None:
        if miss.stage == "read":
            await misses.delete_miss(tx, miss.id)
        else:
            later = self._later(RECHECK_S)
            await misses.release_sightings(
                tx, miss.channel_id, message_key=miss.message_key, recheck_at=later
            )

    def _now(self) -> datetime:
        return self.messages.clock.now()

    def _later(self, seconds: float) -> datetime:
        return self._now() + timedelta(seconds=seconds)


@dataclass(frozen=True)
class Retried:
    """Misses that are tried again, and how many are not because their channels are off."""

    ids: Sequence[UUID]
    left_out: int = 0


async def retry_misses(
    tx: Tx, miss_ids: Sequence[UUID] | None = None, *, channel_id: UUID | None = None, now: datetime
) -> Retried:
    """Retry misses at once because a person asks for it: the named ones, a channel's, or all.

    Abandoned ones are open again, and earlier failures no longer count. Refused for a channel that is off;
    when all are asked for, those of such channels are left out.
    """
    found = await misses.list_retryable(tx, miss_ids, channel_id=channel_id)
    off = [miss.switched_off for miss in found if miss.switched_off]
    wanted = [miss.id for miss in found if not miss.switched_off]
    if off and (miss_ids is not None or channel_id is not None):
        raise refusal(min(off))
    # The wake-ups come first: they may wait for a running try, which in turn wants its miss.
    await enqueue(tx, [Wake(KIND, str(miss_id), ASKED) for miss_id in wanted[:WAKE_AT_ONCE]])
    return Retried(await misses.reopen_misses(tx, wanted, now=now), left_out=len(off))


def _is_due(miss: Miss, now: datetime) -> bool:
    return miss.state == "open" and miss.due_at is not None and miss.due_at <= now
