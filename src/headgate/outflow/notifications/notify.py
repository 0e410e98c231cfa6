"""Tells users of what they follow: news becomes notifications, each thing once for each user.

All of it happens in the transaction that ends the job: the news is gone, the notifications are there, pushes
are due and pages are told, or nothing of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.domain.retry import RetryPolicy
from headgate.domain.words.listing_words import chapter_text
from headgate.jobs.execution import REST
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.listings import news
from headgate.storage.listings.news import NOTIFY

BATCH = 500
FIVE_TIMES = RetryPolicy(max_attempts=5)


class NewsRows:
    """Channels with news, as the work of the kind `notify`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await news.list_channels_with_news(tx, now=now, limit=limit, rested_since=now - REST)

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        """Nothing to do: `list_due` leaves the channel alone for a while after its dead letter."""

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        """Nothing to do: the news still waits."""


@dataclass
class Notifier:
    """Tells of a channel's news."""

    clock: Clock
    gather_s: float = 30.0
    """How long a push waits for others."""
    at_once: int = 10

    def kind(self) -> Kind[UUID]:
        return Kind(
            name=NOTIFY,
            parse_key=UUID,
            handle=self.notify,
            rows=NewsRows(),
            retry=FIVE_TIMES,
            concurrency=self.at_once,
        )

    async def notify(self, job: Job[UUID]) -> None:
        """Tell of the next news of the channel; wake a successor if there is more."""
        now = self.clock.now()
        async with job.finish() as tx:
            taken = await create_notifications(
                tx, job.key, limit=BATCH, now=now, push_at=now + timedelta(seconds=self.gather_s)
            )
            if taken == BATCH:
                await enqueue(tx, [Wake(NOTIFY, str(job.key))])


async def create_notifications(
    tx: Tx, channel_id: UUID, *, limit: int, now: datetime, push_at: datetime
) -> int:
    """Notify users of a channel's next news, and return how much that was."""
    taken = await news.lock_news(tx, channel_id, limit=limit, now=now)
    if not taken:
        return 0
    bodies = {
        one.id: chapter_text(one.number, title=one.title, volume=one.volume, source=one.source)
        for one in taken
    }
    user_ids = await news.create_notifications(tx, channel_id, bodies, now=now, push_at=push_at)
    await publish(tx, *(Event("notifications", audience=user_id) for user_id in user_ids))
    return len(taken)
