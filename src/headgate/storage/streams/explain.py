"""Everything that explains a stream: what was read of it, by whom, why, and at which price."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from headgate.domain.streams.messages import Lens, Span
from headgate.domain.streams.progress import Progress
from headgate.storage.channels.channels import AccountState
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries
from headgate.storage.streams.scans import list_progress

Q = load_queries(__name__)

MAX_MISSES = 5
MAX_DECISIONS = 10
MAX_SCANS = 10


@dataclass(frozen=True)
class ExplainedStream:
    """A stream as it is now."""

    id: UUID
    platform: str
    key: str
    scope: str
    title: str
    message_scan_enabled: bool
    gone_at: datetime | None
    """Since when its reader does not see it any more."""
    parent_id: UUID | None
    parent_title: str
    parent_enabled: bool
    parent_off: str
    """Title of what is off above it, the nearest; empty if all is on."""
    continues_id: UUID | None
    continues_title: str
    floor: int
    sampled_from: int | None
    """The start of a sample, if no more than that was asked for: what is older waits for a person."""
    head: int | None
    head_checked_at: datetime | None
    lenses: list[Lens]
    tip_after: datetime | None
    due_at: datetime | None
    planned_at: datetime | None
    reason: str
    woken: bool
    tier: str
    tier_pinned: bool
    arrival_rate: float
    idle_scans: int
    idle_at: datetime | None
    scanned_at: datetime | None
    message_count: int
    total_messages_scanned: int
    head_checks: int
    reads: int
    reads_saved: int
    items: int
    hidden_items: int
    item_kinds: list[str]
    first_seen_position: int | None
    rechecks: int
    next_recheck_at: datetime | None

    @property
    def enabled(self) -> bool:
        """Whether all switches are on: the channel's and those of all that it is in."""
        return self.message_scan_enabled and self.parent_enabled


@dataclass(frozen=True)
class LensCoverage:
    """What counts as read in one lens, the widest included."""

    lens: Lens
    epoch: int
    wanted: bool
    starts: list[int]
    ends: list[int]

    @property
    def spans(self) -> list[Span]:
        return [Span(*pair) for pair in zip(self.starts, self.ends, strict=True)]

    @property
    def forward_message_id(self) -> int | None:
        """The newest position that was read."""
        return self.ends[-1] - 1 if self.ends else None

    @property
    def backward_message_id(self) -> int | None:
        """The oldest position that was read."""
        return self.starts[0] if self.starts else None


@dataclass(frozen=True)
class HoleLine:
    """Positions that were not read yet, both ends included, and what is known of failed tries."""

    lens: Lens
    first_position: int
    last_position: int
    attempts: int
    next_try_at: datetime | None
    error_class: str
    error_message: str


@dataclass(frozen=True)
class MissTotal:
    """How many misses of a stage are open, or were abandoned."""

    state: Literal["open", "abandoned"]
    stage: Literal["read", "ingest"]
    misses: int
    next_try_at: datetime | None


@dataclass(frozen=True)
class MissLine:
    """One thing that failed after it was read."""

    id: UUID
    message_key: str
    attachment_key: str
    stage: Literal["read", "ingest"]
    error_class: str
    error_message: str
    attempts: int
    due_at: datetime | None
    state: Literal["open", "abandoned"]
    last_at: datetime


@dataclass(frozen=True)
class Watch:
    """An account that can read the stream, and its breaker."""

    account_id: UUID
    name: str
    state: AccountState
    state_reason: str
    reads: bool | None
    failures: int
    opened: int
    open_until: datetime | None
    error_class: str
    error_message: str
    failed_at: datetime | None
    listening: bool
    held_by: str
    """The process that alone may use the account; empty if none does, or all may."""
    awaiting_holder: int
    """Jobs that wait for that process."""


@dataclass(frozen=True)
class FailedJob:
    """A job of the stream that gave up and waits for a person."""

    id: UUID
    kind: str
    error_class: str
    message: str
    died_at: datetime


@dataclass(frozen=True)
class JudgingLine:
    """How far judging again has come; without a due time it is done."""

    due_at: datetime | None
    asked_at: datetime
    judged: int
    changed: int


@dataclass(frozen=True)
class DecisionLine:
    """Why the stream was read or not; one row for decisions that repeat."""

    number: int
    reason: str
    first_at: datetime
    last_at: datetime
    times: int


@dataclass(frozen=True)
class ScanLine:
    """One reading: what it did, found and cost."""

    id: UUID
    account: str
    trigger: str
    reason: str
    direction: str
    page_limit: int
    auto_continue: bool
    status: str
    error_message: str
    due_at: datetime | None
    starts: list[int]
    ends: list[int]
    pages: int
    messages: int
    items: int
    head_calls: int
    read_calls: int
    queued_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @property
    def spans(self) -> list[Span]:
        return [Span(*pair) for pair in zip(self.starts, self.ends, strict=True)]

    @property
    def duration_s(self) -> float | None:
        """From the start to the end; None while it has not ended."""
        if self.ended_at is None:
            return None
        return max(0.0, (self.ended_at - (self.started_at or self.queued_at)).total_seconds())


@dataclass(frozen=True)
class Topic:
    """A label inside a forum's stream."""

    key: str
    title: str
    message_scan_enabled: bool
    settings: dict[str, Any]
    gone_at: datetime | None


@dataclass(frozen=True)
class Explanation:
    """All of it, read in one transaction."""

    stream: ExplainedStream
    progress: Progress
    coverage: list[LensCoverage]
    holes: list[HoleLine]
    miss_counts: list[MissTotal]
    misses: list[MissLine]
    watches: list[Watch]
    failed_jobs: list[FailedJob]
    judging: JudgingLine | None
    decisions: list[DecisionLine]
    scans: list[ScanLine]
    topics: list[Topic]


async def explain_stream(tx: Tx, channel_id: UUID) -> Explanation | None:
    """Return everything about a stream; None if the channel has none."""
    stream = await tx.one(ExplainedStream, Q["get_explained"], channel_id=channel_id)
    if stream is None:
        return None
    return Explanation(
        stream=stream,
        progress=(await list_progress(tx, [channel_id]))[channel_id],
        coverage=await tx.all(LensCoverage, Q["list_coverage"], channel_id=channel_id),
        holes=await tx.all(HoleLine, Q["list_holes"], channel_id=channel_id),
        miss_counts=await tx.all(MissTotal, Q["count_misses"], channel_id=channel_id),
        misses=await tx.all(MissLine, Q["list_misses"], channel_id=channel_id, limit=MAX_MISSES),
        watches=await tx.all(Watch, Q["list_watches"], channel_id=channel_id),
        failed_jobs=await tx.all(FailedJob, Q["list_letters"], channel_id=channel_id),
        judging=await tx.one(JudgingLine, Q["get_judging"], channel_id=channel_id),
        decisions=await tx.all(DecisionLine, Q["list_decisions"], channel_id=channel_id, limit=MAX_DECISIONS),
        scans=await tx.all(ScanLine, Q["list_scans"], channel_id=channel_id, limit=MAX_SCANS),
        topics=await list_topics(tx, channel_id),
    )


async def list_topics(tx: Tx, channel_id: UUID) -> list[Topic]:
    return await tx.all(Topic, Q["list_topics"], channel_id=channel_id)
