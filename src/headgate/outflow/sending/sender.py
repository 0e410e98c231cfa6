"""The one sender of each account, across all workers.

One keyed job per account sends its runs in batches, under a lease that is checked right before every call.
All its state is in the database, so a deploy, a pause and a kill -9 are the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from headgate.connectors.protocol import CallKind
from headgate.domain.errors import AccountTrouble, HeldElsewhere
from headgate.domain.pacing import ComeBackLater
from headgate.domain.retry import RetryPolicy
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.lanes import Lanes
from headgate.lanes.links import AccountRef, Links
from headgate.outflow.sending.batch import MAX_PACE_S, SendBatch
from headgate.outflow.sending.endings import (
    SENDS_CHANGED,
    Circumstances,
    changed,
    close_window,
    end_run,
    was_saturated,
)
from headgate.outflow.sending.message_sender import SETTLE_S, MessageSender, search_history
from headgate.outflow.sending.permits import PermitPool
from headgate.outflow.sending.preparing import Preparing
from headgate.outflow.sending.resting import SEND, later, rest, wake_sender
from headgate.outflow.sending.rounds import JobRounds, RoundWriter
from headgate.outflow.sending.uploads import UploadCache
from headgate.storage.blobs.store import BlobStore
from headgate.storage.database import Database, Tx
from headgate.storage.events import publish
from headgate.storage.jobs.leases import LeaseKeeper, take_lease
from headgate.storage.lanes import lanes as lane_rows
from headgate.storage.sending import sending
from headgate.storage.sending.sending import DueRun, SenderRow, Share
from headgate.storage.streams.watches import get_watcher

LEASE_S = 10.0
LOADED = 3000
"""Deliveries that a batch loads; the next batch takes what is left."""
INACTIVE_S = 60.0
"""How often to check whether an inactive account can settle its doubtful messages."""
PERSISTENT = RetryPolicy(max_attempts=20, longest_delay_s=300.0)
"""A network that is away for an hour must not end a run."""


class SenderRows:
    """Accounts with runs that are due, as the work of the kind `send`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        await sending.follow_accounts(tx, now=now)
        return await sending.list_sending_accounts(tx, now=now, limit=limit)

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        await sending.postpone_sender(tx, key, until=until)

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        await sending.reopen_sender(tx, key, now=now)


@dataclass(frozen=True)
class SenderPlan:
    """What a job has to do: the next run, and runs that ended with messages in doubt."""

    run: DueRun | None
    opened: Sequence[DueRun]
    """All runs whose window is open."""
    shares: Sequence[Share]
    doubtful: Sequence[DueRun]
    sender: SenderRow
    in_flight: sending.InFlight
    soonest_close: datetime | None


@dataclass
class Sender:
    """Serves the runs of accounts."""

    links: Links
    lanes: Lanes
    clock: Clock
    ids: Ids
    randomness: Randomness
    store: BlobStore
    groups_at_once: int = 3
    at_once: int = 32
    _prepared: dict[UUID, tuple[object, set[str]]] = field(
        default_factory=dict[UUID, tuple[object, set[str]]]
    )
    """The targets that each open connection knows."""
    _wishes: dict[tuple[str, CallKind], int] = field(default_factory=dict[tuple[str, CallKind], int])
    """How many permits each account last asked for at once."""
    _rounds: RoundWriter | None = None

    def kind(self) -> Kind[UUID]:
        return Kind(
            name=SEND,
            parse_key=UUID,
            handle=self.send,
            rows=SenderRows(),
            runner="send",
            retry=PERSISTENT,
            concurrency=self.at_once,
        )

    async def send(self, job: Job[UUID]) -> None:
        """Send a batch of one run, and end runs whose window has closed."""
        async with job.database.autocommit() as tx:
            watcher = await get_watcher(tx, job.key)
        if watcher is None:
            return
        account = AccountRef(watcher.id, watcher.platform, watcher.name, watcher.established, watcher.sign_in)
        # A worker without the connector leaves the job to others.
        self.links.manifest(account.platform)
        if watcher.state == "active":
            await self.links.require(account)
        lease = await take_lease(
            job.database,
            self.clock,
            name=f"{SEND}:{account.id}",
            holder=SEND,
            token=self.ids.new(),
            ttl_s=LEASE_S,
        )
        if lease is None:
            raise ComeBackLater(LEASE_S / 4)
        async with LeaseKeeper(job.database, self.clock, lease) as keeper:
            await self._serve(job, account, keeper, active=watcher.state == "active")

    async def _serve(self, job: Job[UUID], account: AccountRef, keeper: LeaseKeeper, *, active: bool) -> None:
        plan = await self._plan(job.database, account, active=active)
        try:
            late_s = await self._settle(job.database, account, plan, active=active)
            batch = await self._send_batch(job, account, keeper, plan)
            if batch is not None and isinstance(batch.trouble, AccountTrouble):
                await self.links.suspend(account, batch.trouble)
                raise batch.trouble
        except AccountTrouble:
            async with job.finish() as tx:
                await sending.follow_accounts(tx, now=self.clock.now())
            return
        if batch is not None and isinstance(batch.trouble, HeldElsewhere):
            async with job.database.transaction() as tx:
                await self._end(tx, account, plan, batch)
            raise batch.trouble
        come_back_s = late_s or (batch.come_back_s if batch is not None else None) or 0.0
        rests = come_back_s > MAX_PACE_S
        if come_back_s and not rests:
            async with job.database.transaction() as tx:
                await self._end(tx, account, plan, batch)
            raise ComeBackLater(min(come_back_s, self._until_close_s(plan)))
        async with job.finish() as tx:
            # Try a pace that changed since the plan was made at once.
            rests = rests and await sending.lock_pace(tx, account.id) == plan.sender.pace_seq
            await self._end(tx, account, plan, batch)
            if rests:
                await rest(tx, account, plan.opened, wait_s=come_back_s, clock=self.clock)
            await keeper.release_with(tx)
            if await sending.is_due(tx, account.id, now=self.clock.now()):
                await wake_sender(tx, account.id)

    async def _plan(self, database: Database, account: AccountRef, *, active: bool) -> SenderPlan:
        """Close runs whose window is over, and choose the next run."""
        now = self.clock.now()
        async with database.transaction() as tx:
            if not active:
                await sending.follow_accounts(tx, now=now)
            due = await sending.list_due_runs(tx, account.id, now=now)
            sender = await sending.get_sender(tx, account.id)
            doubtful = [run for run in due if await self._close(tx, account, run, sender, now=now)]
            opened = [run for run in due if _is_open(run, now)]
            resting = {run.id for run in due} - {run.id for run in (*opened, *doubtful)}
            await sending.rest_runs(tx, list(resting), now=now)
            run = opened[0] if opened and active else None
            shares: Sequence[Share] = ()
            if run is not None and await sending.begin_batch(tx, run.id, now=now):
                if run.trigger == "library":
                    await publish(tx, SENDS_CHANGED)
                shares = await sending.list_shares(tx, run.id, limit=LOADED, settle_s=SETTLE_S, now=now)
            in_flight = await sending.count_in_flight(tx, account.id, settle_s=SETTLE_S)
        closes = [other.closes_at for other in due if other.closes_at and other.closes_at > now]
        return SenderPlan(run, opened, shares, doubtful, sender, in_flight, min(closes, default=None))

    async def _close(
        self, tx: Tx, account: AccountRef, run: DueRun, sender: SenderRow, *, now: datetime
    ) -> bool:
        """End a run whose window has closed or that was cancelled; true if messages of it are in doubt."""
        if run.state == "cancelled":
            await sending.skip_rest(tx, run.id, "cancelled", now=now)
            over = await sending.count_open(tx, run.id) == 0
        elif run.closes_at is not None and run.closes_at <= now:
            over = await close_window(tx, run, now=now)
            if not over and run.at_close == "carry":
                return False
        else:
            return False
        if over:
            await end_run(tx, run, await self._circumstances(tx, account, run, sender), now=now)
        return not over

    async def _circumstances(
        self, tx: Tx, account: AccountRef, run: DueRun, sender: SenderRow
    ) -> Circumstances:
        lanes = await lane_rows.list_lanes(tx, owner=str(account.id))
        capped = any(
            lane.kind == "send" and lane.daily_cap is not None and lane.used_today >= lane.daily_cap
            for lane in lanes
        )
        return Circumstances(saturated=was_saturated(sender, run) and not capped, daily_cap_reached=capped)

    async def _settle(
        self, database: Database, account: AccountRef, plan: SenderPlan, *, active: bool
    ) -> float | None:
        """Settle the doubtful messages of ended runs; return when to come back for the rest."""
        late_s: float | None = None
        for run in plan.doubtful:
            if not active:
                async with database.transaction() as tx:
                    await sending.put_off(tx, run.id, due_at=later(self.clock, INACTIVE_S))
                continue
            async with database.transaction() as tx:
                shares = await sending.list_doubtful(tx, run.id, settle_s=SETTLE_S, now=self.clock.now())
            for share in shares:
                if share.settles_in_s:
                    late_s = max(late_s or 0.0, share.settles_in_s)
                    continue
                found = await search_history(self.links, account, run, share, last=False)
                async with database.transaction() as tx:
                    await sending.settle_part(tx, run.id, share, found, now=self.clock.now())
            async with database.transaction() as tx:
                now = self.clock.now()
                await sending.complete_deliveries(tx, run.id, now=now)
                reason = "cancelled" if run.state == "cancelled" else "window_closed"
                await sending.skip_rest(tx, run.id, reason, now=now)
                if await sending.count_open(tx, run.id) == 0:
                    circumstances = await self._circumstances(tx, account, run, plan.sender)
                    await end_run(tx, run, circumstances, now=now)
        return late_s

    async def _send_batch(
        self, job: Job[UUID], account: AccountRef, keeper: LeaseKeeper, plan: SenderPlan
    ) -> SendBatch | None:
        if plan.run is None or not plan.shares:
            return None
        batch = await self._new_batch(job, account, keeper, plan, plan.run)
        if batch.groups_at_once > 0:
            batch.load(plan.shares)
            watch = asyncio.create_task(_stop_batch(job.stopping, batch))
            try:
                await batch.send()
            finally:
                watch.cancel()
        else:
            # Sends of an earlier batch may still be under way and fill the limit.
            batch.come_back_s = plan.in_flight.settles_in_s
        return batch

    async def _new_batch(
        self, job: Job[UUID], account: AccountRef, keeper: LeaseKeeper, plan: SenderPlan, run: DueRun
    ) -> SendBatch:
        database = job.database
        manifest = self.links.manifest(account.platform)
        link = await self.links.link(account)
        opened, known = self._prepared.get(account.id, (None, set[str]()))
        if opened is not link:
            known = set[str]()
            self._prepared[account.id] = (link, known)
        uploads = UploadCache(account, self.links, database, self.clock, self.store)
        await uploads.load(share.media_id for share in plan.shares if share.media_id is not None)
        at_once = plan.sender.group_concurrency or self.groups_at_once
        return SendBatch(
            run=run,
            dedupe=manifest.dedupe,
            sender=MessageSender(account, self.links, self.lanes, self.clock, keeper),
            link=link,
            uploads=uploads,
            preparing=Preparing(
                account,
                self.links,
                self.lanes,
                link,
                self._permit_pool(account, "prepare", at_once) if "prepare" in manifest.lanes else None,
                known,
            ),
            permits=self._permit_pool(account, "send", at_once),
            database=database,
            rounds=JobRounds(self._rounds_of(database), job),
            keeper=keeper,
            groups_at_once=at_once - plan.in_flight.in_flight,
            randomness=self.randomness,
        )

    def _rounds_of(self, database: Database) -> RoundWriter:
        if self._rounds is None:
            self._rounds = RoundWriter(database, self.clock, LEASE_S)
        return self._rounds

    def _permit_pool(self, account: AccountRef, kind: CallKind, few: int) -> PermitPool:
        return PermitPool(self.lanes, self.clock, str(account.id), kind, few, self._wishes)

    async def _end(self, tx: Tx, account: AccountRef, plan: SenderPlan, batch: SendBatch | None) -> None:
        """Store the result of the batch; someone may have paused or cancelled the run meanwhile."""
        now = self.clock.now()
        if batch is not None and batch.saturated:
            # Lock the pace before the run, in the same order as a change of pace.
            await sending.note_saturated(tx, account.id, since=batch.began_at, until=now)
        run = await sending.lock_run(tx, plan.run.id) if plan.run is not None else None
        if run is None:
            return
        if batch is not None:
            await self._note(tx, batch, now=now)
        else:
            await sending.complete_deliveries(tx, run.id, now=now)
        if run.state == "running" and await sending.count_open(tx, run.id) == 0:
            limits = run.limit_signals + (batch.limits if batch is not None else 0)
            await end_run(tx, replace(run, limit_signals=limits), Circumstances(), now=now)
        elif run.state == "running" and batch is not None and batch.ready_in_s:
            await sending.put_off(tx, run.id, due_at=later(self.clock, batch.ready_in_s))
        await publish(tx, changed(run))

    async def _note(self, tx: Tx, batch: SendBatch, *, now: datetime) -> None:
        if batch.limits:
            await sending.count_limit_signals(tx, batch.run.id, signals=batch.limits)
        if batch.refused:
            await sending.fail_pending(tx, batch.run.id, error=batch.refused, now=now)

    def _until_close_s(self, plan: SenderPlan) -> float:
        if plan.soonest_close is None:
            return float("inf")
        return max(self.clock.real_s_until(plan.soonest_close), 0.1)


async def _stop_batch(stopping: asyncio.Event, batch: SendBatch) -> None:
    await stopping.wait()
    batch.stop()


def _is_open(run: DueRun, now: datetime) -> bool:
    closed = run.closes_at is not None and run.closes_at <= now
    return run.state in {"waiting", "running"} and run.opens_at <= now and not closed
