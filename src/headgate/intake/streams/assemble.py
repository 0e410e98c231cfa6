"""Assembles volumes into sets: all volumes of one name together, whenever one of them changes.

Volumes come over pages, live events, albums and days, the newest often first. Intake only stores them and
notes which name has changed. Here everything of that name is looked at again, under the stream's lock, so
that the outcome depends on what was posted and not on the order in which it was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.catalogue.making import make_items
from headgate.catalogue.set_plan import PlannedItem, judge_completeness, plan_items
from headgate.domain.library.archive_sets.assembly import MAX_VOLUMES
from headgate.domain.library.archive_sets.completeness import SetState
from headgate.domain.library.name_keys import name_key
from headgate.domain.streams.filters import KEPT
from headgate.domain.streams.rules import ChannelRules
from headgate.intake.channels.rules import RulesCache
from headgate.intake.fetching.wishes import wish_files, withdraw_files
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.storage.catalogue import sets, sightings
from headgate.storage.catalogue.sets import Bucket, DueBucket, ItemSet, PlacedVolume, StoredVolume
from headgate.storage.catalogue.sightings import NewItem
from headgate.storage.channels.judging import show_items
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.labels.queue import note_unlabelled
from headgate.storage.library.inspections import note_inspection
from headgate.storage.streams import streams

KIND = "assemble"
BUCKETS = 50
"""Names that one job assembles."""
MISSING_NAMES = 20
"""Missing volumes that are named; nobody reads more."""
AGAIN_AFTER = timedelta(hours=1)
"""When to look again at a set that waits until its channel has been read up to now."""


class BucketRows:
    """Channels with names to be assembled, as the work of the kind `assemble`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await sets.list_due_channels(tx, now=now, limit=limit)

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        await sets.postpone_buckets(tx, key, until=until, now=now)

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        await sets.reopen_buckets(tx, key, now=now)


@dataclass(frozen=True)
class _Placed:
    """A planned item with its id and, for a set, how complete it is."""

    plan: PlannedItem
    id: UUID | None
    """None for what is not kept and never was."""
    state: SetState | None


@dataclass
class Assembler:
    """Assembles what changed in a channel."""

    rules: RulesCache
    clock: Clock
    ids: Ids

    def kind(self) -> Kind[UUID]:
        return Kind(name=KIND, parse_key=UUID, handle=self.assemble, rows=BucketRows())

    async def assemble(self, job: Job[UUID]) -> None:
        """Assemble the names of a channel that are due; wake a successor if more are."""
        now = self.clock.now()
        async with job.finish() as tx:
            rules = await self.rules.get(tx, job.key)
            if await streams.lock_stream(tx, job.key) is None:
                return
            read_to = min(now, await streams.get_read_at(tx, job.key) or now)
            due = await sets.list_due_buckets(tx, job.key, now=now, limit=BUCKETS)
            for bucket in due:
                await _Assembly(tx, job.key, bucket, rules, self.ids, now, read_to).run()
            if due:
                await publish(tx, Event("items"))
            if len(due) == BUCKETS:
                await enqueue(tx, [Wake(KIND, str(job.key))])


@dataclass
class _Assembly:
    """One name, assembled in the job's transaction.

    Locks are taken in the order of everybody: the stream (by the caller), sightings, items by id.
    """

    tx: Tx
    channel_id: UUID
    due: DueBucket
    rules: ChannelRules
    ids: Ids
    now: datetime
    read_to: datetime
    """Up to when the channel is known to have been read: silence counts only so far."""

    @property
    def bucket(self) -> Bucket:
        return self.due.key

    async def run(self) -> None:
        await sets.lock_loose(self.tx, self.channel_id, self.bucket, limit=MAX_VOLUMES)
        plans = plan_items(await self._load(), self.rules)
        known_ids = {each.item.item_id for each in plans if each.item.item_id}
        known = await sets.list_sets(self.tx, known_ids)
        placed = await self._give_ids(plans, totals=await sets.list_totals(self.tx, known_ids))
        changed = await self._place(placed)
        await self._form_items(placed, known_sets=known.keys())
        await self._look_after(changed)
        due_at = await self._save_sets([each for each in placed if each.state], known_sets=known.keys())
        await sets.settle_bucket(self.tx, self.channel_id, self.bucket, due_at=due_at)

    async def _load(self) -> list[StoredVolume]:
        """Return all volumes of the name; of too many, those around what changed."""
        found = await self._list_from(0)
        if len(found) <= MAX_VOLUMES:
            return found
        changed_from = self.due.changed_from if self.due.changed_from is not None else found[-1].position
        start = await sets.find_position_before(
            self.tx, self.channel_id, self.bucket, position=changed_from, limit=MAX_VOLUMES // 2
        )
        return (await self._list_from(changed_from if start is None else start))[:MAX_VOLUMES]

    async def _list_from(self, position: int) -> list[StoredVolume]:
        return await sets.list_volumes(
            self.tx, self.channel_id, self.bucket, position=position, limit=MAX_VOLUMES + 1
        )

    async def _give_ids(self, plans: Sequence[PlannedItem], *, totals: Mapping[UUID, int]) -> list[_Placed]:
        """Make the items that are kept and new: single files by their content, sets by their own id."""
        new = [(n, plan) for n, plan in enumerate(plans) if not plan.item.item_id and plan.verdict == KEPT]
        lone = [(n, plan) for n, plan in new if not plan.is_set]
        made = await make_items(
            self.tx, self.channel_id, [plan.files[0] for _, plan in lone], ids=self.ids, now=self.now
        )
        new_ids = {n: item_id for (n, _), item_id in zip(lone, made.item_ids, strict=True)}
        rows = {n: _item(plan, self.ids.new()) for n, plan in new if plan.is_set}
        new_ids |= {n: row.id for n, row in rows.items()}
        if rows:
            silent = [row.id for row in rows.values()]
            await sightings.insert_items(
                self.tx, self.channel_id, list(rows.values()), silent_ids=silent, now=self.now
            )
        return [
            _Placed(
                plan,
                plan.item.item_id or new_ids.get(n),
                self._judge(plan, totals) if plan.is_set else None,
            )
            for n, plan in enumerate(plans)
        ]

    def _judge(self, plan: PlannedItem, totals: Mapping[UUID, int]) -> SetState:
        total = totals.get(plan.item.item_id) if plan.item.item_id else None
        return judge_completeness(plan, now=self.read_to, proven_total=total)

    async def _place(self, placed: Sequence[_Placed]) -> list[PlacedVolume]:
        """Give volumes their items and verdicts, and let the count of kept messages follow.

        Returns those that have another item or verdict now.
        """
        changes = [change for each in placed for change in self._changes(each)]
        keys = sorted({file.message_key for file, _ in changes})
        before = await sightings.count_kept_messages(self.tx, self.channel_id, keys)
        await sets.place_volumes(self.tx, [place for _, place in changes])
        left = sorted({file.item_id for file, _ in changes if file.item_id})
        await note_unlabelled(self.tx, self.channel_id, message_keys=keys, item_ids=left)
        after = await sightings.count_kept_messages(self.tx, self.channel_id, keys)
        await sightings.shift_message_count(self.tx, self.channel_id, by=after - before)
        return [place for _, place in changes]

    async def _look_after(self, changed: Sequence[PlacedVolume]) -> None:
        """Have the volumes of kept sets fetched, and look into items that have other files now."""
        kept = [place.id for place in changed if place.verdict == KEPT]
        await wish_files(self.tx, self.channel_id, self.rules, kept, now=self.now)
        rejected = [place.id for place in changed if place.verdict != KEPT]
        await withdraw_files(self.tx, self.rules, rejected)
        await note_inspection(self.tx, {place.item_id for place in changed if place.item_id}, self.now)

    def _changes(self, placed: _Placed) -> Iterable[tuple[StoredVolume, PlacedVolume]]:
        for file in placed.plan.files:
            settings_hash = self.rules.hash_for(file.topic)
            place = PlacedVolume(file.id, placed.id, placed.plan.verdict, settings_hash)
            if place != (file.id, file.item_id, file.verdict, file.settings_hash) or not file.assembled:
                yield file, place

    async def _form_items(self, placed: Sequence[_Placed], *, known_sets: Iterable[UUID]) -> None:
        """Let items be called what they are now; those that grew together become one."""
        merged = {alias: each.id for each in placed if each.id for alias in each.plan.item.aliases}
        # Before their items are locked: whoever tells of them has the news, and wants the items.
        await sets.hush_sets(self.tx, list(merged))
        formed = [each.id for each in placed if each.id and each.state and each.id not in known_sets]
        strangers = await sets.release_strangers(
            self.tx,
            self.bucket,
            item_ids=[*formed, *merged],
            member_ids=[file.id for each in placed for file in each.plan.files],
        )
        await sets.touch_buckets(self.tx, self.channel_id, strangers, now=self.now)
        await sets.merge_items(self.tx, merged)
        dissolved = [each.id for each in placed if each.id and not each.state and each.id in known_sets]
        await sets.delete_sets(self.tx, dissolved)
        known = [each for each in placed if each.id and (each.state or each.id in dissolved)]
        await sets.update_items(self.tx, [_item(each.plan, each.id) for each in known if each.id])
        await show_items(self.tx, sorted({each.id for each in placed if each.id}))

    async def _save_sets(self, placed: Sequence[_Placed], *, known_sets: Iterable[UUID]) -> datetime | None:
        """Note how complete sets are, tell of those that are, and return when to look at them again."""
        saved = [_set_row(each.id, each.plan, each.state) for each in placed if each.id and each.state]
        await sets.save_sets(self.tx, saved)
        kept = [each for each in placed if each.id and each.state and each.plan.verdict == KEPT]
        complete = [each.id for each in kept if each.id and each.state and each.state.complete]
        early = {each.id for each in kept if each.id} - set(complete) - set(known_sets)
        await sets.hush_sets(self.tx, sorted(early))
        await sets.tell_sets(self.tx, sorted(complete), now=self.now)
        times = [each.state.due_at for each in placed if each.id and each.state and each.state.due_at]
        if not times:
            return None
        # A time that has passed waits for the channel to be read, not for the clock.
        return min(at if at > self.now else self.now + AGAIN_AFTER for at in times)


def _item(plan: PlannedItem, item_id: UUID) -> NewItem:
    return NewItem(
        id=item_id,
        content_key=f"set:{item_id}" if plan.is_set else plan.content_key,
        kind=plan.kind,
        type=plan.type,
        title=plan.title,
        name_key=name_key(plan.title),
        size_bytes=plan.size_bytes,
        sent_at=plan.sent_at,
    )


def _set_row(item_id: UUID, plan: PlannedItem, state: SetState) -> ItemSet:
    return ItemSet(
        item_id=item_id,
        state=state.state,
        reason=state.reason,
        present=len(state.present),
        total=state.total,
        missing_count=state.missing_count,
        missing=state.missing_names[:MISSING_NAMES],
        problem=state.problem,
        arrived_at=plan.arrived_at,
    )
