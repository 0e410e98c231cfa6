"""One message on its way: when it may go, what its answer means, and what is left in doubt.

A message is marked as about to be sent before the call, and the mark is kept until there is a definite
answer. So a later sender knows every message that may have been sent, and how long its call can still be
under way: no permit outlives `SETTLE_S`, and no call its timeout.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from headgate.connectors.protocol import DedupeWindow, Link, Part, Sent
from headgate.domain.errors import (
    AccountTrouble,
    Ambiguous,
    Gone,
    HeldElsewhere,
    Malformed,
    RateLimited,
    SlowMode,
    WorkError,
)
from headgate.domain.pacing import HORIZON_S, MAX_GRACE_S, Permit, PermitVoid
from headgate.domain.reminders.recognition import Sought
from headgate.domain.retry import RetryPolicy
from headgate.kernel.clock import Clock
from headgate.lanes import Lanes
from headgate.lanes.links import AccountRef, Links
from headgate.outflow.sending.contents import part_of
from headgate.storage.jobs.leases import LeaseKeeper
from headgate.storage.sending.sending import DueRun, Result, Share, get_others

SEND_TIMEOUT_S = 8.0
"""Shorter than the lease: a call that began under it ends soon after it."""
SETTLE_S = HORIZON_S + MAX_GRACE_S + SEND_TIMEOUT_S
"""How long after its mark a message may still be on its way."""
REPEAT_MARGIN_S = 20.0
"""A repeat must arrive well inside the platform's dedupe window."""
RETRY = RetryPolicy(max_attempts=3)
UNCERTAIN = "it may have been sent: no answer came, and the platform cannot tell"


@dataclass
class PendingSend:
    """A message that is about to be sent, with its permit."""

    share: Share
    part: Part
    permit: Permit
    last: bool
    """It completes its delivery."""
    fresh_upload: bool = True
    """Its file was just uploaded, so `Gone` means the target."""
    repeat_until_s: float | None = None
    """When a repeat would leave the platform's dedupe window; none for a message that was never tried."""
    called: bool = False
    """The call has begun and cannot be undone."""
    overdue: bool = False
    """No answer came in time."""

    def outcome(self, task: asyncio.Task[SendOutcome]) -> SendOutcome:
        """Return the outcome of a finished task; one cancelled before its call has sent nothing."""
        if not task.cancelled():
            return task.result()
        if self.called:
            return SendOutcome(in_doubt(self.share, "cancelled before an answer came"))
        return SendOutcome(unsent(self.share))


class SendOutcome(NamedTuple):
    """The result of a send, with any error that concerns the account or its pace."""

    result: Result
    error: WorkError | None = None


def repeat_for_s(dedupe: DedupeWindow, *, age_s: float) -> float:
    """Return how much longer a message that may have been sent can be repeated under its key; 0: not."""
    return 0.0 if dedupe.kind == "none" else max(0.0, dedupe.window_s - REPEAT_MARGIN_S - age_s)


def unsent(share: Share, *, error: str = "", attempts: int | None = None, retry_s: float = 0.0) -> Result:
    """Return the result of a try that has sent nothing: an earlier one may still have."""
    return Result(
        share.delivery,
        share.number,
        "sending" if share.doubtful else "planned",
        share.attempts if attempts is None else attempts,
        error=error,
        retry_s=retry_s,
    )


def in_doubt(share: Share, error: str) -> Result:
    """Return the result of a try without an answer: the mark stays until the call cannot be under way."""
    return Result(share.delivery, share.number, "sending", share.attempts + 1, error=error)


def lost(share: Share, error: str) -> Result:
    """Return the result of a message that cannot be sent; uncertain if it was tried before."""
    state = "uncertain" if share.doubtful else "failed"
    return Result(share.delivery, share.number, state, share.attempts + 1, error=error, delivery_state=state)


@dataclass
class MessageSender:
    """Sends the messages of one account."""

    account: AccountRef
    links: Links
    lanes: Lanes
    clock: Clock
    keeper: LeaseKeeper
    _calls: dict[asyncio.Task[Any], tuple[float, PendingSend]] = field(
        default_factory=dict["asyncio.Task[Any]", tuple[float, PendingSend]]
    )
    """Calls under way, each with its deadline."""

    async def keep_time(self) -> None:
        """Time out calls without an answer; one timer for all costs less than one for each."""
        while True:
            now_s = self.clock.monotonic()
            for task, (ends_s, pending) in list(self._calls.items()):
                if ends_s <= now_s:
                    del self._calls[task]
                    pending.overdue = True
                    task.cancel()
            # A call that begins now cannot time out earlier.
            first_s = min((ends_s for ends_s, _ in self._calls.values()), default=now_s + SEND_TIMEOUT_S)
            await self.clock.sleep(first_s - now_s)

    async def search_history(self, run: DueRun, share: Share, *, last: bool) -> Result:
        return await search_history(self.links, self.account, run, share, last=last)

    async def send(self, link: Link, pending: PendingSend) -> SendOutcome:
        """Send one message at its permit's time, unless it may not go any more."""
        await self.lanes.wait(pending.permit)
        # Nothing may come between these checks and the call.
        began_s = self.clock.monotonic()
        too_late = pending.repeat_until_s is not None and began_s >= pending.repeat_until_s
        if too_late or not self.keeper.held:
            return SendOutcome(unsent(pending.share))
        try:
            self.lanes.spend(pending.permit)
        except PermitVoid:
            return SendOutcome(unsent(pending.share))
        pending.called = True
        try:
            sent = await self._call(link, pending, ends_s=began_s + SEND_TIMEOUT_S)
        except Exception as error:  # noqa: BLE001 - whatever a connector raises is classified
            meaning = self._classify(error)
            self.links.note_call(self.account, "send", meaning)
            return await self._judge(pending, meaning)
        self.links.note_call(self.account, "send")
        return SendOutcome(self._arrived(pending, sent, took_s=self.clock.monotonic() - began_s))

    async def _call(self, link: Link, pending: PendingSend, *, ends_s: float) -> Sent:
        task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._calls[task] = ends_s, pending
        try:
            return await _deliver(link, pending.share, pending.part)
        except asyncio.CancelledError:
            # Pass on a cancellation that came from elsewhere.
            if pending.overdue and task.uncancel() == 0:
                raise TimeoutError from None
            raise
        finally:
            self._calls.pop(task, None)

    def _arrived(self, pending: PendingSend, sent: Sent, *, took_s: float) -> Result:
        share = pending.share
        return Result(
            share.delivery,
            share.number,
            "sent",
            share.attempts + 1,
            message_key=sent.key,
            sent_at=self.clock.now(),
            took_ms=round(took_s * 1000),
            delivery_state="sent" if pending.last else "",
        )

    def _classify(self, error: Exception) -> WorkError:
        return (
            Ambiguous("no answer in time")
            if isinstance(error, TimeoutError)
            else self.links.classify(self.account, error)
        )

    async def _judge(self, pending: PendingSend, error: WorkError) -> SendOutcome:
        share = pending.share
        if isinstance(error, RateLimited):
            await self.lanes.signal_limit(pending.permit, retry_after_s=error.retry_after_s)
            return SendOutcome(unsent(share, error=str(error)), error)
        if isinstance(error, SlowMode):
            return SendOutcome(unsent(share, error=str(error), retry_s=error.retry_after_s))
        if isinstance(error, AccountTrouble | HeldElsewhere):
            return SendOutcome(unsent(share, error=str(error)), error)
        if isinstance(error, Ambiguous):
            return SendOutcome(in_doubt(share, str(error)))
        if isinstance(error, Gone) and share.media_id is not None and not pending.fresh_upload:
            return SendOutcome(unsent(share, error=str(error)), error)
        attempts = share.attempts + 1
        if error.retryable and attempts < RETRY.max_attempts:
            delay_s = RETRY.delay_s(attempts)
            return SendOutcome(unsent(share, error=str(error), attempts=attempts, retry_s=delay_s))
        return SendOutcome(lost(share, str(error)))


async def _deliver(link: Link, share: Share, part: Part) -> Sent:
    if share.forward_key:
        return await link.forward(
            share.forward_stream, message_key=share.forward_key, target=share.target_key, key=share.key
        )
    return await link.send(share.target_key, part, key=share.key)


async def search_history(
    links: Links, account: AccountRef, run: DueRun, share: Share, *, last: bool
) -> Result:
    """Search the target's history for a message; it stays uncertain if it is not there."""
    async with links.lanes.database.transaction() as tx:
        others = await get_others(tx, account.id, run.id, share)
    sought = Sought(
        text="" if share.forward_key else part_of(run, share, handle="").text,
        file_name=others.file_name,
        forwarded=share.forward_key,
        claimed=frozenset(others.claimed),
        rivals=others.rivals,
    )
    try:
        async with links.call(account, "read") as link:
            found = await link.find_sent(share.target_key, sought, key=share.key, since=share.started_at)
    except (Gone, Malformed):
        found = None
    if found is None:
        return Result(
            share.delivery,
            share.number,
            "uncertain",
            share.attempts,
            error=UNCERTAIN,
            delivery_state="uncertain",
        )
    return Result(
        share.delivery,
        share.number,
        "sent",
        share.attempts,
        message_key=found.key,
        sent_at=found.sent_at,
        delivery_state="sent" if last else "",
    )
