"""A scan: one page of one hole, then choose again from the database.

A page's sightings, what it proves, the counters, the scan's own row and the next step are one transaction
with the end of its job; whatever is lost before that is read again and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from headgate.domain.breaker import fail
from headgate.domain.errors import (
    AccountTrouble,
    Elsewhere,
    Gone,
    Malformed,
    RateLimited,
    WorkError,
    error_class,
)
from headgate.domain.retry import RetryPolicy
from headgate.domain.streams.coverage import Hole, Tip, what_is_left
from headgate.domain.streams.messages import Page, Span
from headgate.domain.streams.placing import next_head
from headgate.domain.streams.schedule import JITTER, DueReason, Reason
from headgate.intake.channels.rules import RulesCache
from headgate.intake.streams.accept import accept_messages, count_covered
from headgate.intake.streams.after_scan import AfterScan
from headgate.intake.streams.deletions import delete_messages
from headgate.intake.streams.head_checks import DISABLED, PERSON, UNKNOWN_BOUND
from headgate.intake.streams.head_checks import KIND as CHECK
from headgate.intake.streams.placing import place_on_page
from headgate.intake.streams.scan_attempt import (
    HeldScan,
    ScanAttempt,
    head_is_old,
    next_tip,
    no_reader,
    reader_of,
    was_young,
)
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.lanes.links import AccountRef, Links
from headgate.storage.database import Tx
from headgate.storage.streams import scans, streams, watches
from headgate.storage.streams.rechecks import ask_rechecks
from headgate.storage.streams.scans import Scan, Step

KIND = "scan"
NOTHING_PROVEN = "the platform's answer proves nothing"
HOLE_TRIES = 3
"""So often a scan waits for a hole that cannot be read; then it fails, and the hole has its own time."""
HOLES = RetryPolicy(first_delay_s=5.0, factor=4.0, longest_delay_s=6 * 3600.0)


class ScanRows:
    """Scans under way, as the work of the kind `scan`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await scans.list_due_scans(tx, now=now, limit=limit)

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        await scans.set_scan_due(tx, key, due_at=until)

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        await scans.set_scan_due(tx, key, due_at=now)


@dataclass
class Scanner:
    """Reads streams, page by page."""

    links: Links
    clock: Clock
    ids: Ids
    randomness: Randomness
    rules: RulesCache

    def __post_init__(self) -> None:
        self.after = AfterScan(self.links, self.randomness)

    def kind(self) -> Kind[UUID]:
        return Kind(name=KIND, parse_key=UUID, handle=self.scan, rows=ScanRows(), runner="bulk")

    async def scan(self, job: Job[UUID]) -> None:
        """Read one page of what the scan under way has not covered."""
        async with job.database.transaction() as tx:
            rules = await self.rules.get(tx, job.key)
            scan = await scans.get_scan(tx, job.key)
            attempt = await self._choose(tx, scan) if scan is not None else None
        if scan is None:
            return
        if not rules.enabled or (account := reader_of(scan)) is None:
            await self._give_up(job)
        elif attempt is None:
            await self._wait_for_head(job, account)
        elif attempt.hole is None:
            await self._finish_attempt(job, attempt, None)
        else:
            await self._read(job, attempt, attempt.hole)

    async def _choose(self, tx: Tx, scan: Scan) -> ScanAttempt | None:
        """Choose the next hole; None if the head must be fetched first, or no account can read."""
        now = self.clock.now()
        account = reader_of(scan)
        if scan.bound is None or account is None:
            return None
        if scan.bound == UNKNOWN_BOUND:
            offered = self.links.manifest(scan.platform).lenses
            lens = "everything" if "everything" in offered else scan.lenses[0]
            return ScanAttempt(scan, account, UNKNOWN_BOUND, Hole(lens, Span(scan.floor, UNKNOWN_BOUND)), now)
        bound = scan.bound
        holes = await self._list_holes(tx, scan, bound=bound, now=now)
        if what_is_left(holes, bound=bound).inner and scan.head is not None and scan.head >= bound:
            # A long reading: what is new comes first.
            bound = scan.head + 1
            holes = await self._list_holes(tx, scan, bound=bound, now=now)
        hole = await self._next_hole(tx, scan, holes, tip=scan.tip, bound=bound, now=now)
        return ScanAttempt(scan, account, bound, hole, now)

    async def _next_hole(
        self, tx: Tx, scan: Scan, holes: list[Hole], *, tip: Tip | None, bound: int, now: datetime
    ) -> Hole | None:
        """Return the newest hole; while the tip is too young, the newest below it."""
        if tip is not None and tip.waits(now):
            holes = await self._list_holes(tx, scan, bound=bound, now=now, below=tip.start)
        return holes[0] if holes else None

    async def _list_holes(
        self, tx: Tx, scan: Scan, *, bound: int, now: datetime, below: int | None = None
    ) -> list[Hole]:
        return await streams.list_holes(
            tx, scan.channel_id, bound=bound, direction=scan.direction, now=now, below=below
        )

    async def _take(self, tx: Tx, channel_id: UUID, seen_bound: int | None = None) -> HeldScan | None:
        """Take settings, stream and scan, in this order; nothing if the scan has ended meanwhile."""
        rules = await self.rules.get(tx, channel_id)
        stream = await streams.lock_stream(tx, channel_id)
        scan = await scans.get_scan(tx, channel_id)
        if stream is None or scan is None:
            return None
        return HeldScan(scan, stream, rules, self.clock.now(), seen_bound)

    async def _give_up(self, job: Job[UUID]) -> None:
        async with job.finish() as tx:
            held = await self._take(tx, job.key)
            if held is None:
                return
            if not held.rules.enabled:
                await self.after.stop(tx, held, "CANCELLED", DISABLED, due_at=None, reason="disabled")
            elif reader_of(held.scan) is None:
                # Its streams wait until the account is back.
                message = no_reader(held.scan)
                await self.after.stop(tx, held, "FAILED", message, due_at=held.now, reason="reader_changed")
            else:
                await self._read_on(tx, held, Step(), bound=held.scan.bound)

    async def _wait_for_head(self, job: Job[UUID], account: AccountRef) -> None:
        """Have the head fetched, which is done for many streams at once, by a look."""
        async with job.finish() as tx:
            # Jobs before streams: a look that ends holds its own row, and then wants the streams.
            await enqueue(tx, [Wake(CHECK, str(account.id), PERSON)])
            held = await self._take(tx, job.key)
            if held is not None and held.scan.bound is None:
                await scans.await_head(tx, held.scan.scan_id, now=held.now)
                await streams.make_due(tx, job.key, due_at=held.now, reason=held.scan.reason)

    async def _read(self, job: Job[UUID], attempt: ScanAttempt, hole: Hole) -> None:
        scan = attempt.scan
        page_size = self.links.manifest(scan.platform).page_size
        try:
            async with self.links.call(attempt.account, "read") as link:
                page = await link.read(
                    scan.key,
                    lens=hole.lens,
                    hole=hole.span,
                    bound=attempt.bound,
                    bookmark=hole.bookmark,
                    limit=min(scan.page_limit, page_size),
                )
        except (RateLimited, Elsewhere):
            raise
        except AccountTrouble as error:
            await self._lose_account(job, attempt, error)
        except WorkError as error:
            await self._fail_page(job, attempt, hole, error)
        else:
            await self._finish_attempt(job, attempt, page)

    async def _finish_attempt(self, job: Job[UUID], attempt: ScanAttempt, page: Page | None) -> None:
        """End the job with everything that the page brought."""
        async with job.finish() as tx:
            held = await self._take(tx, job.key, attempt.scan.bound)
            if held is None:
                return
            if not held.rules.enabled:
                await self.after.stop(tx, held, "CANCELLED", DISABLED, due_at=None, reason="disabled")
            elif page is None or attempt.hole is None:
                await self._go_on(tx, held, Step(), bound=attempt.bound, tip=held.scan.tip)
            else:
                await self._accept(tx, held, attempt, attempt.hole, page)
            if page is not None:
                await streams.count_read(tx, attempt.scan.channel_id)

    async def _accept(self, tx: Tx, held: HeldScan, attempt: ScanAttempt, hole: Hole, page: Page) -> None:
        scan, now = held.scan, held.now
        if self.links.manifest(scan.platform).positions == "allotted":
            if attempt.bound == UNKNOWN_BOUND:
                await self._open_gap(tx, held)
                return
            page = await place_on_page(tx, scan.channel_id, page, hole=hole.span)
        accepted = await accept_messages(
            tx,
            scan.channel_id,
            page.messages,
            rules=held.rules,
            ids=self.ids,
            now=now,
            seen_at=attempt.began_at,
            unreadable=page.unreadable,
        )
        await ask_rechecks(tx, scan.channel_id, page.edited, reason="edited", due_at=now, now=now)
        if page.deleted:
            await delete_messages(tx, scan.channel_id, page.deleted, rules=held.rules, now=now)
        if attempt.scan.failures:
            await watches.close_breaker(tx, channel_id=scan.channel_id, account_id=attempt.account.id)
        step = Step(pages=1, items=accepted.new_kept, read_calls=1)
        if attempt.bound == UNKNOWN_BOUND:
            # What was read without a head proves nothing; now there is one.
            newest = max((message.position for message in page.messages), default=None)
            await streams.raise_head(tx, scan.channel_id, head=newest, now=now)
            await self._read_on(tx, held, step, bound=0 if newest is None else newest + 1)
        elif held.stream.epoch != attempt.scan.epoch:
            # Everything is to be read again, this page too.
            await self._read_on(tx, held, step, bound=attempt.bound)
        else:
            counted = await self._cover(tx, held, hole, page)
            step = replace(step, messages=counted, span=page.proven)
            await self._judge_proof(tx, held, attempt, hole, page.proven, step)

    async def _open_gap(self, tx: Tx, held: HeldScan) -> None:
        """Read back from the newest message, whatever that is: no head told whether it is known."""
        head = next_head(held.stream.head)
        await streams.raise_head(tx, held.scan.channel_id, head=head, now=held.now)
        await self._read_on(tx, held, Step(pages=1, read_calls=1), bound=head + 1)

    async def _cover(self, tx: Tx, held: HeldScan, hole: Hole, page: Page) -> int:
        """Add what the page proves; returns how many of its messages its lens had not read yet."""
        channel_id, proven = held.scan.channel_id, page.proven
        covered = {message.position: message for message in page.messages if message.position in proven}
        counted = await count_covered(
            tx, channel_id, held.stream, list(covered.values()), lens=hole.lens, now=held.now
        )
        await streams.cover(tx, channel_id, lens=hole.lens, spans=[proven])
        # Below a hole that was read to its end another one may begin, with a bookmark of its own.
        bookmark = page.bookmark if proven.start > hole.span.start else ""
        if hole.bookmark or bookmark:
            await streams.move_bookmark(tx, channel_id, lens=hole.lens, proven=proven, bookmark=bookmark)
        return counted

    async def _judge_proof(
        self, tx: Tx, held: HeldScan, attempt: ScanAttempt, hole: Hole, proven: Span, step: Step
    ) -> None:
        """The newest messages may be too young: their turn comes later, and older holes go on meanwhile."""
        if proven.empty and was_young(held.scan, hole):
            await self._note_failure(tx, held, hole, Malformed(NOTHING_PROVEN))
        margin_s = max(self.links.manifest(held.scan.platform).settle_margin_s, 1.0)
        tip = next_tip(held.scan, hole, proven, now=held.now, margin_s=margin_s)
        await self._go_on(tx, held, step, bound=attempt.bound, tip=tip)

    async def _go_on(self, tx: Tx, held: HeldScan, step: Step, *, bound: int, tip: Tip | None) -> None:
        """Decide by what is left: the next page now, the newest messages once settled, or the end."""
        scan, now, goal = held.scan, held.now, held.goal(bound)
        if goal is None or goal == UNKNOWN_BOUND:
            # A person joined during the page: a head from after that comes first.
            await self._read_on(tx, held, step, bound=bound)
            return
        bound = goal
        holes = await self._list_holes(tx, scan, bound=bound, now=now)
        over = (step.pages and not scan.auto_continue) or not holes
        ready = over or await self._next_hole(tx, scan, holes, tip=tip, bound=bound, now=now) is not None
        due_at = now if ready or tip is None else tip.after
        if tip != scan.tip:
            await scans.wait_for_tip(tx, scan.channel_id, tip)
        await self._record(tx, held, step, bound=bound, due_at=due_at)
        if over:
            await self.after.succeed(tx, scan.after(step), held.rules, now=now)
        elif step.pages and head_is_old(held):
            # The next look, which every tick finds due, fetches it together with others.
            await scans.await_head(tx, scan.scan_id, now=now)
            await streams.make_due(tx, scan.channel_id, due_at=now, reason=scan.reason)
        elif due_at <= now:
            await enqueue(tx, [Wake(KIND, str(scan.channel_id))])

    async def _read_on(self, tx: Tx, held: HeldScan, step: Step, *, bound: int | None) -> None:
        """Wake the stream's reader to read the next page now."""
        await self._record(tx, held, step, bound=bound, due_at=held.now)
        await enqueue(tx, [Wake(KIND, str(held.scan.channel_id))])

    async def _lose_account(self, job: Job[UUID], attempt: ScanAttempt, error: AccountTrouble) -> None:
        """Let somebody else read on, or wait for the account."""
        async with job.finish() as tx:
            held = await self._take(tx, job.key, attempt.scan.bound)
            if held is None:
                return
            message = f"{attempt.account.name}: {error}"
            step = Step(read_calls=1, error_message=message)
            if held.scan.account_id != attempt.account.id:
                await self._read_on(tx, held, step, bound=held.scan.bound)
            else:
                await self._fail(tx, held, step, due_at=held.now, reason="reader_changed")
            await streams.count_read(tx, held.scan.channel_id)

    async def _fail_page(self, job: Job[UUID], attempt: ScanAttempt, hole: Hole, error: WorkError) -> None:
        """Note a page that could not be read: the hole waits, and so does the watch if it keeps failing.

        The failure counts for the account that was asked, even if another one reads the stream by now.
        """
        async with job.finish() as tx:
            held = await self._take(tx, job.key, attempt.scan.bound)
            if held is None:
                return
            scan, now = held.scan, held.now
            before = await watches.get_breaker(tx, channel_id=scan.channel_id, account_id=attempt.account.id)
            breaker = fail(before, now=now, at_once=isinstance(error, Gone))
            await watches.fail_watch(
                tx,
                channel_id=scan.channel_id,
                account_id=attempt.account.id,
                breaker=breaker,
                error_class=error_class(error),
                error_message=str(error),
                now=now,
            )
            step = Step(read_calls=1, error_message=str(error))
            if scan.account_id != attempt.account.id:
                await self._read_on(tx, held, step, bound=scan.bound)
            elif breaker.open_until is None:
                await self._go_round(tx, held, attempt, hole, error, step)
            elif await watches.pass_on(tx, attempt.account.id, channel_id=scan.channel_id, now=now):
                await self._read_on(tx, held, step, bound=scan.bound)
            else:
                await self._fail(tx, held, step, due_at=breaker.open_until, reason="breaker_open")
            await streams.count_read(tx, scan.channel_id)

    async def _go_round(
        self, tx: Tx, held: HeldScan, attempt: ScanAttempt, hole: Hole, error: WorkError, step: Step
    ) -> None:
        """Read other holes if there are any; else wait for this one, or fail if it was tried often enough."""
        attempts, next_try_at = await self._note_failure(tx, held, hole, error)
        bound = 0 if attempt.bound == UNKNOWN_BOUND else attempt.bound
        others = await self._list_holes(tx, held.scan, bound=bound, now=held.now)
        if others:
            await self._read_on(tx, held, step, bound=held.scan.bound)
        elif attempts >= HOLE_TRIES:
            await self._fail(tx, held, step, due_at=next_try_at, reason="retry")
        else:
            await self._record(tx, held, step, bound=held.scan.bound, due_at=next_try_at)

    async def _fail(
        self, tx: Tx, held: HeldScan, step: Step, *, due_at: datetime, reason: DueReason | Reason
    ) -> None:
        await self._record(tx, held, step, bound=held.scan.bound, due_at=held.now)
        await self.after.stop(tx, held, "FAILED", step.error_message, due_at=due_at, reason=reason)

    async def _record(
        self, tx: Tx, held: HeldScan, step: Step, *, bound: int | None, due_at: datetime
    ) -> None:
        """Note what a page brought; a scan that waits for a fresh head is left to the look."""
        goal = held.goal(bound)
        due = None if goal is None else due_at
        await scans.go_on(tx, held.scan, step, bound=goal, due_at=due, now=held.now)

    async def _note_failure(
        self, tx: Tx, held: HeldScan, hole: Hole, error: WorkError
    ) -> tuple[int, datetime]:
        channel_id, now = held.scan.channel_id, held.now
        attempts = await streams.count_hole_attempts(tx, channel_id, hole) + 1
        delay_s = self.randomness.jittered(HOLES.delay_s(min(attempts, 20)), part=JITTER)
        next_try_at = now + timedelta(seconds=delay_s)
        await streams.note_hole(
            tx,
            channel_id,
            hole,
            attempts=attempts,
            next_try_at=next_try_at,
            error_class=error_class(error),
            error_message=str(error),
            now=now,
        )
        return attempts, next_try_at
