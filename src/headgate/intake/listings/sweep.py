"""Sweeping: where a whole site tells what is new on it, one call serves all of its listings.

Ten thousand followed series cost what their news cost. The listings themselves are then looked at only now
and then, as a safety net, and when a sweep could not tell everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.domain.breaker import state_of
from headgate.domain.errors import AccountTrouble, Elsewhere, RateLimited, WorkError, error_class
from headgate.domain.listings.listings import Swept
from headgate.domain.listings.rhythm import merge_arrivals
from headgate.domain.streams.schedule import JITTER
from headgate.intake.channels.rules import RulesCache
from headgate.intake.listings.accept_entries import accept_news, find_news, list_changed
from headgate.intake.listings.entries import Answered, News
from headgate.intake.listings.hosts import claim_probe, may_retry, note_failure
from headgate.intake.listings.measures import sweep_of
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.logs import get_logger
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import SeriesSettings
from headgate.lanes.links import AccountRef, Links
from headgate.storage.database import Tx
from headgate.storage.listings import hosts, listings
from headgate.storage.listings.hosts import HostName, HostRow, SweptListing

log = get_logger("intake")

KIND = "sweep"
NOBODY_S = 1800.0
GAP_OVER = timedelta(hours=6)
"""When a sweep missed something, all listings of the site are polled over this time."""


class SiteRows:
    """Sites whose sweep is due, as the work of the kind `sweep`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await hosts.list_due_hosts(tx, now=now, limit=limit)

    async def postpone(self, tx: Tx, key: HostName, *, until: datetime, now: datetime) -> None:
        await hosts.set_host_due(tx, key, due_at=until)

    async def reopen(self, tx: Tx, key: HostName, *, now: datetime) -> None:
        await hosts.set_host_due(tx, key, due_at=now)


@dataclass(frozen=True)
class SweptEntries:
    """What a sweep brought for listings that are followed here."""

    listings: Mapping[UUID, SweptListing]
    arrivals: Mapping[UUID, list[datetime]]
    news: News


@dataclass
class Sweeper:
    """Sweeps sites."""

    links: Links
    clock: Clock
    ids: Ids
    randomness: Randomness
    rules: RulesCache
    settings: SeriesSettings

    def kind(self) -> Kind[HostName]:
        return Kind(name=KIND, parse_key=HostName.parse, handle=self.sweep, rows=SiteRows(), priority=1)

    async def sweep(self, job: Job[HostName]) -> None:
        """Make one call for a site's news, and take in what is followed here."""
        now = self.clock.now()
        async with job.database.transaction() as tx:
            host = await hosts.get_host(tx, job.key)
        if host is None or host.due_at is None or host.due_at > now:
            return
        if host.account_id is None:
            async with job.finish() as tx:
                await hosts.plan_host(tx, host, due_at=now + timedelta(seconds=NOBODY_S), now=now)
            return
        probing = state_of(host.breaker, now=now) != "closed"
        if probing and not await claim_probe(job.database, job.key, now=now):
            return
        account = AccountRef(
            host.account_id, host.platform, host.account_name, host.established, host.sign_in
        )
        try:
            async with self.links.call(account, "sweep", host=host.name) as link:
                swept = await link.sweep(host.name, host.cursor)
        except Elsewhere:
            raise
        except RateLimited as error:
            sweep_of(host.platform, error_class(error)).inc()
            raise
        except AccountTrouble as error:
            _count_failed(job, host, error)
        except WorkError as error:
            await self._fail(job, host, error, probing=probing, now=now)
        else:
            await self._take(job, host, swept, now=now)
            sweep_of(host.platform, "done").inc()

    async def _take(self, job: Job[HostName], host: HostRow, swept: Swept, *, now: datetime) -> None:
        found = await self._compare(job, swept, now=now)
        async with job.finish() as tx:
            rules = await self.rules.get_many(tx, list(found.listings))
            await hosts.lock_host(tx, job.key)
            if host.failures:
                await hosts.close_host_breaker(tx, job.key, now=now)
            if (await accept_news(tx, found.news, rules=rules, ids=self.ids, now=now)).changed:
                await hosts.note_swept(tx, found.arrivals, now=now)
            if not host.cursor:
                # What came before the sweeps began, and after a look at its listing, no sweep will tell.
                await hosts.wake_host_listings(tx, job.key, over=timedelta(0), now=now)
            elif swept.gap:
                log.warning("a site cannot tell all its news; its listings are looked at", site=host.name)
                await hosts.wake_host_listings(tx, job.key, over=GAP_OVER, now=now)
            rest_s = 0.0 if swept.more else self.randomness.jittered(self.settings.sweep_s, part=JITTER)
            await hosts.plan_host(
                tx,
                host,
                cursor=swept.cursor,
                calls=1,
                due_at=now + timedelta(seconds=rest_s),
                swept=not swept.more,
                now=now,
            )
            if swept.more:
                await enqueue(tx, [Wake(KIND, job.raw_key, priority=1)])

    async def _compare(self, job: Job[HostName], swept: Swept, *, now: datetime) -> SweptEntries:
        """Tell what of the site's news is followed here and not known yet."""
        keys = sorted({*swept.entries, *swept.bad})
        async with job.database.transaction() as tx:
            followed = {one.channel_id: one for one in await hosts.find_swept(tx, job.key, keys)}
            sources = await listings.list_sources(tx, list(followed))
            answers = [
                Answered.of(
                    channel_id,
                    swept.entries.get(listing.key, ()),
                    sources[channel_id],
                    first_poll=listing.first_poll,
                    bad=swept.bad.get(listing.key, ()),
                )
                for channel_id, listing in followed.items()
            ]
            news = await find_news(tx, answers, await list_changed(tx, answers))
        changed = {release.channel_id for release in news.releases}
        arrivals = {
            channel_id: merge_arrivals(
                followed[channel_id].arrivals,
                [
                    entry.published_at
                    for entry in swept.entries[followed[channel_id].key]
                    if entry.published_at
                ],
                now=now,
            )
            for channel_id in sorted(changed)
        }
        return SweptEntries(followed, arrivals, news)

    async def _fail(
        self, job: Job[HostName], host: HostRow, error: WorkError, *, probing: bool, now: datetime
    ) -> None:
        """Count one failure a sweep, and leave the site alone as its breaker says."""
        if not probing and may_retry(error, attempt=job.attempt, host_failures=host.failures):
            async with job.database.transaction() as tx:
                await note_failure(tx, job.key, error, attempt=job.attempt, probing=False, now=now)
            raise error
        log.warning("a site cannot be swept", site=host.name, reason=str(error))
        async with job.finish() as tx:
            until = await note_failure(tx, job.key, error, attempt=job.attempt, probing=probing, now=now)
            soon = now + timedelta(seconds=self.settings.sweep_s)
            await hosts.plan_host(tx, host, due_at=until or soon, calls=1, now=now)
        _count_failed(job, host, error)


def _count_failed(job: Job[HostName], host: HostRow, error: WorkError) -> None:
    sweep_of(host.platform, error_class(error)).inc()
    job.outcome = "failed"
