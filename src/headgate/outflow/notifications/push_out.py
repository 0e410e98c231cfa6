"""Pushes notifications out, one keyed sender an address: sent once, or marked uncertain.

What waits for an address becomes one message. That it is being sent is committed before the call: who finds
it so later knows that somebody vanished in the middle, and does not send it again. What certainly failed
stays planned: it is tried five times within minutes, then the address's breaker opens and one try follows
each of its growing pauses. Each try has everything that came meanwhile, so an outage ends with one digest.
Only what waited for a week is given up.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, Protocol
from uuid import UUID

from headgate.domain.breaker import Breaker, fail, state_of
from headgate.domain.errors import Ambiguous, RateLimited, Transient, UserError
from headgate.domain.notifications.digests import NewsLine, PushMessage, compose, quiet_ends_at
from headgate.domain.notifications.push_reach import PushLimits, Reach, limits_of
from headgate.domain.pacing import LanePlan, Pace
from headgate.domain.wall_time import find_zone
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.metrics import counter
from headgate.lanes import Lanes
from headgate.outflow.notifications.notify import FIVE_TIMES
from headgate.storage.database import Database, Tx
from headgate.storage.events import Event, publish
from headgate.storage.notifications import pushes
from headgate.storage.notifications.notification_settings import get_settings
from headgate.storage.notifications.push_addresses import URL, secret_owner
from headgate.storage.notifications.pushes import LockedAddress, PlannedPush, WaitingNotification
from headgate.storage.secrets import get_secret, open_vault

KIND = "push"
PUSHES = counter("pushes", "Pushes by what came of the call: sent, failed or uncertain.", ("result",))
PLAN = LanePlan(KIND, Pace(20, burst=3))
QUICK_TRIES = FIVE_TIMES.max_attempts
"""So often a message is tried within minutes before its address is left alone."""
MAX_PAUSE_S = 3600.0
"""How often a failing address is retried: one call an hour does no harm."""
MAX_WAIT = timedelta(days=7)
TOO_OLD = "The address could not be reached for a week."
ALL_READ = "Everything in it was read before it could be sent."
MAX_MESSAGE = 1000
"""Characters of title and body together; most services take more, and people do not."""
VANISHED = "Headgate stopped while this was being sent; it may have arrived."


class Pusher(Protocol):
    """Who speaks to the services."""

    def recognise(self, url: str) -> str:
        """Return what may be shown of an address; raise `UserError` if it is none."""
        ...

    def reach(self, url: str) -> Reach:
        """Tell what a push to an address would get at; raise `UserError` if it is none."""
        ...

    async def push(self, url: str, *, title: str, body: str, limits: PushLimits) -> None:
        """Send one message, within limits that are checked at every connection.

        Raises `Transient` or `RateLimited` if it certainly was not taken, `Ambiguous` if it may have been.
        """
        ...


@dataclass(frozen=True)
class PushOutcome:
    """The result of a push."""

    state: Literal["sent", "failed", "uncertain"]
    error: str = ""


@dataclass(frozen=True)
class PushToSend:
    """A message that is to go out now."""

    push: PlannedPush
    is_probe: bool
    """The address kept failing and was left alone: this message finds out how it is now."""


class AddressRows:
    """Addresses with something to go out, as the work of the kind `push`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await pushes.list_due(tx, now=now, limit=limit)

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        await pushes.set_due(tx, key, until)

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        await pushes.set_due(tx, key, now)


@dataclass
class PushOut:
    """Serves addresses."""

    pusher: Pusher
    lanes: Lanes
    clock: Clock
    ids: Ids
    data_dir: Path
    gather_s: float = 30.0
    at_once: int = 10
    plan: LanePlan = PLAN
    allow_private: bool = False
    """Members may push to hosts of this machine's network, too."""

    def kind(self) -> Kind[UUID]:
        return Kind(
            name=KIND,
            parse_key=UUID,
            handle=self.push,
            rows=AddressRows(),
            retry=FIVE_TIMES,
            concurrency=self.at_once,
        )

    async def push(self, job: Job[UUID]) -> None:
        """Send the address's next message, if it is time for one."""
        async with job.database.transaction() as tx:
            planned = await self._plan(tx, job.key)
        if planned is None:
            return
        outcome = await self._send(job.database, job.key, planned.push)
        if outcome is None:
            return
        async with job.finish() as tx:
            await self._end(tx, job.key, planned, outcome)
        PUSHES.labels(outcome.state).inc()

    async def _plan(self, tx: Tx, address_id: UUID) -> PushToSend | None:
        """Choose what goes out now; or note when to look again."""
        now = self.clock.now()
        address = await pushes.lock_address(tx, address_id)
        if address is None:
            return None
        if await pushes.doubt_pushes(tx, address_id, error=VANISHED, now=now):
            await publish(tx, Event("pushes", audience=address.user_id))
        rest_until = await self._rests_until(tx, address, now=now)
        if rest_until is not None:
            await pushes.set_due(tx, address_id, rest_until)
            return None
        push = await self._next_push(tx, address_id, now=now) if address.enabled else None
        if push is None:
            await pushes.set_due(tx, address_id, None)
            return None
        return PushToSend(push, is_probe=state_of(address.breaker, now=now) == "half_open")

    async def _rests_until(self, tx: Tx, address: LockedAddress, *, now: datetime) -> datetime | None:
        """Return until when nothing goes out to an address, if that is so."""
        if address.open_until is not None and address.open_until > now:
            return address.open_until
        settings = await get_settings(tx, user_id=address.user_id)
        return quiet_ends_at(
            now,
            zone=find_zone(settings.time_zone),
            quiet_from_min=settings.quiet_from_min,
            quiet_to_min=settings.quiet_to_min,
        )

    async def _next_push(self, tx: Tx, address_id: UUID, *, now: datetime) -> PlannedPush | None:
        """Return the message that is to go out: one that failed before has all that came since."""
        push = await pushes.get_planned(tx, address_id)
        if push is not None and push.attempts == 0:
            return push
        if push is not None:
            await pushes.release_waiting(tx, push.id)
        waiting = await pushes.list_waiting(tx, address_id)
        old = [one for one in waiting if one.at < now - MAX_WAIT]
        if old:
            await self._give_up(tx, address_id, old, now=now)
        fresh = [one for one in waiting if one.at >= now - MAX_WAIT]
        if push is not None and not fresh:
            await pushes.drop_push(tx, push.id, error=TOO_OLD if old else ALL_READ, now=now)
        if not fresh:
            return None
        message = compose([_line(one) for one in fresh], limit=MAX_MESSAGE)
        planned = PlannedPush(
            push.id if push else self.ids.new(),
            message.title,
            message.body,
            push.attempts if push else 0,
        )
        await pushes.put_push(tx, planned, [one.id for one in fresh], address_id=address_id, now=now)
        return planned

    async def _give_up(
        self, tx: Tx, address_id: UUID, old: Sequence[WaitingNotification], *, now: datetime
    ) -> None:
        """Keep what waited too long as a failed push, which a person can have sent again."""
        message = compose([_line(one) for one in old], limit=MAX_MESSAGE)
        given_up = PlannedPush(self.ids.new(), message.title, message.body, 0)
        await pushes.insert_failed(
            tx, given_up, [one.id for one in old], address_id=address_id, error=TOO_OLD, now=now
        )

    async def _send(self, database: Database, address_id: UUID, push: PlannedPush) -> PushOutcome | None:
        """Mark the message and call the service; nothing if somebody else has begun before."""

        async def begin() -> PushLimits | None:
            async with database.transaction() as tx:
                if await pushes.begin_push(tx, push.id, now=self.clock.now()) is None:
                    return None
                return await get_limits(tx, address_id, allow_private=self.allow_private)

        url = await read_url(database, self.data_dir, address_id)
        message = PushMessage(push.title, push.body)
        return await send_paced(
            self.lanes, self.pusher, url, message, address_id, plan=self.plan, begin=begin
        )

    async def _end(self, tx: Tx, address_id: UUID, planned: PushToSend, outcome: PushOutcome) -> None:
        """Write down what became of the message, and when to look again."""
        now = self.clock.now()
        address = await pushes.lock_address(tx, address_id)
        if address is None:
            return
        again = outcome.state == "failed" and address.enabled
        if not await pushes.end_push(
            tx,
            planned.push.id,
            state="planned" if again else outcome.state,
            error=outcome.error,
            ended_at=None if again else now,
        ):
            return
        breaker = await _note(tx, address, planned, outcome, now=now)
        if breaker.open_until is not None:
            due_at = breaker.open_until
        elif again:
            due_at = now + timedelta(seconds=FIVE_TIMES.delay_s(planned.push.attempts + 1))
        else:
            due_at = now + timedelta(seconds=self.gather_s)
        if not await pushes.has_waiting(tx, address_id):
            due_at = None
        await pushes.set_due(tx, address_id, due_at)
        await publish(tx, Event("pushes", audience=address.user_id))


def _line(waiting: WaitingNotification) -> NewsLine:
    return NewsLine(
        subject_title=waiting.title,
        text=waiting.body,
        url=waiting.url,
        at=waiting.at,
        number=waiting.number,
        is_chapter=waiting.is_chapter,
    )


async def _note(
    tx: Tx, address: LockedAddress, planned: PushToSend, outcome: PushOutcome, *, now: datetime
) -> Breaker:
    """Let the address and its breaker follow; quick tries are no failures of the address yet."""
    if outcome.state == "sent":
        await pushes.note_sent(tx, address.id, now=now)
        return Breaker()
    breaker = address.breaker
    if outcome.state == "uncertain":
        breaker = fail(breaker, now=now, longest_s=MAX_PAUSE_S)
    elif planned.is_probe or planned.push.attempts + 1 >= QUICK_TRIES:
        breaker = fail(breaker, now=now, at_once=True, longest_s=MAX_PAUSE_S)
    await pushes.note_failed(tx, address.id, breaker=breaker, error=outcome.error, now=now)
    return breaker


async def send_paced(
    lanes: Lanes,
    pusher: Pusher,
    url: str,
    message: PushMessage,
    address_id: UUID,
    *,
    plan: LanePlan,
    begin: Callable[[], Awaitable[PushLimits | None]],
) -> PushOutcome | None:
    """Send a message at the pace of its address.

    `begin` tells right before the call how far it may go, or nothing if it must not be made.

    Raises `ComeBackLater` before anything has begun.
    """
    # A worker without the library leaves the job to others.
    pusher.recognise(url)
    owner = secret_owner(address_id)
    await lanes.ensure(owner, [plan], established=True)
    async with lanes.call(owner, plan.kind) as permit:
        limits = await begin()
        if limits is None:
            return None
        try:
            await pusher.push(url, title=message.title, body=message.body, limits=limits)
        except Ambiguous as error:
            return PushOutcome("uncertain", str(error))
        except RateLimited as error:
            await lanes.signal_limit(permit, retry_after_s=error.retry_after_s)
            return PushOutcome("failed", str(error))
        except Transient as error:
            return PushOutcome("failed", str(error))
        return PushOutcome("sent")


async def get_limits(tx: Tx, address_id: UUID, *, allow_private: bool) -> PushLimits:
    """Return how far a push may go today."""
    return limits_of(await pushes.get_role(tx, address_id), allow_private=allow_private)


async def read_url(database: Database, data_dir: Path, address_id: UUID) -> str:
    """Unseal an address."""
    async with database.transaction() as tx:
        vault = await open_vault(tx, data_dir)
        url = await get_secret(tx, vault, owner=secret_owner(address_id), name=URL)
    if url is None:
        raise UserError(
            "The address is missing from the stored secrets.", remedy="Remove it and add it again."
        )
    return url
