"""Reading recent messages again, because edits of them may not have been heard.

A listener hears of edits. After it was away, and now and then where there is none, the messages that were
recent then are read again in pages, one page of one stream of an account at a time. What an edit added is
taken in like anything new; what has not changed is not written. Coverage stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.connectors.protocol import Manifest
from headgate.domain.errors import AccountTrouble, Elsewhere, RateLimited, WorkError
from headgate.domain.retry import RetryPolicy
from headgate.domain.streams.messages import Page, Span
from headgate.domain.streams.schedule_knobs import IntakeKnobs
from headgate.intake.channels.rules import RulesCache
from headgate.intake.streams.accept import accept_messages
from headgate.intake.streams.deletions import delete_messages
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.lanes.links import AccountRef, Links
from headgate.storage.database import Tx
from headgate.storage.streams import rereads, streams
from headgate.storage.streams.rereads import Reread
from headgate.storage.streams.watches import get_watcher

KIND = "reread"
PLAN_EVERY = timedelta(minutes=5)
FAILED = RetryPolicy(first_delay_s=60.0, factor=4.0, longest_delay_s=6 * 3600.0)
SWITCHED_OFF_S = 3600.0
OLD_SHARE = 4
"""One in so many messages of a page must be too old before the reading ends: one may claim any time."""


def edit_window_s(manifest: Manifest, knobs: IntakeKnobs) -> float:
    """Return up to which age messages are expected to be edited; 0: edits are not looked for."""
    return manifest.edit_window_s if knobs.edit_window_s is None else knobs.edit_window_s


@dataclass
class RereadRows:
    """Accounts with streams to read again, as the work of the kind `reread`."""

    links: Links
    knobs: IntakeKnobs
    _planned_at: datetime | None = None

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        every_s = self.knobs.reread_every_s
        if self._planned_at is None or abs(now - self._planned_at) >= PLAN_EVERY:
            self._planned_at = now
            await rereads.plan_rereads(tx, every_s=every_s)
        windows_s = {
            platform: edit_window_s(connector.manifest, self.knobs)
            for platform, connector in self.links.connectors.items()
        }
        await rereads.rest_quiet_rereads(tx, windows_s, every_s=every_s, now=now)
        return await rereads.list_rereading_accounts(tx, now=now, limit=limit)

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        await rereads.set_rereads_due(tx, key, due_at=until, now=now)

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        """Nothing rests without a due time."""


@dataclass
class Rereader:
    """Reads recent messages again."""

    links: Links
    clock: Clock
    ids: Ids
    rules: RulesCache

    def kind(self) -> Kind[UUID]:
        rows = RereadRows(self.links, self.rules.knobs)
        return Kind(name=KIND, parse_key=UUID, handle=self.reread, rows=rows, runner="bulk")

    async def reread(self, job: Job[UUID]) -> None:
        """Read one page again of the account's stream whose turn it is."""
        asked_at = self.clock.now()
        async with job.database.transaction() as tx:
            reader = await get_watcher(tx, job.key)
            reread = await rereads.get_next_reread(tx, job.key, now=asked_at)
        if reader is None or reader.state != "active" or reread is None:
            return
        account = AccountRef(reader.id, reader.platform, reader.name, reader.established, reader.sign_in)
        try:
            page = await self._read(account, reread)
        except (RateLimited, Elsewhere, AccountTrouble):
            raise
        except WorkError:
            page = None
        async with job.finish() as tx:
            now = self.clock.now()
            if page is None:
                delay = timedelta(seconds=FAILED.delay_s(min(reread.attempts + 1, 20)))
                await rereads.postpone_reread(tx, reread, due_at=now + delay, attempts=reread.attempts + 1)
            else:
                await self._take_in(tx, account, reread, page, asked_at=asked_at)
            if await rereads.get_next_reread(tx, account.id, now=now) is not None:
                await enqueue(tx, [Wake(KIND, str(account.id))])
            await streams.count_read(tx, reread.channel_id)

    async def _read(self, account: AccountRef, reread: Reread) -> Page:
        hole = Span(min(reread.floor, reread.below), reread.below)
        async with self.links.call(account, "read") as link:
            return await link.read(
                reread.key,
                lens=reread.lenses[0],
                hole=hole,
                bound=max(reread.head_end, reread.below),
                bookmark="",
                limit=self.links.manifest(account.platform).page_size,
            )

    async def _take_in(
        self, tx: Tx, account: AccountRef, reread: Reread, page: Page, *, asked_at: datetime
    ) -> None:
        now = self.clock.now()
        rules = await self.rules.get(tx, reread.channel_id)
        if await streams.lock_stream(tx, reread.channel_id) is None:
            return
        if not rules.enabled:
            later = now + timedelta(seconds=SWITCHED_OFF_S)
            await rereads.postpone_reread(tx, reread, due_at=later, attempts=reread.attempts)
            return
        await accept_messages(
            tx,
            reread.channel_id,
            page.messages,
            rules=rules,
            ids=self.ids,
            now=now,
            seen_at=asked_at,
            unreadable=page.unreadable,
        )
        if reread.lenses[0] == "everything" and page.messages:
            keys = [*(message.key for message in page.messages), *page.unreadable]
            vanished = await rereads.list_vanished(
                tx, reread.channel_id, page.proven, asked_at=asked_at, keys=keys
            )
            await delete_messages(tx, reread.channel_id, vanished, rules=rules, now=now)
        window_s = edit_window_s(self.links.manifest(account.platform), self.rules.knobs)
        below = next_below(reread, page, since=reread.unheard_since - timedelta(seconds=window_s))
        lenses = reread.lenses if below is not None else reread.lenses[1:]
        if lenses:
            below = reread.bound if below is None else below
            await rereads.continue_reread(tx, reread, lenses=lenses, below=below, now=now)
        else:
            await rereads.end_reread(tx, reread, every_s=self.rules.knobs.reread_every_s)


def next_below(reread: Reread, page: Page, *, since: datetime) -> int | None:
    """Return below which position the next page is read; None if that would be too old, or is not there."""
    reached = [message.position for message in page.messages]
    if not page.proven.empty:
        reached.append(page.proven.start)
    lowest = min(reached, default=reread.floor)
    old = sum(message.sent_at < since for message in page.messages)
    if old and old * OLD_SHARE >= len(page.messages):
        return None
    return None if page.exhausted or lowest <= reread.floor or lowest >= reread.below else lowest
