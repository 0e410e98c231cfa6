"""Scans: readings under way, the history of those that have ended, and how much of streams is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.domain.streams.coverage import Tip
from headgate.domain.streams.messages import Lens, Span
from headgate.domain.streams.progress import Progress, ReadFacts, progress_of
from headgate.domain.streams.schedule import Tier
from headgate.storage.channels.channels import AccountState
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

Trigger = Literal["schedule", "person", "reset"]
Direction = Literal["both", "forward", "backward"]
Ending = Literal["SUCCEEDED", "CANCELLED", "FAILED"]
PAGE_LIMIT = 100
NOTHING = Span(0, 0)
KEEP_SCANS = 20
PRUNE_AT_ONCE = 2000


@dataclass(frozen=True)
class NewScan:
    """A reading that is wanted; `bound` is empty where the head must be fetched first."""

    id: UUID
    channel_id: UUID
    reason: str
    due_at: datetime
    bound: int | None = None
    head_calls: int = 0
    """Calls that told its head; other streams may have shared them."""


@dataclass(frozen=True)
class Scan:
    """A reading under way, with everything that its next page decides by."""

    scan_id: UUID
    trigger: Trigger
    direction: Direction
    page_limit: int
    auto_continue: bool
    reason: str
    bound: int | None
    head_asked_at: datetime | None
    queued_at: datetime
    pages: int
    messages: int
    items: int
    read_calls: int
    head_calls: int
    channel_id: UUID
    platform: str
    key: str
    title: str
    account_id: UUID | None
    account_name: str | None
    account_state: AccountState | None
    state_reason: str | None
    established: bool | None
    sign_in: int | None
    floor: int
    head: int | None
    head_checked_at: datetime | None
    tip_from: int | None
    tip_after: datetime | None
    epoch: int
    lenses: list[Lens]
    failures: int | None
    opened: int | None
    open_until: datetime | None

    @property
    def tip(self) -> Tip | None:
        if self.tip_from is None or self.tip_after is None:
            return None
        return Tip(self.tip_from, self.tip_after)

    def after(self, step: Step) -> Scan:
        """Return the scan as it is when a page has added to it."""
        return replace(
            self,
            pages=self.pages + step.pages,
            messages=self.messages + step.messages,
            items=self.items + step.items,
        )


@dataclass(frozen=True)
class Step:
    """What a page added to its scan."""

    pages: int = 0
    messages: int = 0
    items: int = 0
    read_calls: int = 0
    head_calls: int = 0
    span: Span = NOTHING
    error_message: str = ""


@dataclass(frozen=True)
class Idleness:
    """What a scan's end decides by."""

    idle_scans: int
    tier: Tier
    tier_pinned: bool
    arrival_rate: float
    rated_at: datetime | None
    verify_s: float
    live: bool


async def list_due_scans(tx: Tx, *, now: datetime, limit: int) -> list[str]:
    return await tx.column(Q["list_due_scans"], now=now, limit=limit)


async def insert_scans(
    tx: Tx,
    wanted: Sequence[NewScan],
    *,
    trigger: Trigger,
    now: datetime,
    direction: Direction = "both",
    page_limit: int = PAGE_LIMIT,
    auto_continue: bool = True,
) -> set[UUID]:
    """Begin readings; returns the streams that had none under way."""
    if not wanted:
        return set()
    begun = await tx.column(
        Q["insert_scans"],
        trigger=trigger,
        direction=direction,
        page_limit=page_limit,
        auto_continue=auto_continue,
        now=now,
        ids=[scan.id for scan in wanted],
        channel_ids=[scan.channel_id for scan in wanted],
        reasons=[scan.reason for scan in wanted],
        due_ats=[scan.due_at for scan in wanted],
        bounds=[scan.bound for scan in wanted],
        head_calls=[scan.head_calls for scan in wanted],
    )
    return set(begun)


async def start_scans(tx: Tx, wanted: Sequence[NewScan], *, now: datetime) -> set[UUID]:
    """Begin readings whose heads are known, those that people asked for among them; returns their streams."""
    if not wanted:
        return set()
    asked = await tx.column(
        Q["start_asked"],
        channel_ids=[scan.channel_id for scan in wanted],
        due_ats=[scan.due_at for scan in wanted],
        bounds=[scan.bound for scan in wanted],
        head_calls=[scan.head_calls for scan in wanted],
    )
    return set(asked) | await insert_scans(tx, wanted, trigger="schedule", now=now)


async def cancel_asked(tx: Tx, channel_ids: Sequence[UUID], *, message: str, now: datetime) -> None:
    """End scans that people asked for and that wait for a head in vain."""
    if channel_ids:
        await tx.execute(Q["cancel_asked"], channel_ids=list(channel_ids), message=message, now=now)


async def get_scan(tx: Tx, channel_id: UUID) -> Scan | None:
    """Return the scan of a stream that is under way."""
    return await tx.one(Scan, Q["get_scan"], channel_id=channel_id)


async def await_head(tx: Tx, scan_id: UUID, *, now: datetime) -> None:
    """Let a scan wait until a look has fetched the head."""
    await tx.execute(Q["await_head"], scan_id=scan_id, now=now)


async def go_on(
    tx: Tx, scan: Scan, step: Step, *, bound: int | None, due_at: datetime | None, now: datetime
) -> None:
    """Note what a page brought."""
    await tx.execute(
        Q["go_on"],
        scan_id=scan.scan_id,
        account_id=scan.account_id,
        bound=bound,
        due_at=due_at,
        now=now,
        pages=step.pages,
        messages=step.messages,
        items=step.items,
        read_calls=step.read_calls,
        head_calls=step.head_calls,
        start=step.span.start,
        end=step.span.end,
        error_message=step.error_message,
    )


async def end_scan(tx: Tx, scan_id: UUID, *, status: Ending, error_message: str, now: datetime) -> None:
    """Make history of a scan."""
    await tx.execute(Q["end_scan"], scan_id=scan_id, status=status, error_message=error_message, now=now)


async def plan_after_scan(
    tx: Tx,
    channel_id: UUID,
    *,
    due_at: datetime | None,
    scanned_at: datetime | None,
    idle_scans: int,
    idle_at: datetime | None,
    tier: Tier | None,
    woken: bool,
    reason: str,
    now: datetime,
    verify_s: float | None = None,
) -> None:
    """Put a stream back into the schedule."""
    await tx.execute(
        Q["plan_after_scan"],
        channel_id=channel_id,
        due_at=due_at,
        scanned_at=scanned_at,
        idle_scans=idle_scans,
        idle_at=idle_at,
        tier=tier,
        woken=woken,
        verify_s=verify_s,
        reason=reason,
        now=now,
    )


async def settle_sample(tx: Tx, scan: Scan) -> None:
    """Let a stream of which a person has only seen a page be complete above that page."""
    if not scan.auto_continue:
        await tx.execute(Q["settle_sample"], channel_id=scan.channel_id)


async def wait_for_tip(tx: Tx, channel_id: UUID, tip: Tip | None) -> None:
    start, after = (tip.start, tip.after) if tip is not None else (None, None)
    await tx.execute(Q["wait_for_tip"], channel_id=channel_id, tip_from=start, tip_after=after)


async def set_scan_due(tx: Tx, channel_id: UUID, *, due_at: datetime | None) -> None:
    await tx.execute(Q["set_scan_due"], channel_id=channel_id, due_at=due_at)


async def get_idleness(tx: Tx, channel_id: UUID) -> Idleness | None:
    return await tx.one(Idleness, Q["get_idleness"], channel_id=channel_id)


async def prune_history(tx: Tx, *, before: datetime) -> None:
    """Forget old scans, except the newest of each stream."""
    await tx.execute(Q["prune_scans"], before=before, keep=KEEP_SCANS, most=PRUNE_AT_ONCE)


@dataclass(frozen=True)
class _ReadRow(ReadFacts):
    channel_id: UUID


async def list_progress(tx: Tx, channel_ids: Sequence[UUID]) -> dict[UUID, Progress]:
    """Return how much of each stream has been read; listings have no such thing."""
    if not channel_ids:
        return {}
    rows = await tx.all(_ReadRow, Q["list_read_facts"], channel_ids=list(channel_ids))
    return {row.channel_id: progress_of(row) for row in rows}
