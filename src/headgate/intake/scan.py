"""A scan: one page of one hole, then choose again from the database.

A page's sightings, what it proves, the counters and the next step are one transaction with
the end of its job; whatever is lost before that is read again and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.domain.errors import AuthFailed, Restricted
from headgate.domain.messages import Page
from headgate.domain.scan import INTERVAL_S, JITTER, NextScan, plan_next_scan
from headgate.intake.accept import accept_messages
from headgate.intake.accounts import note_account
from headgate.intake.links import AccountRef, Links
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage import streams
from headgate.storage.database import Database, Tx
from headgate.storage.streams import ScanState

KIND = "scan"
HEAD_FRESH_S = 5.0
"""A head that was fetched so short a time ago serves as the bound of a page."""


class StreamRows:
    """Streams as the work of the kind `scan`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await streams.list_due_streams(tx, now=now, limit=limit)

    async def park(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        await streams.set_stream_due(tx, key, due_at=None)

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        await streams.set_stream_due(tx, key, due_at=now)


@dataclass
class Scanner:
    """Reads streams, page by page."""

    links: Links
    clock: Clock
    ids: Ids
    randomness: Randomness

    def kind(self) -> Kind[UUID]:
        return Kind(name=KIND, parse_key=UUID, handle=self.scan, rows=StreamRows())

    async def scan(self, job: Job[UUID]) -> None:
        """Read one page of what is uncovered, if there is anything and somebody who can."""
        async with job.database.transaction() as tx:
            state = await streams.get_scan(tx, job.key)
        if state is None:
            return
        account = _reader(state)
        if not state.enabled or account is None:
            reason = "no_reader" if state.enabled else "disabled"
            await self._end(job, state, NextScan(reason, self._later()))
            return
        try:
            bound = await self._bound(job.database, state, account)
            await self._read_page(job, state, account, bound)
        except (AuthFailed, Restricted) as error:
            await note_account(job.database, account, error)
            await self._end(job, state, NextScan("no_reader", self._later()))

    async def _read_page(self, job: Job[UUID], state: ScanState, account: AccountRef, bound: int) -> None:
        now = self.clock.now()
        with_tip = state.tip_after is None or state.tip_after <= now
        async with job.database.transaction() as tx:
            hole = await streams.next_hole(
                tx, state.channel_id, lens=state.lens, bound=bound, with_tip=with_tip
            )
        if hole is None:
            async with job.finish() as tx:
                await self._end_in(tx, state, await self._plan(tx, state, bound, progress=True))
            return
        page_size = self.links.manifest(state.platform).page_size
        async with self.links.call(account, "read") as link:
            page = await link.read(
                state.key, lens=state.lens, hole=hole, bound=bound, bookmark="", limit=page_size
            )
        await self._accept(job, state, page, bound=bound)

    async def _accept(self, job: Job[UUID], state: ScanState, page: Page, *, bound: int) -> None:
        """End the job with everything that the page brought."""
        covered = [message for message in page.messages if message.position in page.proven]
        async with job.finish() as tx:
            counted = await streams.lock_and_count(
                tx,
                state.channel_id,
                positions=[message.position for message in covered],
                kept=[bool(message.attachments) for message in covered],
            )
            now = self.clock.now()
            await accept_messages(
                tx, state.channel_id, page.messages, ids=self.ids, now=now, unreadable=page.unreadable
            )
            await streams.cover(
                tx,
                state.channel_id,
                lens=state.lens,
                epoch=state.epoch,
                spans=[page.proven],
                counted=counted,
            )
            plan = await self._plan(tx, state, bound, progress=not page.proven.empty)
            await self._end_in(tx, state, plan)

    async def _bound(self, database: Database, state: ScanState, account: AccountRef) -> int:
        """Return the end of what may be read: the head, fetched before the page is asked for, plus one.

        The call for heads is filled up with the account's other streams, which then need none.
        """
        fresh_after = self.clock.now() - timedelta(seconds=HEAD_FRESH_S)
        if state.head_checked_at is not None and state.head_checked_at >= fresh_after:
            return _end_of(state.head)
        limit = self.links.manifest(state.platform).heads_per_call
        async with database.transaction() as tx:
            keys = await streams.list_next_due_keys(
                tx, account_id=account.id, channel_id=state.channel_id, limit=limit
            )
        asked = keys if state.key in keys else [state.key, *keys][:limit]
        checked_at = self.clock.now()
        async with self.links.call(account, "heads") as link:
            told = await link.heads(asked)
        heads = {key: head.position for key, head in told.items()}
        async with database.transaction() as tx:
            await streams.raise_heads(tx, account_id=account.id, heads=heads, now=checked_at)
        known = [position for position in (heads.get(state.key), state.head) if position is not None]
        return _end_of(max(known, default=None))

    async def _plan(self, tx: Tx, state: ScanState, bound: int, *, progress: bool) -> NextScan:
        """Look at what is left and decide when to go on."""
        inner = await streams.next_hole(tx, state.channel_id, lens=state.lens, bound=bound, with_tip=False)
        newest = await streams.next_hole(tx, state.channel_id, lens=state.lens, bound=bound, with_tip=True)
        return plan_next_scan(
            now=self.clock.now(),
            progress=progress,
            inner_left=inner is not None,
            tip_left=newest is not None and newest.end == bound,
            tip_after=state.tip_after,
            settle_margin_s=self.links.manifest(state.platform).settle_margin_s,
            interval_s=self.randomness.jittered(INTERVAL_S, part=JITTER),
        )

    async def _end(self, job: Job[UUID], state: ScanState, plan: NextScan) -> None:
        async with job.finish() as tx:
            await self._end_in(tx, state, plan)

    async def _end_in(self, tx: Tx, state: ScanState, plan: NextScan) -> None:
        due_now = await streams.end_scan(
            tx, state, due_at=plan.due_at, tip_after=plan.tip_after, now=self.clock.now()
        )
        if due_now:
            await enqueue(tx, [Wake(KIND, str(state.channel_id))])

    def _later(self) -> datetime:
        return self.clock.now() + timedelta(seconds=INTERVAL_S)


def _end_of(head: int | None) -> int:
    return 0 if head is None else head + 1


def _reader(state: ScanState) -> AccountRef | None:
    if state.account_id is None or state.account_name is None or state.account_state != "active":
        return None
    return AccountRef(state.account_id, state.platform, state.account_name, bool(state.established))
