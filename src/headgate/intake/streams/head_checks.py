"""Looking: which of an account's streams have something to read, by as few calls as can be.

A check takes the account's due streams and fills up the call for heads with those that are due next. Streams
without news rest; the others are read. Every decision is stored with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from headgate.connectors.protocol import Manifest
from headgate.domain.errors import AccountTrouble, Elsewhere, RateLimited, UserError, WorkError
from headgate.domain.streams.messages import Head, Lens
from headgate.domain.streams.rules import ChannelRules
from headgate.domain.streams.schedule import (
    JITTER,
    Decision,
    StreamFacts,
    Tier,
    decayed_rate,
    decide,
    interval_s,
    stream_tier,
)
from headgate.intake.channels.rules import RulesCache
from headgate.intake.streams.placing import place_heads
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.logs import get_logger
from headgate.kernel.randomness import Randomness
from headgate.lanes.links import AccountRef, Links
from headgate.storage.database import Tx
from headgate.storage.streams import scans, streams
from headgate.storage.streams.scans import NewScan
from headgate.storage.streams.streams import Checked, DueStream, Planned
from headgate.storage.streams.watches import get_watcher, list_idle_readers, pass_on

log = get_logger("intake")

KIND = "check"
DISABLED = "Channel scanning disabled for this channel"
MIN_AT_ONCE = 50
"""Streams that one look decides about, also where heads come one by one."""
UNKNOWN_BOUND = 2**63 - 1
"""The head could not be had: the scan finds out by reading."""
HEAD_TRIES = 2
PASS_ON_EVERY = timedelta(minutes=1)
PERSON = 10
"""The priority of what a person waits for."""


def refusal(switched_off: str) -> UserError:
    """Return why nothing can be read of a channel, and which switch keeps it so."""
    return UserError(
        f"{DISABLED}.",
        remedy=f"Enable {switched_off!r} first.",
        command=f"headgate channel enable {switched_off!r}",
    )


class AccountRows:
    """Accounts with due streams, as the work of the kind `check`."""

    def __init__(self) -> None:
        self._passed_on_at: datetime | None = None

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        await self._pass_on(tx, now)
        return await streams.list_due_accounts(tx, now=now, limit=limit)

    async def _pass_on(self, tx: Tx, now: datetime) -> None:
        """Now and then hand over what an account could not hand over when it failed."""
        if self._passed_on_at is not None and abs(now - self._passed_on_at) < PASS_ON_EVERY:
            return
        self._passed_on_at = now
        for account_id in await list_idle_readers(tx):
            await pass_on(tx, account_id, now=now)

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        await streams.postpone_account(tx, key, until=until, now=now)

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        await streams.reopen_account(tx, key, now=now)


@dataclass(frozen=True)
class Planner:
    """Decides about many streams at once; nothing is read from or written to anywhere."""

    rules: Mapping[UUID, ChannelRules]
    live: bool
    now: datetime

    def decide(self, stream: DueStream, checked: Checked | None = None) -> Decision:
        rules = self.rules[stream.channel_id]
        return decide(self._facts(stream, rules, checked), now=self.now, knobs=rules.schedule)

    def read(self, stream: DueStream, decision: Decision) -> Planned:
        """Take a stream out of the schedule for as long as it is read."""
        return self._planned(stream, decision)

    def rest(
        self, stream: DueStream, decision: Decision, checked: Checked | None, *, jitter: float
    ) -> Planned:
        """Plan the next look; a head that was fetched for this stream's own sake counts as an idle scan."""
        if checked is None or decision.reason != "caught_up":
            saved = int(decision.reason in {"recent_idle", "cold"})
            return replace(self._planned(stream, decision), due_at=decision.due_at, saved=saved)
        # A look that a person's ask brought about says nothing about how often to check.
        idle = stream.due and not stream.settling
        idle_scans = 0 if checked.failing else stream.idle_scans + int(idle)
        rules = self.rules[stream.channel_id]
        facts = replace(self._facts(stream, rules, checked), idle_scans=idle_scans)
        rest_s = interval_s(facts, rules.schedule) * jitter
        return replace(
            self._planned(stream, decision),
            due_at=self.now + timedelta(seconds=rest_s),
            idle_scans=idle_scans,
            idle_at=stream.idle_at if checked.failing or stream.settling else self.now,
            saved=1,
        )

    def _facts(self, stream: DueStream, rules: ChannelRules, checked: Checked | None) -> StreamFacts:
        return StreamFacts(
            enabled=rules.enabled,
            waiting=stream.waiting,
            scanned=stream.scanned,
            woken=stream.woken,
            behind=stream.behind if checked is None else checked.behind,
            fresh=checked is not None,
            idle_scans=stream.idle_scans,
            idle_at=stream.idle_at,
            checked_at=stream.checked_at,
            tier=self._tier(stream),
            live=self.live,
            breaker_until=stream.breaker_until,
            settling=stream.settling,
        )

    def _planned(self, stream: DueStream, decision: Decision) -> Planned:
        return Planned(
            channel_id=stream.channel_id,
            seen=stream.wake_seq,
            due_at=None,
            reason=decision.reason,
            tier=self._tier(stream),
            idle_scans=stream.idle_scans,
            idle_at=stream.idle_at,
        )

    def _tier(self, stream: DueStream) -> Tier:
        if stream.tier_pinned:
            return stream.tier
        return stream_tier(decayed_rate(stream.arrival_rate, rated_at=stream.rated_at, now=self.now))


@dataclass(frozen=True)
class HeadCheck:
    """One look under way: the streams, what was decided without a call, and whose heads are asked for."""

    account: AccountRef
    manifest: Manifest
    planner: Planner
    listed: Sequence[DueStream]
    first: Mapping[UUID, Decision]
    asked: Sequence[DueStream]


@dataclass
class HeadChecker:
    """Looks at the streams of accounts."""

    links: Links
    clock: Clock
    ids: Ids
    randomness: Randomness
    rules: RulesCache

    def kind(self) -> Kind[UUID]:
        return Kind(name=KIND, parse_key=UUID, handle=self.check, rows=AccountRows())

    async def check(self, job: Job[UUID]) -> None:
        """Decide about the account's next streams, after one call for heads at most."""
        check = await self._begin(job)
        if check is None:
            return
        found: Mapping[str, Head] = {}
        if check.asked:
            found = await self._fetch_heads(job, check)
        async with job.finish() as tx:
            await self._end(tx, check, found)

    async def _begin(self, job: Job[UUID]) -> HeadCheck | None:
        async with job.database.transaction() as tx:
            reader = await get_watcher(tx, job.key)
            if reader is None or reader.state != "active":
                return None
            manifest = self.links.manifest(reader.platform)
            now = self.clock.now()
            limit = max(manifest.heads_per_call, MIN_AT_ONCE)
            listed = await streams.list_next_streams(tx, reader.id, now=now, limit=limit)
            rules = await self.rules.get_many(tx, [stream.channel_id for stream in listed])
        live = manifest.live != "none" and reader.listening
        planner = Planner(rules, live, now)
        first = {stream.channel_id: planner.decide(stream) for stream in listed if stream.due}
        account = AccountRef(reader.id, reader.platform, reader.name, reader.established, reader.sign_in)
        asked = fill_up(listed, first, now=now, most=manifest.heads_per_call)
        return HeadCheck(account, manifest, planner, listed, first, asked)

    async def _fetch_heads(self, job: Job[UUID], check: HeadCheck) -> Mapping[str, Head]:
        try:
            async with self.links.call(check.account, "heads") as link:
                return await link.heads([stream.key for stream in check.asked])
        except (RateLimited, Elsewhere, AccountTrouble):
            raise
        except WorkError as error:
            if error.retryable and job.attempt < HEAD_TRIES:
                raise
            log.warning("heads cannot be had; reading tells", account=check.account.name, reason=str(error))
            return {}

    async def _end(self, tx: Tx, check: HeadCheck, found: Mapping[str, Head]) -> None:
        """Store the heads and every decision, begin the scans, and wake their jobs."""
        now = check.planner.now
        heads = {stream.channel_id: found[stream.key] for stream in check.asked if stream.key in found}
        handled = [stream for stream in check.listed if stream.due or stream.channel_id in heads]
        rules = await self.rules.get_many(tx, [stream.channel_id for stream in handled])
        await streams.lock_streams(tx, [stream.channel_id for stream in handled])
        await streams.set_lenses(tx, _new_lenses(handled, rules, check.manifest))
        if check.manifest.positions == "allotted":
            heads = await place_heads(tx, heads)
        await streams.raise_heads(tx, heads, now=now)
        checked = await streams.check_streams(tx, list(heads), now=now)
        decisions = self._decide(check, handled, checked)
        plans = [
            self._plan(check, stream, decisions[stream.channel_id], checked)
            for stream in handled
            if stream.channel_id in decisions
        ]
        held = await streams.plan_streams(tx, plans, account_id=check.account.id, now=now)
        reasons = {plan.channel_id: plan.reason for plan in plans if plan.channel_id in held}
        await streams.note_decisions(tx, reasons, now=now)
        off = [channel_id for channel_id, reason in reasons.items() if reason == "disabled"]
        await scans.cancel_asked(tx, off, message=DISABLED, now=now)
        reading = [
            self._scan(check, stream, decisions[stream.channel_id], heads.get(stream.channel_id))
            for stream in handled
            if stream.channel_id in held and decisions[stream.channel_id].action == "read"
        ]
        begun = await scans.start_scans(tx, reading, now=now)
        wakes = [
            Wake("scan", str(scan.channel_id), PERSON if scan.reason == "asked" else 0)
            for scan in reading
            if scan.channel_id in begun and scan.due_at <= now
        ]
        if len(decisions) < len(handled) or (check.listed and check.listed[-1].due):
            wakes.append(Wake(KIND, str(check.account.id)))
        await enqueue(tx, wakes)

    def _decide(
        self, check: HeadCheck, handled: Sequence[DueStream], checked: Mapping[UUID, Checked]
    ) -> dict[UUID, Decision]:
        """Return what was decided; a stream whose head is still to be fetched is left for the next look."""
        unheard = {stream.channel_id for stream in check.asked if stream.due} - checked.keys()
        decisions: dict[UUID, Decision] = {}
        for stream in handled:
            if stream.channel_id in checked:
                decision = check.planner.decide(stream, checked[stream.channel_id])
            elif stream.channel_id in unheard:
                decision = Decision("read", "head_unknown")
            else:
                decision = check.first[stream.channel_id]
            if decision.action != "check":
                decisions[stream.channel_id] = decision
        return decisions

    def _plan(
        self, check: HeadCheck, stream: DueStream, decision: Decision, checked: Mapping[UUID, Checked]
    ) -> Planned:
        if decision.action == "read":
            return check.planner.read(stream, decision)
        jitter = self.randomness.jittered(1.0, part=JITTER)
        return check.planner.rest(stream, decision, checked.get(stream.channel_id), jitter=jitter)

    def _scan(self, check: HeadCheck, stream: DueStream, decision: Decision, head: Head | None) -> NewScan:
        known = [p for p in (stream.head, head.position if head else None) if p is not None]
        unknown = decision.reason == "head_unknown"
        return NewScan(
            id=self.ids.new(),
            channel_id=stream.channel_id,
            reason=decision.reason,
            due_at=_settled_at(stream, decision, head, check.manifest, check.planner.now),
            bound=UNKNOWN_BOUND if unknown else max(known, default=-1) + 1,
            head_calls=int(unknown or head is not None),
        )


def fill_up(
    listed: Sequence[DueStream], first: Mapping[UUID, Decision], *, now: datetime, most: int
) -> list[DueStream]:
    """Return whose heads to fetch: those that need it, and if there are any, those that will be next."""
    needing = [stream for stream in listed if stream.due and first[stream.channel_id].action == "check"]
    if not needing:
        return []
    others = [
        stream
        for stream in listed
        if not stream.due and (stream.breaker_until is None or stream.breaker_until <= now)
    ]
    return (needing + others)[:most]


def _new_lenses(
    handled: Sequence[DueStream], rules: Mapping[UUID, ChannelRules], manifest: Manifest
) -> dict[UUID, tuple[Lens, ...]]:
    """Return the lenses of streams that are to be read through others than so far."""
    wanted = {stream.channel_id: rules[stream.channel_id].lenses(manifest.lenses) for stream in handled}
    return {
        stream.channel_id: wanted[stream.channel_id]
        for stream in handled
        if wanted[stream.channel_id] != tuple(stream.lenses)
    }


def _settled_at(
    stream: DueStream, decision: Decision, head: Head | None, manifest: Manifest, now: datetime
) -> datetime:
    """Return when to read: a head too young to be proven is worth waiting for, unless a person waits."""
    if decision.reason == "asked" or stream.settling or head is None or head.sent_at is None:
        return now
    margin = timedelta(seconds=manifest.settle_margin_s)
    return min(max(head.sent_at + margin, now), now + margin)
