"""Polling: looks at listings when they are due, and takes in what is new.

A look is one job: ask, compare with what is known, and write all effects together with the job's end. An
answer without news writes nothing but when it came. A failure is counted once a look, however often it was
repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from headgate.domain.breaker import fail, state_of
from headgate.domain.errors import AccountTrouble, Elsewhere, Gone, RateLimited, WorkError, error_class
from headgate.domain.listings.listings import Listed
from headgate.domain.listings.polling import PollDecision, decide_poll
from headgate.domain.pacing import HORIZON_S
from headgate.domain.streams.rules import ChannelRules
from headgate.intake.channels.rules import RulesCache
from headgate.intake.listings.addresses import read_address
from headgate.intake.listings.answers import facts_of, join_parts
from headgate.intake.listings.hosts import claim_probe, explain_wait, may_retry, note_failure
from headgate.intake.listings.poll_results import (
    KIND,
    Poll,
    PollAnswer,
    PollResults,
    close_breakers,
    count_poll,
)
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
from headgate.storage.listings import listings
from headgate.storage.listings.listings import ListingRow
from headgate.storage.streams import watches

log = get_logger("intake")

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
        self._results = PollResults(
            self.database, self.links, self.ids, self.randomness, self.rules, self.settings
        )

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
            count_poll(job, poll, error_class(error), outcome="waiting")
        except AccountTrouble as error:
            count_poll(job, poll, error_class(error))
        except Gone as error:
            await self._end_gone(job, poll, error)
        except WorkError as error:
            if self._may_retry(job, poll, error):
                async with job.database.transaction() as tx:
                    await note_failure(tx, poll.host, error, attempt=job.attempt, probing=False, now=poll.now)
                raise
            await self._fail(job, poll, error)
        else:
            await self._results.store(job, poll, answer)

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
        """Ask for all parts of the answer."""
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
        return PollAnswer(address, join_parts(parts))

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
        count_poll(job, poll, error_class(error))

    async def _end_gone(self, job: Job[UUID], poll: Poll, error: Gone) -> None:
        log.warning("a listing is gone for good", listing=poll.listing.title, reason=str(error))
        async with job.finish() as tx:
            await close_breakers(tx, poll)
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
        count_poll(job, poll, error_class(error))
