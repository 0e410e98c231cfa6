"""Judging again after settings have changed: in the database alone, without any call and any download.

A job judges one batch. It holds settings as they are, so that what it writes is true when it commits; a
change that waits for it makes the channel due anew. The order of locks is that of everybody who writes
sightings: settings, the stream or listing, the wake-up of ingest, sightings by their keys, items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.streams.filters import KEPT, Candidate
from headgate.domain.streams.messages import Lens
from headgate.domain.streams.rules import ChannelRules
from headgate.intake.channels.rules import RulesCache
from headgate.intake.fetching.wishes import wish_files, withdraw_files
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.storage.catalogue import sightings
from headgate.storage.catalogue.sets import TouchedVolume, touch_buckets
from headgate.storage.channels import judging
from headgate.storage.channels.judging import Judging, NewVerdict, StaleSighting
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.listings import listings
from headgate.storage.shelf.touched import queue_files
from headgate.storage.streams import streams

KIND = "judge"
BATCH = 1000


class JudgingRows:
    """Channels whose settings have changed, as the work of the kind `judge`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await judging.list_due_judging(tx, now=now, limit=limit)

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        await judging.set_judging_due(tx, key, due_at=until)

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        await judging.set_judging_due(tx, key, due_at=now)


@dataclass
class Judge:
    """Judges the sightings of channels again, batch by batch."""

    rules: RulesCache
    clock: Clock
    lenses_of: Callable[[str], Sequence[Lens]]
    """The lenses that a platform offers, by its name."""

    def kind(self) -> Kind[UUID]:
        return Kind(name=KIND, parse_key=UUID, handle=self.judge, rows=JudgingRows())

    async def judge(self, job: Job[UUID]) -> None:
        """Judge one batch of what was judged under other settings; wake a successor if more is left."""
        async with job.finish() as tx:
            rules = await self.rules.get(tx, job.key)
            asked = await judging.get_judging(tx, job.key)
            if asked is None:
                return
            await self._follow_lenses(tx, asked, rules)
            stale = await judging.list_stale(
                tx,
                job.key,
                base_hash=rules.base.settings_hash,
                topic_hashes={topic: hashed.settings_hash for topic, hashed in rules.topics.items()},
                limit=BATCH,
            )
            now = self.clock.now()
            changed = await _judge_batch(tx, job.key, stale, rules, now=now) if stale else 0
            await touch_buckets(tx, job.key, _volumes(stale), now=now)
            await judging.note_progress(tx, job.key, judged=len(stale), changed=changed)
            if len(stale) == BATCH or not await judging.end_judging(tx, asked):
                await enqueue(tx, [Wake(KIND, str(job.key))])

    async def _follow_lenses(self, tx: Tx, asked: Judging, rules: ChannelRules) -> None:
        """Take the stream and let its lenses follow; through a new one everything is yet to be read.

        A listing has no lenses, and is only taken.
        """
        stream = await streams.lock_stream(tx, asked.channel_id)
        if stream is None:
            await listings.lock_listings(tx, [asked.channel_id])
            return
        lenses = rules.lenses(self.lenses_of(asked.platform))
        if lenses == tuple(stream.lenses):
            return
        await streams.set_lenses(tx, {asked.channel_id: lenses})
        if set(lenses) - set(stream.lenses):
            await streams.wake_stream(tx, asked.channel_id, due_at=self.clock.now())


async def _judge_batch(
    tx: Tx, channel_id: UUID, stale: Sequence[StaleSighting], rules: ChannelRules, *, now: datetime
) -> int:
    """Write the new verdicts and all that follows from them; returns how many are other than before."""
    verdicts = [_judge(sighting, rules) for sighting in stale]
    pairs = list(zip(stale, verdicts, strict=True))
    turned = [old for old, new in pairs if (old.verdict == KEPT) != (new.verdict == KEPT)]
    turned_ids = [sighting.id for sighting in turned]
    message_keys = list({sighting.message_key: None for sighting in turned})
    # Before any sighting is locked: the wake-up may wait for a running ingest, which wants the sightings.
    if await judging.has_waiting(tx, [old.id for old in turned if old.verdict != KEPT]):
        await enqueue(tx, [Wake("ingest", str(channel_id))])
    before = await sightings.count_kept_messages(tx, channel_id, message_keys)
    await judging.judge_sightings(tx, verdicts)
    after = await sightings.count_kept_messages(tx, channel_id, message_keys)
    await sightings.shift_message_count(tx, channel_id, by=after - before)
    if await judging.show_items_of(tx, turned_ids):
        await publish(tx, Event("items"))
    # Listings have no files, and their posts are no content; the statements know.
    judged_ids = [old.id for old in stale]
    wished = await wish_files(tx, channel_id, rules, judged_ids, now=now)
    if wished + await withdraw_files(tx, rules, judged_ids):
        await queue_files(tx, judged_ids)
    return sum(old.verdict != new.verdict for old, new in pairs)


def _volumes(stale: Sequence[StaleSighting]) -> list[TouchedVolume]:
    return [
        TouchedVolume(each.volume_key, each.author_key, each.position) for each in stale if each.assembled
    ]


def _judge(sighting: StaleSighting, rules: ChannelRules) -> NewVerdict:
    """Judge what was seen; a volume is judged with its set, which is assembled anew."""
    if sighting.assembled:
        return NewVerdict(sighting.id, sighting.verdict, rules.hash_for(sighting.topic))
    candidate = Candidate(
        file_name=sighting.file_name,
        mime_type=sighting.mime_type,
        size_bytes=sighting.size_bytes,
        author=sighting.author,
        from_bot=sighting.from_bot,
        from_webhook=sighting.from_webhook,
        url=sighting.url,
    )
    judged = rules.judge(candidate, topic=sighting.topic)
    return NewVerdict(sighting.id, judged.verdict, judged.settings_hash)
