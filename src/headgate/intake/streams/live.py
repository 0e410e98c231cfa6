"""Listening: what happens in an account's streams, taken in within a second.

Events are gathered and written in batches, one transaction a channel. Where the platform's events are proof,
they cover what they prove; where they are hints, the message is stored and the head raised. Either way a
stream that has something uncovered below its head is made due, and a reading closes the rest.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from headgate.connectors.protocol import Manifest
from headgate.domain.errors import Elsewhere
from headgate.domain.streams.coverage import merge
from headgate.domain.streams.messages import LiveEvent, Message, Span
from headgate.domain.streams.schedule import Tier
from headgate.intake.channels.rules import RulesCache
from headgate.intake.streams.accept import accept_messages, count_covered
from headgate.intake.streams.deletions import delete_messages
from headgate.intake.streams.placing import place_live
from headgate.intake.streams.rereads import edit_window_s
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.logs import get_logger
from headgate.lanes.links import AccountRef, Links
from headgate.storage.channels.account_memory import save_memory
from headgate.storage.channels.channels import find_streams
from headgate.storage.channels.discovery import APART_S, ask_discovery, list_unknown
from headgate.storage.database import Database, Tx
from headgate.storage.errors import DatabaseAway
from headgate.storage.streams import streams
from headgate.storage.streams.listeners import note_listening
from headgate.storage.streams.rechecks import ask_rechecks
from headgate.storage.streams.rereads import ask_rereads

log = get_logger("intake")

BATCH_S = 0.5
"""How long events are gathered: with the time of writing, what comes is stored within a second."""
SIGN_S = 30.0
"""How often a listener says that it is there."""
STRANGERS_S = 60.0
WRITE_TRIES = 5
"""So often a channel's events are tried; then they are left to a reading."""
OF_NO_STREAM = frozenset({"mark", "channels"})
READ_AFTER_S = 2.0
"""How soon after the settle margin a stream is read: long enough for a burst to be one reading."""


@dataclass
class LiveIntake:
    """Takes in the live events of one account."""

    account: AccountRef
    manifest: Manifest
    database: Database
    clock: Clock
    ids: Ids
    rules: RulesCache
    _waiting: list[LiveEvent] = field(default_factory=list[LiveEvent])
    _came: asyncio.Event = field(default_factory=asyncio.Event)
    _channels: dict[str, UUID] = field(default_factory=dict[str, UUID])
    _strangers: dict[str, float] = field(default_factory=dict[str, float])
    """Streams that are not ours to hear, and when that was found out."""
    _dropped: dict[str, int] = field(default_factory=dict[str, int])
    """The newest message of each stream that was heard and not taken in."""
    _failures: dict[UUID, int] = field(default_factory=dict[UUID, int])
    _continuous: set[str] = field(default_factory=set[str])
    """Streams of which this connection has told everything since an event that was taken in."""

    async def run(self, links: Links) -> None:
        """Listen until the connection ends, whatever ends it.

        Who is cancelled or loses the account writes nothing any more: another one may be listening already,
        and what was not written is not covered.
        """
        try:
            async with links.listening(self.account) as link:
                await self._begin()
                await self._gather(link.listen())
        except Elsewhere:
            raise
        except Exception:
            await self._end()
            raise
        await self._end()

    async def _begin(self) -> None:
        """Messages that came in the gap are found by the next check, and edits by rereading.

        All in one transaction: until it is stored, the last sign of life tells when the gap began.
        """
        knobs, now = self.rules.knobs, self.clock.now()
        self._continuous.clear()
        async with self.database.transaction() as tx:
            await self._bring_forward(tx)
            await ask_rereads(
                tx,
                self.account.id,
                window_s=edit_window_s(self.manifest, knobs),
                every_s=knobs.reread_every_s,
                gap_began=now - timedelta(seconds=knobs.skip_window_s),
                now=now,
            )
            await note_listening(tx, self.account.id, listening=True, now=now)

    async def _end(self) -> None:
        await self.flush()
        async with self.database.transaction() as tx:
            await note_listening(tx, self.account.id, listening=False, now=self.clock.now())
            await self._bring_forward(tx)

    async def _bring_forward(self, tx: Tx) -> None:
        knobs = self.rules.knobs
        intervals: dict[Tier, float] = {"HOT": knobs.often_s, "WARM": knobs.normal_s, "COLD": knobs.rarely_s}
        now = self.clock.now()
        await streams.bring_forward(
            tx,
            self.account.id,
            intervals_s=intervals,
            gap_began=now - timedelta(seconds=knobs.skip_window_s),
            now=now,
        )

    async def _sign(self) -> None:
        async with self.database.transaction() as tx:
            await note_listening(tx, self.account.id, listening=True, now=self.clock.now())

    async def _gather(self, events: AsyncIterator[LiveEvent]) -> None:
        keeping = [
            asyncio.create_task(self._write_in_batches(), name="live batches"),
            asyncio.create_task(self._keep_signing(), name="live signs"),
        ]
        try:
            async for event in events:
                self.take(event)
        finally:
            for task in keeping:
                task.cancel()
            await asyncio.wait(keeping)

    async def _write_in_batches(self) -> None:
        """Write the first event at once and what follows a little later: a flood is few transactions."""
        while True:
            await self._came.wait()
            try:
                await self.flush()
            except Exception as error:  # noqa: BLE001 - nothing was written; the next batch tries again
                log.warning("live events could not be written", reason=f"{type(error).__name__}: {error}")
            await self.clock.sleep(BATCH_S)

    async def _keep_signing(self) -> None:
        while True:
            await self.clock.sleep(SIGN_S)
            try:
                await self._sign()
            except Exception as error:  # noqa: BLE001 - the next sign tells that it is there
                log.warning("a listener could not say that it is there", reason=str(error))

    def take(self, event: LiveEvent) -> None:
        """Keep an event for the next batch; nothing waits here."""
        if event.kind != "disconnect":
            self._waiting.append(event)
            self._came.set()

    async def flush(self) -> int:
        """Write what has come since the last batch; returns how many events that were.

        What could not be written is not covered: it waits for the next batch, in its order.
        """
        events, self._waiting = self._waiting, []
        self._came.clear()
        left = events
        try:
            left = await self._write(events)
            await self._remember(marks_before(events, left))
        finally:
            if left:
                self._waiting = left + self._waiting
                self._came.set()
        return len(events) - len(left)

    async def _write(self, events: list[LiveEvent]) -> list[LiveEvent]:
        """Write each channel by itself; returns the events of those that failed."""
        if any(event.kind == "channels" for event in events):
            async with self.database.transaction() as tx:
                await ask_discovery(tx, self.account.id, now=self.clock.now(), apart_s=APART_S)
        await self._find({event.stream for event in events if event.kind not in OF_NO_STREAM})
        by_channel: dict[UUID, list[LiveEvent]] = {}
        for event in events:
            if event.kind in OF_NO_STREAM:
                continue
            if channel_id := self._channels.get(event.stream):
                by_channel.setdefault(channel_id, []).append(event)
            else:
                self._drop(event)
        failed: set[str] = set()
        for channel_id in sorted(by_channel):
            if not await self._write_channel(channel_id, by_channel[channel_id]):
                failed.add(by_channel[channel_id][0].stream)
        return left_over(events, failed)

    async def _remember(self, marks: Mapping[str, str]) -> None:
        """Store what the connector wants to know when it is opened again."""
        if marks:
            async with self.database.transaction() as tx:
                await save_memory(tx, self.account.id, marks)

    async def _write_channel(self, channel_id: UUID, events: Sequence[LiveEvent]) -> bool:
        try:
            async with self.database.transaction() as tx:
                accepted = await self._accept(tx, channel_id, events)
        except DatabaseAway:
            raise
        except Exception as error:  # noqa: BLE001 - one channel's trouble is no other's; it is tried again
            tries = self._failures[channel_id] = self._failures.get(channel_id, 0) + 1
            reason = f"{type(error).__name__}: {error}"
            log.warning("live events could not be written", channel=str(channel_id), reason=reason)
            if tries < WRITE_TRIES:
                return False
            accepted = False
        self._failures.pop(channel_id, None)
        if accepted:
            self._continuous.add(events[0].stream)
        else:
            for event in events:
                self._drop(event)
        return True

    async def _find(self, keys: set[str]) -> None:
        """Find out which of the streams are ours to hear."""
        now_s = self.clock.monotonic()
        unknown = [key for key in sorted(keys) if key not in self._channels and self._strange(key, now_s)]
        if not unknown:
            return
        async with self.database.transaction() as tx:
            found = await find_streams(tx, self.account.id, unknown)
            strangers = [key for key in unknown if key not in found]
            if strangers and await list_unknown(tx, self.account.id, strangers):
                await ask_discovery(tx, self.account.id, now=self.clock.now(), apart_s=APART_S)
        self._channels |= found
        self._strangers |= {key: now_s for key in unknown if key not in found}

    def _strange(self, key: str, now_s: float) -> bool:
        return now_s - self._strangers.get(key, float("-inf")) >= STRANGERS_S

    def _drop(self, event: LiveEvent) -> None:
        """Forget an event that is not to be taken in now; no later proof may cover its message."""
        self._continuous.discard(event.stream)
        if event.message is not None:
            position = event.message.position
            self._dropped[event.stream] = max(position, self._dropped.get(event.stream, position))

    def _spans(self, events: Sequence[LiveEvent]) -> list[Span]:
        """Return what events prove, without what lies below a message that was dropped."""
        lowest = max((self._dropped.get(event.stream, -1) for event in events), default=-1) + 1
        spans = [event.proven for event in events if event.proven is not None]
        return [Span(max(span.start, lowest), span.end) for span in spans if span.end > lowest]

    async def _accept(self, tx: Tx, channel_id: UUID, events: Sequence[LiveEvent]) -> bool:
        """Take a channel's events in; false if it is switched off, or not there any more."""
        now = self.clock.now()
        rules = await self.rules.get(tx, channel_id)
        locked = await streams.lock_stream(tx, channel_id)
        if locked is None:
            self._channels.pop(events[0].stream, None)
        if locked is None or not rules.enabled:
            return False
        head = None
        if self.manifest.positions == "allotted":
            continuous = events[0].stream in self._continuous
            events, head = await place_live(tx, channel_id, events, head=locked.head, continuous=continuous)
        messages = [event.message for event in events if event.message is not None]
        spans = self._spans(events)
        await accept_messages(
            tx, channel_id, messages, rules=rules, ids=self.ids, now=now, unreadable=_unreadable(events)
        )
        edited = [event.key for event in events if event.kind == "edit" and event.message is None]
        await ask_rechecks(tx, channel_id, edited, reason="edited", due_at=now, now=now)
        gone = [event.key for event in events if event.kind == "delete"]
        await delete_messages(tx, channel_id, gone, rules=rules, now=now)
        await count_covered(
            tx, channel_id, locked, list(_proven(messages, spans).values()), lens="everything", now=now
        )
        await streams.cover(tx, channel_id, lens="everything", spans=spans)
        newest = max((message.position for message in messages), default=None)
        await streams.raise_head(tx, channel_id, head=newest if head is None else head, now=now)
        settled = timedelta(seconds=self.manifest.settle_margin_s + READ_AFTER_S)
        await streams.wake_if_behind(tx, channel_id, due_at=now + settled)
        return True


def left_over(events: Sequence[LiveEvent], failed: Collection[str]) -> list[LiveEvent]:
    """Return the events of streams that failed, and the marks that come after any of them."""
    left: list[LiveEvent] = []
    for event in events:
        if event.stream in failed if event.kind != "mark" else left:
            left.append(event)
    return left


def marks_before(events: Sequence[LiveEvent], left: Sequence[LiveEvent]) -> dict[str, str]:
    """Return what the marks say that only stored events come before."""
    kept = {id(event) for event in left}
    memory: dict[str, str] = {}
    for event in events:
        if id(event) in kept:
            break
        memory.update(event.memory)
    return memory


def _unreadable(events: Sequence[LiveEvent]) -> list[str]:
    return [event.key for event in events if event.message is None and event.kind == "message"]


def _proven(messages: Sequence[Message], spans: Sequence[Span]) -> Mapping[int, Message]:
    """Return the messages that the events prove, by position."""
    merged = merge(spans)
    starts = [span.start for span in merged]
    proven: dict[int, Message] = {}
    for message in messages:
        index = bisect_right(starts, message.position) - 1
        if index >= 0 and message.position in merged[index]:
            proven[message.position] = message
    return proven
