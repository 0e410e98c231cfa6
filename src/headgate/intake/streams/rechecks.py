"""Rechecks: messages that were edited, or may have changed, are fetched once more, each by itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.domain.errors import error_class
from headgate.domain.streams.misses import MISS_CAP
from headgate.intake.streams.misses import NOBODY_CAN_S
from headgate.intake.streams.refetch import FailedRefetch, Fetched, Refetched, SingleMessages
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.storage.database import Tx
from headgate.storage.streams import rechecks
from headgate.storage.streams.rechecks import Recheck

KIND = "recheck"


@dataclass(frozen=True)
class RecheckKey:
    """Which message of which channel."""

    channel_id: UUID
    message_key: str

    @classmethod
    def parse(cls, text: str) -> RecheckKey:
        channel_id, slash, message_key = text.partition("/")
        if not slash or not message_key:
            raise ValueError("a channel's id, a slash and a message's key are wanted")
        return cls(UUID(channel_id), message_key)

    def __str__(self) -> str:
        return f"{self.channel_id}/{self.message_key}"


class RecheckRows:
    """Rechecks as the work of the kind `recheck`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await rechecks.list_due_rechecks(tx, now=now, limit=limit)

    async def postpone(self, tx: Tx, key: RecheckKey, *, until: datetime, now: datetime) -> None:
        await rechecks.set_recheck_due(tx, key.channel_id, message_key=key.message_key, due_at=until)

    async def reopen(self, tx: Tx, key: RecheckKey, *, now: datetime) -> None:
        await rechecks.set_recheck_due(tx, key.channel_id, message_key=key.message_key, due_at=now)


@dataclass
class Rechecks:
    """Looks at single messages again."""

    messages: SingleMessages
    cap: int = MISS_CAP

    def kind(self) -> Kind[RecheckKey]:
        return Kind(name=KIND, parse_key=RecheckKey.parse, handle=self.recheck, rows=RecheckRows())

    async def recheck(self, job: Job[RecheckKey]) -> None:
        """Fetch one message, if that is due; a wish that comes meanwhile stays."""
        key = job.key
        async with job.database.transaction() as tx:
            wish = await rechecks.get_recheck(tx, key.channel_id, message_key=key.message_key)
        if wish is None or wish.due_at is None or wish.due_at > self._now():
            return
        fetched = await self.messages.fetch(job.database, key.channel_id, message_key=key.message_key)
        async with job.finish() as tx:
            await self._end(tx, wish, fetched)
            newest = await rechecks.get_recheck(tx, key.channel_id, message_key=key.message_key)
            if newest is not None and newest.due_at is not None and newest.due_at <= self._now():
                await enqueue(tx, [Wake(KIND, str(key))])

    async def _end(self, tx: Tx, wish: Recheck, fetched: Fetched) -> None:
        now = self._now()
        fetched = await self.messages.take(tx, wish.channel_id, message_key=wish.message_key, fetched=fetched)
        if isinstance(fetched, Refetched):
            await rechecks.clear_recheck(tx, wish)
        elif isinstance(fetched, FailedRefetch):
            await rechecks.fail_recheck(
                tx,
                wish,
                error_class=error_class(fetched.error),
                error_message=str(fetched.error),
                ids=self.messages.ids,
                now=now,
                cap=self.cap,
            )
        else:
            later = now + timedelta(seconds=NOBODY_CAN_S)
            await rechecks.postpone_recheck(tx, wish, due_at=later, attempts=wish.attempts)

    def _now(self) -> datetime:
        return self.messages.clock.now()
