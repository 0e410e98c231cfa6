"""Polling: looks at listings when they are due, and takes in what is new.

A look is one job: ask, compare with what is known, and write all effects together with the job's end. An
answer without news writes nothing but when it came. A failure is counted once a look, however often it was
repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from headgate.domain.breaker import fail, state_of
from headgate.domain.errors import AccountTrouble, Elsewhere, Gone, RateLimited, WorkError, error_class
from headgate.domain.listings.listings import Listed
from headgate.domain.listings.polling import PollDecision, decide_poll
from headgate.domain.listings.rhythm import listing_tier, merge_arrivals, next_poll
from headgate.domain.pacing import HORIZON_S
from headgate.domain.streams.rules import ChannelRules
from headgate.domain.streams.schedule import JITTER
from headgate.intake.channels.rules import RulesCache
from headgate.intake.listings.accept_entries import Accepted, accept_news, find_news, list_changed
from headgate.intake.listings.addresses import ListingAddresses, read_address
from headgate.intake.listings.answers import facts_of, is_quiet, join_parts, shows_blindness, with_resets
from headgate.intake.listings.entries import Answered, News
from headgate.intake.listings.hosts import claim_probe, explain_wait, may_retry, note_failure
from headgate.intake.listings.measures import poll_of
from headgate.intake.listings.moves import move
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.logs import get_logger
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import SeriesSettings
from headgate.lanes.links import AccountRef, Links
from headgate.storage.database import Database, Tx
from headgate.storage.gathering import Gatherer
from headgate.storage.listings import hosts, listings, releases
from headgate.storage.listings.hosts import HostName
from headgate.storage.listings.listings import ListingRow, ListingUpdate
from headgate.storage.streams import watches

log = get_logger("intake")

KIND = "poll"
ASKED = 10
PRIORITIES = {"HOT": 1, "WARM": 0, "COLD": -1}
MAX_PARTS = 25
"""Parts of one answer; no site tells more than 10,000 entries in parts of 500."""
WHOLE_EVERY = 24
"""Every so many polls ask for everything: a server that always says "unchanged" would blind us."""
MAX_WAIT_S = 86_400.0


class ListingRows:
    """Due listings as the work of the kind `poll`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[Wake]:
        due = await listings.list_due_listings(tx, now=now, limit=limit)
        return [Wake(KIND, one.key, ASKED if one.asked else PRIORITIES[one.tier]) for one in due]

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        await listings.set_listing_due(tx, key, due_at=until, now=now)

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        await listings.set_listing_due(tx, key, due_at=now, now=now)


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
    """All parts of an answer as one, and what of it is new."""

    address: str
    """The one that was asked, with its secrets."""
    listed: Listed
    news: News = field(default_factory=News)


@dataclass
class Poller:
    """Looks at listings."""

    database: Database
    links: Links
    clock: Clock
    ids: Ids
    randomness: Randomness
    rules: RulesCache
    settings: SeriesSettings

    def __post_init__(self) -> None:
        self._reads = Gatherer(self._read)
        self._comparisons = Gatherer(self._compare)

    def kind(self) -> Kind[UUID]:
        return Kind(
            name=KIND,
            parse_key=UUID,
            handle=self.poll,
            rows=ListingRows(),
            runner="poll",
            concurrency=self.settings.poll_concurrency,
        )

    async def poll(self, job: Job[UUID]) -> None:
        """Look at one listing, if that is due and nothing speaks against it."""
        poll = await self._begin(job)
        if poll is None:
            return
        try:
            answer = await self._ask(job, poll)
        except Elsewhere:
            raise
        except RateLimited as error:
            await self._put_off(job, poll, error)
            _count(job, poll, error_class(error), outcome="waiting")
        except AccountTrouble as error:
            _count(job, poll, error_class(error))
        except Gone as error:
            await self._end_gone(job, poll, error)
        except WorkError as error:
            if self._may_retry(job, poll, error):
                async with job.database.transaction() as tx:
                    await note_failure(tx, poll.host, error, attempt=job.attempt, probing=False, now=poll.now)
                raise
            await self._fail(job, poll, error)
        else:
            await self._succeed(job, poll, answer)

    def _may_retry(self, job: Job[UUID], poll: Poll, error: WorkError) -> bool:
        listing = poll.listing
        first = listing.failures == 0 and not poll.probing
        return first and may_retry(error, attempt=job.attempt, host_failures=listing.host_failures)

    async def _begin(self, job: Job[UUID]) -> Poll | None:
        """Decide whether to look; if not, write down why and when to decide again."""
        now = self.clock.now()
        listing, rules = await self._reads.ask(job.key)
        if listing is None or listing.due_at is None or listing.due_at > now:
            return None
        decision = decide_poll(facts_of(listing, rules), now=now)
        if decision.poll and listing.account_id is not None:
            account = AccountRef(
                listing.account_id,
                listing.platform,
                listing.account_name,
                listing.established,
                listing.sign_in,
            )
            poll = Poll(listing, account, rules, decision.reason, now)
            if state_of(listing.host_breaker, now=now) == "closed" or listing.asked:
                return poll
            if await claim_probe(job.database, poll.host, now=now):
                return replace(poll, probing=True)
            decision = PollDecision(poll=False, reason="host_open", due_at=now + timedelta(seconds=60))
        async with job.finish() as tx:
            if await listings.plan_listing(
                tx, listing, due_at=decision.due_at, reason=decision.reason, now=now
            ):
                await enqueue(tx, [Wake(KIND, job.raw_key)])
        return None

    async def _read(self, channel_ids: Sequence[UUID]) -> list[tuple[ListingRow | None, ChannelRules]]:
        """Return what polls that begin together need to know."""
        # A changed rule makes the listing due again, so rules that are seconds old will do.
        rules = await self.rules.peek_many(self.database, channel_ids)
        async with self.database.autocommit() as tx:
            found = await listings.list_listings(tx, channel_ids)
        return [(found.get(channel_id), rules[channel_id]) for channel_id in channel_ids]

    async def _ask(self, job: Job[UUID], poll: Poll) -> PollAnswer:
        """Ask for all parts of the answer, and tell what of it is new."""
        listing = poll.listing
        wants_whole = listing.asked or listing.blind or listing.polls % WHOLE_EVERY == WHOLE_EVERY - 1
        cursor = {} if wants_whole else listing.cursor
        address = await read_address(job.database, self.links.secrets, listing.channel_id, key=listing.key)
        parts: list[Listed] = []
        while not parts or (parts[-1].more and len(parts) < MAX_PARTS):
            # An answer that has begun is read to its end; what has not begun waits outside of its slot.
            patience_s = HORIZON_S if parts else 0.0
            async with self.links.call(
                poll.account, "list", host=listing.host, patience_s=patience_s
            ) as link:
                parts.append(await link.list(address, cursor))
            cursor = parts[-1].cursor
        listed = join_parts(parts)
        if listed.unchanged:
            return PollAnswer(address, listed)
        answered, changed = await self._comparisons.ask((listing, listed))
        async with job.database.autocommit() as tx:
            return PollAnswer(address, listed, await find_news(tx, [answered], [changed]))

    async def _compare(
        self, answers: Sequence[tuple[ListingRow, Listed]]
    ) -> list[tuple[Answered, Sequence[int]]]:
        """Return the answers of polls that end together, each with the places of its changed entries."""
        async with self.database.autocommit() as tx:
            sources = await listings.list_sources(tx, [listing.channel_id for listing, _ in answers])
            answered = [
                Answered.of(
                    listing.channel_id,
                    listed.entries,
                    with_resets(sources[listing.channel_id], listed.numbers_reset),
                    first_poll=listing.succeeded_at is None,
                    bad=listed.bad,
                    complete=listed.complete,
                    loose_keys=listed.loose_keys,
                    notified_before=listing.notified_before,
                )
                for listing, listed in answers
            ]
            return list(zip(answered, await list_changed(tx, answered), strict=True))

    async def _succeed(self, job: Job[UUID], poll: Poll, answer: PollAnswer) -> None:
        listing, now = poll.listing, poll.now
        if is_quiet(listing, answer.listed, address=answer.address):
            update = self._update(poll, answer, changed=False)
            if update.tier == listing.tier:
                due_at = self._next(poll, update)
                await job.finish_with(
                    listings.unchanged(listing, update, due_at=due_at, reason=poll.reason, now=now)
                )
                _count(job, poll, "unchanged", outcome="done")
                return
        async with job.finish() as tx:
            if await self._move(tx, poll, answer):
                _count(job, poll, "joined", outcome="done")
                return
            rules = (
                {listing.channel_id: await self.rules.get(tx, listing.channel_id)}
                if answer.news.posts
                else {}
            )
            await self._close_breakers(tx, poll)
            outcome = await accept_news(tx, answer.news, rules=rules, ids=self.ids, now=now)
            if not answer.listed.unchanged:
                await self._clear_misses(tx, listing, answer, outcome)
                await self._note(tx, poll, answer.listed)
            update = self._update(poll, answer, changed=outcome.changed)
            if await listings.plan_after_answer(
                tx, listing, update, due_at=self._next(poll, update), reason=poll.reason, now=now
            ):
                await enqueue(tx, [Wake(KIND, job.raw_key)])
        _count(job, poll, "changed" if outcome.changed else "unchanged", outcome="done")

    async def _put_off(self, job: Job[UUID], poll: Poll, error: RateLimited) -> None:
        """Let a poll whose host has no room wait outside of its slot, behind those that wait already."""
        listing, now = poll.listing, poll.now
        wait_s = min(error.retry_after_s, MAX_WAIT_S)
        async with job.finish() as tx:
            wait = await explain_wait(tx, poll.host, error)
            await listings.put_off_listing(
                tx,
                listing,
                due_at=now + timedelta(seconds=wait_s * self.clock.speed),
                apart=timedelta(seconds=wait.apart_s * self.clock.speed),
                reason=wait.reason,
                now=now,
            )

    async def _clear_misses(self, tx: Tx, listing: ListingRow, answer: PollAnswer, outcome: Accepted) -> None:
        """Forget what could not be understood before and is not there any more, or is understood now."""
        still_bad = [bad.key for _, bad in (*answer.news.bad, *outcome.refused)]
        if listing.has_misses:
            await releases.clear_bad_entries(tx, listing.channel_id, but=still_bad)

    async def _close_breakers(self, tx: Tx, poll: Poll) -> None:
        listing = poll.listing
        if listing.host_failures:
            await hosts.close_host_breaker(tx, poll.host, now=poll.now)
        if listing.failures:
            await watches.close_breaker(tx, channel_id=listing.channel_id, account_id=poll.account.id)

    async def _note(self, tx: Tx, poll: Poll, listed: Listed) -> None:
        """Write down what the answer says of the listing itself."""
        if listed.numbers_reset is not None:
            await listings.note_reset(tx, poll.listing.channel_id, numbers_reset=listed.numbers_reset)

    async def _move(self, tx: Tx, poll: Poll, answer: PollAnswer) -> bool:
        """Follow a listing that moved for good; true if another listing is polled instead."""
        listing, listed = poll.listing, answer.listed
        if listed.moved_to in ("", answer.address):
            return False
        # Before its address changes, which may be what it is called by.
        await listings.title_listing(tx, listing.channel_id, title=listed.title or listing.title)
        host = HostName(listing.platform, self.links.host_of(listing.platform, listed.moved_to))
        addresses = ListingAddresses(tx, self.links.secrets)
        return await move(tx, listing, addresses, address=listed.moved_to, host=host, now=poll.now)

    def _update(self, poll: Poll, answer: PollAnswer, *, changed: bool) -> ListingUpdate:
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
            blind=listing.blind or shows_blindness(listing, answer.news),
            title=listed.title,
        )

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

    async def _fail(self, job: Job[UUID], poll: Poll, error: WorkError) -> None:
        """Count one failure, for the watch and for its host, and leave both alone as their breakers say."""
        listing, now = poll.listing, poll.now
        log.warning("a listing cannot be read", listing=listing.title, host=listing.host, reason=str(error))
        breaker = fail(listing.breaker, now=now)
        async with job.finish() as tx:
            host_until = await note_failure(
                tx, poll.host, error, attempt=job.attempt, probing=poll.probing, now=now
            )
            await watches.fail_watch(
                tx,
                channel_id=listing.channel_id,
                account_id=poll.account.id,
                breaker=breaker,
                error_class=error_class(error),
                error_message=str(error),
                now=now,
            )
            soon = now + timedelta(seconds=self.settings.shortest_s)
            due_at = max(breaker.open_until or soon, host_until or soon)
            reason = "host_open" if host_until else "breaker_open" if breaker.open_until else "failed"
            await listings.plan_listing(tx, listing, due_at=due_at, reason=reason, checked=True, now=now)
        _count(job, poll, error_class(error))

    async def _end_gone(self, job: Job[UUID], poll: Poll, error: Gone) -> None:
        log.warning("a listing is gone for good", listing=poll.listing.title, reason=str(error))
        async with job.finish() as tx:
            await self._close_breakers(tx, poll)
            await watches.fail_watch(
                tx,
                channel_id=poll.listing.channel_id,
                account_id=poll.account.id,
                breaker=fail(poll.listing.breaker, now=poll.now),
                error_class=error_class(error),
                error_message=str(error),
                now=poll.now,
            )
            await listings.end_listing(tx, poll.listing.channel_id, now=poll.now)
        _count(job, poll, error_class(error))


def _count(job: Job[UUID], poll: Poll, result: str, *, outcome: str = "failed") -> None:
    """Count a look by its result: one that gave up is not done, though its job ends in good order."""
    poll_of(poll.listing.platform, result).inc()
    job.outcome = outcome
