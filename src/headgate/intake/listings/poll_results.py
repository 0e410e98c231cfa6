"""What comes of polls: their answers are compared with what is known, and what is new is taken in.

Polls that end at the same moment share their statements and their last transaction. If that fails each ends
alone, so that one listing's error is never another's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.domain.listings.listings import Listed
from headgate.domain.listings.rhythm import listing_tier, merge_arrivals, next_poll
from headgate.domain.streams.rules import ChannelRules
from headgate.domain.streams.schedule import JITTER
from headgate.intake.channels.rules import RulesCache
from headgate.intake.listings.accept_entries import Accepted, accept_news, find_news, list_changed
from headgate.intake.listings.addresses import ListingAddresses
from headgate.intake.listings.answers import is_quiet, shows_blindness, with_resets
from headgate.intake.listings.entries import Answered, News
from headgate.intake.listings.measures import poll_of
from headgate.intake.listings.moves import move
from headgate.jobs.job import Job, finish_together
from headgate.jobs.kinds import Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import SeriesSettings
from headgate.lanes.links import AccountRef, Links
from headgate.storage.database import Database, Tx
from headgate.storage.gathering import Gatherer
from headgate.storage.listings import hosts, listings, releases
from headgate.storage.listings.hosts import HostName
from headgate.storage.listings.listings import ListingRow, ListingUpdate, PlannedAnswer
from headgate.storage.streams import watches

KIND = "poll"


@dataclass(frozen=True)
class Poll:
    """One look under way."""

    listing: ListingRow
    account: AccountRef
    rules: ChannelRules
    reason: str
    now: datetime
    probing: bool = False
    """Its host does not answer, and this is the one try."""

    @property
    def host(self) -> HostName:
        return HostName(self.listing.platform, self.listing.host)


@dataclass(frozen=True)
class PollAnswer:
    """All parts of an answer as one."""

    address: str
    """The one that was asked, with its secrets."""
    listed: Listed

    @property
    def moved(self) -> bool:
        return self.listed.moved_to not in ("", self.address)


@dataclass(frozen=True)
class _Result:
    """A poll that was answered, with the job that it ends."""

    job: Job[UUID]
    poll: Poll
    answer: PollAnswer

    @property
    def channel_id(self) -> UUID:
        return self.poll.listing.channel_id


@dataclass
class PollResults:
    """Ends polls that were answered."""

    database: Database
    links: Links
    ids: Ids
    randomness: Randomness
    rules: RulesCache
    settings: SeriesSettings

    def __post_init__(self) -> None:
        self._together = Gatherer(self._store)

    async def store(self, job: Job[UUID], poll: Poll, answer: PollAnswer) -> None:
        """End a poll with all that follows from its answer."""
        if await self._store_quiet(job, poll, answer):
            outcome = "unchanged"
        elif answer.moved:
            outcome = await self._store_moved(_Result(job, poll, answer))
        else:
            outcome = await self._together.ask(_Result(job, poll, answer))
        count_poll(job, poll, outcome, outcome="done")

    async def _store_quiet(self, job: Job[UUID], poll: Poll, answer: PollAnswer) -> bool:
        """End a poll of which nothing but times is to be written; false if there is more."""
        listing, now = poll.listing, poll.now
        if not is_quiet(listing, answer.listed, address=answer.address):
            return False
        update = _update(poll, answer, News(), changed=False)
        if update.tier != listing.tier:
            return False
        due_at = self._next(poll, update)
        await job.finish_with(listings.unchanged(listing, update, due_at=due_at, reason=poll.reason, now=now))
        return True

    async def _store_moved(self, result: _Result) -> str:
        """End the poll of a listing that moved for good; one that moved onto another is joined to it."""
        news = await self._compare([result])
        async with result.job.finish() as tx:
            if await self._move(tx, result.poll, result.answer):
                return "joined"
            return (await self._accept(tx, [result], news))[0]

    async def _store(self, results: Sequence[_Result]) -> list[str]:
        """End polls together; returns what each is counted as."""
        news = await self._compare(results)
        async with finish_together([result.job for result in results]) as tx:
            return await self._accept(tx, results, news)

    async def _compare(self, results: Sequence[_Result]) -> News:
        """Tell what of the answers is new; nothing is written."""
        told = [result for result in results if not result.answer.listed.unchanged]
        if not told:
            return News()
        async with self.database.autocommit() as tx:
            sources = await listings.list_sources(tx, [result.channel_id for result in told])
            answered = [
                Answered.of(
                    result.channel_id,
                    listed.entries,
                    with_resets(sources[result.channel_id], listed.numbers_reset),
                    first_poll=result.poll.listing.succeeded_at is None,
                    bad=listed.bad,
                    complete=listed.complete,
                    loose_keys=listed.loose_keys,
                    notified_before=result.poll.listing.notified_before,
                )
                for result in told
                for listed in [result.answer.listed]
            ]
            return await find_news(tx, answered, await list_changed(tx, answered))

    async def _accept(self, tx: Tx, results: Sequence[_Result], news: News) -> list[str]:
        # Before anything else is locked: nobody changes the settings that posts are judged by.
        rules = await self.rules.get_many(tx, sorted(news.posts)) if news.posts else {}
        for result in results:
            await close_breakers(tx, result.poll)
        now = max(result.poll.now for result in results)
        accepted = await accept_news(tx, news, rules=rules, ids=self.ids, now=now)
        for result in results:
            await _note(tx, result, news, accepted)
        due = await listings.plan_after_answers(
            tx, [self._plan(result, news, accepted) for result in results]
        )
        await enqueue(tx, [Wake(KIND, result.job.raw_key) for result in results if result.channel_id in due])
        return ["changed" if result.channel_id in accepted.changed else "unchanged" for result in results]

    async def _move(self, tx: Tx, poll: Poll, answer: PollAnswer) -> bool:
        """Follow a listing that moved for good; true if another listing is polled instead."""
        listing, listed = poll.listing, answer.listed
        # Before its address changes, which may be what it is called by.
        await listings.title_listing(tx, listing.channel_id, title=listed.title or listing.title)
        host = HostName(listing.platform, self.links.host_of(listing.platform, listed.moved_to))
        addresses = ListingAddresses(tx, self.links.secrets)
        return await move(tx, listing, addresses, address=listed.moved_to, host=host, now=poll.now)

    def _plan(self, result: _Result, news: News, accepted: Accepted) -> PlannedAnswer:
        poll = result.poll
        changed = result.channel_id in accepted.changed
        update = _update(poll, result.answer, news, changed=changed)
        return PlannedAnswer(poll.listing, update, self._next(poll, update), poll.reason, poll.now)

    def _next(self, poll: Poll, update: ListingUpdate) -> datetime:
        """Return when to look next: in the listing's own rhythm, or as a safety net where a sweep tells."""
        now = poll.now
        if poll.listing.swept:
            net_s = self.randomness.jittered(self.settings.net_s, part=0.5)
            return now + timedelta(seconds=net_s)
        rest_s = None if update.rest_until is None else (update.rest_until - now).total_seconds()
        due_at = next_poll(
            tier=update.tier,
            arrivals=update.arrivals,
            now=now,
            knobs=poll.rules.schedule,
            rest_s=rest_s,
            shortest_s=self.settings.shortest_s,
        ).due_at
        # Later, never earlier: nothing may be asked more often than it was said.
        late_s = (due_at - now).total_seconds() * JITTER
        return due_at + timedelta(seconds=self.randomness.uniform(0, late_s))


def _update(poll: Poll, answer: PollAnswer, news: News, *, changed: bool) -> ListingUpdate:
    listing, listed, now = poll.listing, answer.listed, poll.now
    arrivals = merge_arrivals(
        listing.arrivals, [entry.published_at for entry in listed.entries if entry.published_at], now=now
    )
    tier, reason = listing_tier(arrivals, now=now)
    if listing.tier_pinned:
        tier, reason = listing.tier, listing.tier_reason
    return ListingUpdate(
        cursor=listing.cursor if listed.unchanged else listed.cursor,
        arrivals=arrivals,
        rest_until=None if listed.rest_s is None else now + timedelta(seconds=listed.rest_s),
        tier=tier,
        tier_reason=reason,
        # What was wrong with a document is wrong until a whole one was read.
        warning=listing.warning if listed.unchanged else "; ".join(listed.warnings)[:500],
        unchanged=listed.unchanged,
        changed=changed,
        blind=listing.blind or shows_blindness(listing, news),
        title=listed.title,
    )


async def _note(tx: Tx, result: _Result, news: News, accepted: Accepted) -> None:
    """Write down what a whole answer says of its listing, and forget the bad entries it no longer has."""
    listing, listed = result.poll.listing, result.answer.listed
    if listed.unchanged:
        return
    if listing.has_misses:
        bad = (*news.bad, *accepted.refused)
        still_bad = [entry.key for channel_id, entry in bad if channel_id == listing.channel_id]
        await releases.clear_bad_entries(tx, listing.channel_id, but=still_bad)
    if listed.numbers_reset is not None:
        await listings.note_reset(tx, listing.channel_id, numbers_reset=listed.numbers_reset)


async def close_breakers(tx: Tx, poll: Poll) -> None:
    """Forget what failed before: the listing and its host have answered."""
    listing = poll.listing
    if listing.host_failures:
        await hosts.close_host_breaker(tx, poll.host, now=poll.now)
    if listing.failures:
        await watches.close_breaker(tx, channel_id=listing.channel_id, account_id=poll.account.id)


def count_poll(job: Job[UUID], poll: Poll, result: str, *, outcome: str = "failed") -> None:
    """Count a look by its result: one that gave up is not done, though its job ends in good order."""
    poll_of(poll.listing.platform, result).inc()
    job.outcome = outcome
