"""A batch: one run of one account sends a few messages, in rounds.

A round takes permits, marks the next messages as about to be sent in the statement that stores the last
results, and sends them when their permits are due. Messages of a group go in order, a few groups at once.
However a batch ends, the state of every message is stored.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from uuid import UUID

from headgate.connectors.protocol import DedupeWindow, Link
from headgate.domain.errors import AccountTrouble, Gone, HeldElsewhere, Malformed, RateLimited, WorkError
from headgate.domain.pacing import Permit
from headgate.kernel.randomness import Randomness
from headgate.outflow.sending.contents import part_of
from headgate.outflow.sending.message_sender import (
    RETRY,
    MessageSender,
    PendingSend,
    SendOutcome,
    repeat_for_s,
    unsent,
)
from headgate.outflow.sending.permits import PermitPool
from headgate.outflow.sending.preparing import Group, Preparing, group_shares
from headgate.outflow.sending.rounds import JobRounds
from headgate.outflow.sending.uploads import UploadCache
from headgate.storage.database import Database, to_the_end
from headgate.storage.jobs.leases import LeaseKeeper, LeaseLost
from headgate.storage.sending import sending
from headgate.storage.sending.sending import DueRun, Mark, NewRound, Result, Share

BATCH_S = 45.0
"""A batch takes no new permits after this, so that other runs get theirs and a restart loses little."""
PATIENCE_S = 2.0
"""How long a slow message may hold up the rest of its round."""
JITTER_S = (0.2, 0.5)
"""The pause between two messages to one group."""
MAX_WAIT_S = 5.0
MAX_PACE_S = 60.0
"""A longer wait is for a cool-down or a daily cap, not for the pace."""


@dataclass
class SendBatch:
    """Some messages of one run, being sent."""

    run: DueRun
    dedupe: DedupeWindow
    sender: MessageSender
    link: Link
    uploads: UploadCache
    preparing: Preparing
    permits: PermitPool
    database: Database
    rounds: JobRounds
    keeper: LeaseKeeper
    groups_at_once: int
    randomness: Randomness
    come_back_s: float | None = None
    """The pace asks to come back after this."""
    ready_in_s: float | None = None
    """No message of this run can go earlier; other runs may send."""
    trouble: AccountTrouble | HeldElsewhere | None = None
    limits: int = 0
    refused: str = ""
    """Why nothing of the run can be sent."""
    began_at: datetime = field(init=False)
    _began_s: float = field(init=False)
    _paced_s: float = 0.0
    """How long messages waited only for the pace."""
    _stopped: bool = False
    _loaded_at_s: float = 0.0
    _waiting: deque[Group] = field(default_factory=deque[Group])
    _open: list[Group] = field(default_factory=list[Group])
    _pending: dict[asyncio.Task[SendOutcome], tuple[Group, PendingSend]] = field(
        default_factory=dict["asyncio.Task[SendOutcome]", tuple[Group, PendingSend]]
    )
    _last_due_s: float = 0.0
    _results: list[Result] = field(default_factory=list[Result])
    _marking: Sequence[Share] = ()
    """Messages that a statement under way marks as about to be sent."""

    def __post_init__(self) -> None:
        self.began_at, self._began_s = self.sender.clock.now(), self._now_s()

    @property
    def saturated(self) -> bool:
        """Whether the pace kept the batch from sending more."""
        if self.come_back_s is not None and not self.limits:
            return self.come_back_s <= MAX_PACE_S
        spent_s = self._now_s() - self._began_s
        return spent_s > 0 and self._paced_s >= spent_s / 2

    def load(self, shares: Sequence[Share]) -> None:
        """Take the messages of this batch; groups that were begun come first."""
        self._loaded_at_s = self.sender.clock.monotonic()
        self._waiting.extend(group_shares(shares, loaded_at_s=self._loaded_at_s))

    async def send(self) -> None:
        """Send until the batch is over; then wait for pending sends and store their results."""
        ends_at_s = self._began_s + BATCH_S
        timekeeper = asyncio.create_task(self.sender.keep_time())
        try:
            while not self._stopped:
                ready = self._pick()
                launched = bool(ready) and await self._send_next(ready, ends_at_s)
                if self._pending:
                    await self._wait_for_answers()
                elif not launched and not self._stopped and not await self._wait_for_ready(ends_at_s):
                    break
        finally:
            try:
                await to_the_end(self._finish_sends())
            finally:
                timekeeper.cancel()

    def stop(self) -> None:
        """End the batch now; messages that have not left stay planned."""
        self._stopped = True
        for task, (_, pending) in self._pending.items():
            if not pending.called:
                task.cancel()

    def _now_s(self) -> float:
        return self.sender.clock.monotonic()

    async def _finish_sends(self) -> None:
        while self._pending:
            await asyncio.wait(self._pending)
            await self._collect()
        self._results.extend(unsent(share) for share in self._marking)
        if self._results:
            await self._write(())

    def _pick(self) -> list[Group]:
        """Return the groups whose next message may go now or in a moment, ordered by when it may."""
        now_s = self._now_s()
        self._queue_late_groups(now_s)
        while len(self._open) < self.groups_at_once and (group := self._next_waiting(now_s)):
            self._open.append(group)
        unwritten = {(result.delivery, result.number) for result in self._results}
        ready = [
            group
            for group in self._open
            if not group.in_flight
            and group.ready_at_s <= now_s + JITTER_S[1]
            and group.next.place not in unwritten
        ]
        return sorted(ready, key=lambda group: group.ready_at_s)

    def _queue_late_groups(self, now_s: float) -> None:
        """Put groups that must wait long back into the queue, so that others get their places."""
        begun = [group for group in self._open if group.shares]
        late = [each for each in begun if not each.in_flight and each.ready_at_s > now_s + MAX_WAIT_S]
        self._waiting.extendleft(reversed(late))
        self._open = [group for group in begun if group not in late]

    def _next_waiting(self, now_s: float) -> Group | None:
        """Take the next group off the queue; one that must wait does not hold up those behind it."""
        for place, group in enumerate(self._waiting):
            if group.ready_at_s <= now_s:
                del self._waiting[place]
                return group
        return None

    async def _send_next(self, ready: Sequence[Group], ends_at_s: float) -> bool:
        """Send the next message of each group that is ready when a permit is due; return whether any was."""
        ready = [group for group in ready if not group.next.doubtful or await self._is_clear(group)]
        ready = await self._prepare(ready)
        if not (ready and await self._upload(ready) and await self._get_permits(ends_at_s)):
            return False
        now_s = self._now_s()
        pairs = zip(ready, self.permits.in_hand(len(ready)), strict=False)
        chosen = [
            group
            for group, _ in takewhile(lambda pair: pair[0].ready_at_s <= max(pair[1].due_at_s, now_s), pairs)
        ]
        if not chosen:
            return False
        self._marking = [group.next for group in chosen]
        marked = await self._write([group.next.mark for group in chosen])
        if self._stopped:
            return False  # The worker stops or lost the lease, so marked messages stay.
        self._marking = ()
        for group in chosen:
            permit = self.permits.take()
            if group.next.place in marked:
                self._start(group, permit)
        if len(marked) < len(chosen):
            self._stopped = True  # The run was paused or cancelled, or another sender settled a message.
        return True

    async def _is_clear(self, group: Group) -> bool:
        """Return whether a doubtful message may be sent again; search the history for an old one."""
        clear = self._now_s() < self._repeat_until_s(group.next)
        if not clear:
            await self._search_history(group)
        return clear

    def _repeat_until_s(self, share: Share) -> float:
        return self._loaded_at_s + repeat_for_s(self.dedupe, age_s=share.doubt_age_s or 0.0)

    async def _search_history(self, group: Group) -> None:
        """Settle a doubtful message by the target's history: it was sent, or it stays uncertain."""
        share, last = group.next, len(group.shares) == 1
        try:
            found = await self.keeper.run(self.sender.search_history(self.run, share, last=last))
        except WorkError as error:
            self._halt(error)
            return
        async with self.database.autocommit() as tx:
            await sending.settle_part(tx, self.run.id, share, found, now=self.sender.clock.now())
        if found.state == "sent":
            group.shares.popleft()
        else:
            group.shares.clear()

    async def _prepare(self, ready: Sequence[Group]) -> list[Group]:
        """Prepare new targets; leave out those that cannot be reached."""
        if all(self.preparing.knows(group.next.target_key) for group in ready):
            return list(ready)
        left = len(self._open) + len(self._waiting)
        outcome = await self.preparing.prepare([group.next.target_key for group in ready], left=left)
        if outcome.come_back is not None:
            self._halt(outcome.come_back)
            return []
        for group in ready:
            error = outcome.errors.get(group.next.target_key)
            if error is None:
                continue
            if isinstance(error, AccountTrouble | HeldElsewhere):
                self._halt(error)
            elif error.retryable and group.failures + 1 < RETRY.max_attempts:
                group.failures += 1
                group.ready_at_s = self._now_s() + RETRY.delay_s(group.failures)
            else:
                await self._give_up(group, error)
        if self._stopped:
            return []
        return [group for group in ready if group.shares and group.next.target_key in outcome.prepared]

    async def _give_up(self, group: Group, error: WorkError) -> None:
        """Fail a delivery, but settle a doubtful message of it first."""
        if group.next.doubtful:
            await self._search_history(group)
            return
        delivery, now = group.next.delivery, self.sender.clock.now()
        async with self.database.autocommit() as tx:
            await sending.fail_delivery(tx, self.run.id, delivery, error=str(error), now=now)
        group.shares.clear()

    async def _upload(self, ready: Sequence[Group]) -> bool:
        """Upload the files of the next messages."""
        for media_id in self.uploads.missing(group.next.media_id for group in ready):
            try:
                await self.keeper.run(self.uploads.upload(media_id))
            except WorkError as error:
                if error.retryable and not isinstance(error, RateLimited | LeaseLost | HeldElsewhere):
                    if self.run.trigger != "library":
                        raise
                    error = await self._count_failed_upload(ready, media_id, error)
                self._halt(error)
                break
        for group in ready:
            # The run sends nothing more, so no repeat will settle it.
            if self.refused and group.next.doubtful:
                await self._search_history(group)
        return not self._stopped

    async def _count_failed_upload(
        self, ready: Sequence[Group], media_id: UUID, error: WorkError
    ) -> WorkError:
        """Count a try for the message; one bad file must not hold up the other runs of its account."""
        share = next(group.next for group in ready if group.next.media_id == media_id)
        delay_s = RETRY.delay_s(share.attempts + 1)
        async with self.database.autocommit() as tx:
            await sending.put_off_part(tx, self.run.id, share, error=str(error), retry_s=delay_s)
        return error if share.attempts + 1 < RETRY.max_attempts else Malformed(str(error))

    async def _get_permits(self, ends_at_s: float) -> bool:
        """Get permits; the batch ends if it is late and has none, or if the pace says so."""
        if self.permits.in_hand():
            return True
        if self._now_s() >= ends_at_s:
            self._stopped = True
            return False
        left = sum(len(group.shares) for group in (*self._open, *self._waiting))
        late = await self.permits.fill(left, closes_at_s=self._closes_at_s())
        if late is not None:
            self.come_back_s, self._stopped = late.delay_s, True
        return late is None

    def _closes_at_s(self) -> float | None:
        if self.run.closes_at is None:
            return None
        return self._now_s() + self.sender.clock.real_s_until(self.run.closes_at)

    def _start(self, group: Group, permit: Permit) -> None:
        share = group.next
        pending = PendingSend(
            share=share,
            part=part_of(self.run, share, handle=self._handle(share)),
            permit=permit,
            last=len(group.shares) == 1,
            fresh_upload=share.media_id is None or self.uploads.is_fresh(share.media_id),
            repeat_until_s=self._repeat_until_s(share) if share.doubtful else None,
        )
        group.in_flight = True
        self._last_due_s = max(self._last_due_s, permit.due_at_s)
        self._pending[asyncio.create_task(self.sender.send(self.link, pending))] = (group, pending)

    def _handle(self, share: Share) -> str:
        return "" if share.media_id is None else self.uploads.handle(share.media_id)

    async def _write(self, marks: Sequence[Mark]) -> set[tuple[int, int]]:
        """Write results and marks in one statement, which also renews the lease."""
        asked_at_s = self._now_s()
        lease = self.keeper.lease
        new = NewRound(self.run.id, lease.name, lease.token, self._results, marks)
        # Finish the statement even when cancelled: its marks must not be undone.
        written = await to_the_end(self.rounds.write(new))
        self._results = []
        if written.held:
            self.keeper.renewed(asked_at_s)
        else:
            self._stopped = True
        return written.marked

    async def _wait_for_ready(self, ends_at_s: float) -> bool:
        """Wait for the next group that may send; false if there is none soon."""
        if self._results:
            await self._write(())
        now_s = self._now_s()
        begun = [group for group in self._open if group.shares]
        candidates = begun if len(begun) >= self.groups_at_once else [*begun, *self._waiting]
        times_s = [group.ready_at_s for group in candidates]
        if not times_s:
            return False
        wait_s = max(0.0, min(times_s) - now_s)
        if wait_s > MAX_WAIT_S or now_s >= ends_at_s:
            self.ready_in_s = wait_s
            return False
        await self.sender.clock.sleep(wait_s)
        return self.keeper.held

    async def _wait_for_answers(self) -> None:
        """Wait for all pending sends, but only briefly for a slow one."""
        began_s = self._now_s()
        wait_s = max(0.0, self._last_due_s - began_s)
        await self.sender.clock.wait(self._pending, wait_s + PATIENCE_S)
        self._paced_s += min(wait_s, self._now_s() - began_s)
        await self._collect()

    async def _collect(self) -> None:
        """Collect finished sends and act on their results."""
        for task in [task for task in self._pending if task.done()]:
            group, pending = self._pending.pop(task)
            group.in_flight = False
            end = pending.outcome(task)
            self._results.append(end.result)
            await self._act(group, end)

    async def _act(self, group: Group, end: SendOutcome) -> None:
        result, share, now_s = end.result, group.next, self._now_s()
        if result.state == "sent":
            group.shares.popleft()
            group.ready_at_s = now_s + self.randomness.uniform(*JITTER_S)
        elif isinstance(end.error, Gone) and share.media_id is not None:
            await self.uploads.forget(share.media_id)
            group.shares[0] = share._replace(token=None)
            group.ready_at_s = now_s
        elif result.state == "planned":
            group.shares[0] = share._replace(attempts=result.attempts)
            group.ready_at_s = now_s + (result.retry_s or 0.0)
        else:
            # Failed, uncertain or in doubt: send nothing more to this group in this batch.
            group.shares.clear()
        if isinstance(end.error, RateLimited | AccountTrouble | HeldElsewhere):
            self._halt(end.error)

    def _halt(self, error: WorkError) -> None:
        """End the batch for a reason that concerns the account, its pace, or the whole run."""
        self._stopped = True
        if isinstance(error, RateLimited):
            self.limits += 1
            self.come_back_s = max(self.come_back_s or 0.0, error.retry_after_s)
        elif isinstance(error, AccountTrouble | HeldElsewhere):
            self.trouble = error
        elif error.retryable:
            self.ready_in_s = MAX_WAIT_S
        else:
            self.refused = str(error)
