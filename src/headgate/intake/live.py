"""Listening: what happens in an account's streams, taken in within a second or two.

Events are gathered and written in batches, one transaction a channel. Where the platform's events are proof,
they cover what they prove; where they are hints, the message is stored, the head raised and the stream made
due, and a reading closes the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from headgate.domain.errors import AuthFailed, Restricted
from headgate.domain.messages import LiveEvent, Span
from headgate.intake.accept import accept_messages
from headgate.intake.accounts import note_account
from headgate.intake.links import AccountRef, Links
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.logs import get_logger
from headgate.storage import streams
from headgate.storage.channels import streams_of_account
from headgate.storage.database import Database, Tx
from headgate.storage.sightings import mark_deleted

log = get_logger("intake")

BATCH_S = 1.0
READ_AFTER_S = 2.0
"""How soon after a hint a stream is read: long enough for a burst to be one reading."""


@dataclass
class LiveIntake:
    """Takes in the live events of one account."""

    account_id: UUID
    database: Database
    clock: Clock
    ids: Ids
    _waiting: list[LiveEvent] = field(default_factory=list[LiveEvent])
    _channels: dict[str, UUID] = field(default_factory=dict[str, UUID])

    async def run(self, links: Links, account: AccountRef) -> None:
        """Listen until the connection ends, whatever ends it."""
        writing = asyncio.create_task(self._write_in_batches(), name="live batches")
        try:
            async with links.listening(account) as link:
                await self._gather(link.listen())
        except (AuthFailed, Restricted) as error:
            await note_account(self.database, account, error)
            raise
        finally:
            writing.cancel()
            await asyncio.wait({writing})
        await self.flush()

    async def _gather(self, events: AsyncIterator[LiveEvent]) -> None:
        async for event in events:
            self.take(event)

    async def _write_in_batches(self) -> None:
        while True:
            await self.clock.sleep(BATCH_S)
            try:
                await self.flush()
            except Exception as error:  # noqa: BLE001 - nothing was written; the next batch tries again
                log.warning("live events could not be written", reason=f"{type(error).__name__}: {error}")

    def take(self, event: LiveEvent) -> None:
        """Keep an event for the next batch; nothing waits here."""
        if event.kind != "disconnect":
            self._waiting.append(event)

    async def flush(self) -> int:
        """Write what has come since the last batch; returns how many events that were."""
        events, self._waiting = self._waiting, []
        if not events:
            return 0
        try:
            await self._write(events)
        except BaseException:
            # Nothing was written, so nothing is covered: they wait for the next batch, in their order.
            self._waiting = events + self._waiting
            raise
        return len(events)

    async def _write(self, events: Sequence[LiveEvent]) -> None:
        if any(event.stream not in self._channels for event in events):
            async with self.database.transaction() as tx:
                self._channels = await streams_of_account(tx, self.account_id)
        by_channel: dict[UUID, list[LiveEvent]] = {}
        for event in events:
            if channel_id := self._channels.get(event.stream):
                by_channel.setdefault(channel_id, []).append(event)
        for channel_id in sorted(by_channel):
            async with self.database.transaction() as tx:
                await self._accept(tx, channel_id, by_channel[channel_id])

    async def _accept(self, tx: Tx, channel_id: UUID, events: Sequence[LiveEvent]) -> None:
        now = self.clock.now()
        state = await streams.get_scan(tx, channel_id)
        if state is None or not state.enabled:
            return
        messages = [event.message for event in events if event.message is not None]
        spans = [event.proven for event in events if event.proven is not None]
        covered = [message for message in messages if _proven(message.position, spans)]
        counted = await streams.lock_and_count(
            tx,
            channel_id,
            positions=list({message.position: None for message in covered}),
            kept=list({message.position: bool(message.attachments) for message in covered}.values()),
        )
        unreadable = [event.key for event in events if event.message is None and event.kind != "delete"]
        await accept_messages(tx, channel_id, messages, ids=self.ids, now=now, unreadable=unreadable)
        gone = [event.key for event in events if event.kind == "delete"]
        await mark_deleted(tx, channel_id, gone, now=now)
        await streams.cover(tx, channel_id, lens=state.lens, epoch=state.epoch, spans=spans, counted=counted)
        if messages:
            await streams.raise_head(tx, channel_id, head=max(message.position for message in messages))
        if len(covered) < len(messages):
            await streams.wake_stream(tx, channel_id, due_at=now + timedelta(seconds=READ_AFTER_S))


def _proven(position: int, spans: Sequence[Span]) -> bool:
    return any(position in span for span in spans)
