"""Runs as people see them: how far they are, what came of each delivery, and what it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.domain.reminders.run_results import DeliveryState, PartState, RunState, Tally
from headgate.domain.reminders.windows import Window
from headgate.domain.words.waiting import for_holder, for_slot
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries
from headgate.storage.reminders.reminders import AtClose
from headgate.storage.sending.run_making import Trigger

Q = load_queries(__name__)

NOTICED_WAIT_S = 5.0
"""Shorter waits between two batches are not worth a word."""
ACTIVE_STATES: tuple[RunState, ...] = ("waiting", "running", "paused")


@dataclass(frozen=True)
class RunLine:
    """One run, with how many of its deliveries are in which state."""

    id: UUID
    reminder_id: UUID | None
    remainder_of: UUID | None
    account_id: UUID | None
    account_name: str
    trigger: Trigger
    title: str
    fire_at: datetime
    zone: str
    window_start: int
    window_end: int
    at_close: AtClose
    state: RunState
    reason: str
    paused_by: Literal["person", "account"] | None
    opens_at: datetime
    closes_at: datetime | None
    carried: int
    limit_signals: int
    total: int
    summary: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    due_at: datetime | None
    joined: int
    """Fires that came while it was under way."""
    slot_wait_s: float | None = field(compare=False)
    """For how long its account has waited for a sending slot."""
    awaited_holder: str = field(compare=False)
    """The process that it waits for, because that one alone may use the account."""
    pending: int
    sending: int
    sent: int
    failed: int
    skipped: int
    uncertain: int

    @property
    def tally(self) -> Tally:
        return Tally(self.pending, self.sending, self.sent, self.failed, self.skipped, self.uncertain)

    @property
    def window(self) -> Window:
        return Window(self.window_start, self.window_end, self.zone)

    @property
    def active(self) -> bool:
        return self.state in ACTIVE_STATES

    @property
    def told(self) -> RunLine:
        """The run with the reason why it waits now: it may be ready, and other accounts have all slots."""
        waited_s = self.slot_wait_s or 0.0
        if self.state not in {"waiting", "running"} or waited_s < NOTICED_WAIT_S:
            return self
        reason = for_holder(self.awaited_holder) if self.awaited_holder else for_slot(waited_s)
        return replace(self, reason=reason)


@dataclass(frozen=True)
class RunCursor:
    """A place in the order of runs."""

    created_at: datetime
    id: UUID


@dataclass(frozen=True)
class RunFigures:
    """What a run comes to, message by message; latencies only of what was delivered."""

    parts: int
    messages: int
    messages_sent: int
    median_ms: float | None
    p95_ms: float | None


@dataclass(frozen=True)
class PartLine:
    """One message of a delivery."""

    number: int
    state: PartState
    error: str
    attempts: int
    sent_at: datetime | None
    message_key: str


@dataclass(frozen=True)
class DeliveryLine:
    """What one target gets in a run."""

    number: int
    target_id: UUID | None
    target_key: str
    target_title: str
    state: DeliveryState
    error: str
    started_at: datetime | None
    ended_at: datetime | None
    latency_ms: int | None
    parts: tuple[PartLine, ...]


@dataclass(frozen=True)
class _DeliveryRow:
    number: int
    target_id: UUID | None
    target_key: str
    target_title: str
    state: DeliveryState
    error: str
    started_at: datetime | None
    ended_at: datetime | None
    latency_ms: int | None
    states: list[PartState]
    errors: list[str]
    attempts: list[int]
    sent_ats: list[datetime | None]
    message_keys: list[str]

    @property
    def line(self) -> DeliveryLine:
        columns = zip(self.states, self.errors, self.attempts, self.sent_ats, self.message_keys, strict=True)
        return DeliveryLine(
            number=self.number,
            target_id=self.target_id,
            target_key=self.target_key,
            target_title=self.target_title,
            state=self.state,
            error=self.error,
            started_at=self.started_at,
            ended_at=self.ended_at,
            latency_ms=self.latency_ms,
            parts=tuple(PartLine(number, *columns) for number, columns in enumerate(columns, start=1)),
        )


@dataclass(frozen=True)
class NamedRun:
    """A run that a person named."""

    id: UUID
    reminder_id: UUID | None
    title: str
    state: RunState
    created_at: datetime


async def list_runs(
    tx: Tx,
    *,
    reminder_id: UUID | None = None,
    account_id: UUID | None = None,
    states: Sequence[RunState] | None = None,
    below: RunCursor | None = None,
    limit: int,
) -> list[RunLine]:
    """Return runs, newest first; those of one reminder are its history."""
    place = {"created_at": None, "id": None} if below is None else vars(below)
    found = await tx.all(
        RunLine,
        Q["list_runs"],
        reminder_id=reminder_id,
        account_id=account_id,
        states=None if states is None else list(states),
        limit=limit,
        **place,
    )
    return [run.told for run in found]


async def get_run(tx: Tx, run_id: UUID) -> RunLine | None:
    found = await tx.one(RunLine, Q["get_run"], run_id=run_id)
    return None if found is None else found.told


async def get_figures(tx: Tx, run_id: UUID) -> RunFigures:
    """Return what a run comes to, message by message."""
    return await tx.one(RunFigures, Q["get_figures"], run_id=run_id) or RunFigures(0, 0, 0, None, None)


async def list_deliveries(
    tx: Tx, run_id: UUID, *, state: DeliveryState | None = None, after: int = 0, limit: int
) -> list[DeliveryLine]:
    """Return deliveries in their order, after one of them."""
    rows = await tx.all(
        _DeliveryRow, Q["list_deliveries"], run_id=run_id, state=state, after=after, limit=limit
    )
    return [row.line for row in rows]


async def find_runs(tx: Tx, digits: str) -> list[NamedRun]:
    """Return runs whose id begins or ends so; the digits are those of an id and nothing else."""
    return await tx.all(NamedRun, Q["find_runs"], digits=digits)


async def find_runs_by_title(tx: Tx, title: str) -> list[NamedRun]:
    """Return the newest run of every reminder of this title."""
    return await tx.all(NamedRun, Q["find_runs_by_title"], title=title)


async def list_active_runs(tx: Tx, reminder_id: UUID) -> list[UUID]:
    """Return the runs of a reminder that have not ended."""
    return await tx.column(Q["list_active_runs"], reminder_id=reminder_id)
