"""What the sender of an account reads and writes: runs that are due, messages and what came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from pydantic_core import to_json

from headgate.domain.reminders.run_results import DeliveryState, PartState, RunState, SkipReason
from headgate.domain.words.states import ACCOUNT_BACK, SENDER_STOPPED, account_trouble_text, skip_text
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class DueRun:
    """A run that the sender of its account must look at."""

    id: UUID
    reminder_id: UUID | None
    account_id: UUID | None
    account_name: str
    trigger: Literal["schedule", "person", "test", "remainder", "library"]
    title: str
    state: RunState
    zone: str
    window_start: int
    window_end: int
    at_close: Literal["stop", "carry"]
    opens_at: datetime
    closes_at: datetime | None
    started_at: datetime | None
    limit_signals: int
    total: int
    paused_by: Literal["person", "account"] | None
    reason: str


class Share(NamedTuple):
    """A message that is still to be sent or settled; times in seconds count from now."""

    delivery: int
    target_key: str
    target_title: str
    started_at: datetime
    number: int
    key: str
    attempts: int
    text: str
    media_id: UUID | None
    forward_stream: str
    forward_key: str
    """The message that is sent on by reference; empty for others."""
    doubtful: bool
    token: UUID | None
    sending_at: datetime | None
    doubt_age_s: float | None
    settles_in_s: float | None
    retry_in_s: float | None

    @property
    def place(self) -> tuple[int, int]:
        return self.delivery, self.number

    @property
    def mark(self) -> Mark:
        return Mark(self.delivery, self.number, self.token)


@dataclass(frozen=True)
class Others:
    """What else an account has sent to a target, or may have."""

    file_name: str
    """Of the message itself; empty for a text."""
    claimed: list[str]
    rivals: int


class Mark(NamedTuple):
    """A message that is about to be sent, under the token of its last try as the sender saw it."""

    delivery: int
    number: int
    seen: UUID | None = None


class Result(NamedTuple):
    """What came of a message; the delivery's new state is empty if it goes on."""

    delivery: int
    number: int
    state: PartState
    attempts: int
    message_key: str = ""
    error: str = ""
    retry_s: float | None = None
    sent_at: datetime | None = None
    took_ms: int | None = None
    delivery_state: DeliveryState | Literal[""] = ""


@dataclass(frozen=True)
class NewRound:
    """What a sender writes: what came of messages, and those that are about to be sent."""

    run_id: UUID
    lease: str
    token: UUID
    results: Sequence[Result]
    marks: Sequence[Mark]


class Round(NamedTuple):
    """What a round has written: whether the lease is still ours, and which messages may be sent now."""

    held: bool
    places: str
    """Delivery and number of each message, like `12:1 13:1`."""

    @property
    def marked(self) -> set[tuple[int, int]]:
        places = (place.split(":") for place in self.places.split())
        return {(int(delivery), int(number)) for delivery, number in places}


@dataclass(frozen=True)
class InFlight:
    """How many messages another sender may still have on their way, and for how long."""

    in_flight: int
    settles_in_s: float


@dataclass(frozen=True)
class SenderRow:
    """How an account sends."""

    group_concurrency: int | None
    saturated_since: datetime | None
    saturated_until: datetime | None
    pace_seq: int = 0


@dataclass(frozen=True)
class _UnableAccount:
    id: UUID
    name: str
    state: str
    state_reason: str


@dataclass(frozen=True)
class ErrorCount:
    """How many deliveries failed for a reason."""

    state: DeliveryState
    skip_reason: SkipReason | None
    error: str
    deliveries: int


@dataclass(frozen=True)
class _StateCount:
    state: DeliveryState
    deliveries: int


async def list_sending_accounts(tx: Tx, *, now: datetime, limit: int) -> list[str]:
    return await tx.column(Q["list_sending_accounts"], now=now, limit=limit)


async def postpone_sender(tx: Tx, account_id: UUID, *, until: datetime) -> int:
    return await tx.execute(Q["postpone_sender"], account_id=account_id, until=until, reason=SENDER_STOPPED)


async def reopen_sender(tx: Tx, account_id: UUID, *, now: datetime) -> int:
    return await tx.execute(Q["reopen_sender"], account_id=account_id, now=now)


async def follow_accounts(tx: Tx, *, now: datetime) -> int:
    """Pause the runs of accounts that cannot send, and resume those of accounts that can again."""
    paused = 0
    if unable := await tx.all(_UnableAccount, Q["list_unable_accounts"]):
        paused = await tx.execute(
            Q["pause_with_account"],
            account_ids=[account.id for account in unable],
            states=[account.state for account in unable],
            reasons=[account_trouble_text(one.name, one.state, one.state_reason) for one in unable],
        )
    return paused + await tx.execute(Q["resume_with_account"], now=now, reason=ACCOUNT_BACK)


async def list_due_runs(tx: Tx, account_id: UUID, *, now: datetime) -> list[DueRun]:
    """Return and lock the runs that are due, in the order of their turns."""
    return await tx.all(DueRun, Q["list_due_runs"], account_id=account_id, now=now)


async def lock_run(tx: Tx, run_id: UUID) -> DueRun | None:
    """Return a run as it stands, and keep it so until the transaction ends."""
    return await tx.one(DueRun, Q["lock_run"], run_id=run_id)


async def is_due(tx: Tx, account_id: UUID, *, now: datetime) -> bool:
    """Tell whether the account's sender has something to do now."""
    return await tx.value(Q["is_due"], account_id=account_id, now=now)


async def begin_batch(tx: Tx, run_id: UUID, *, now: datetime) -> bool:
    """Begin a batch of a run; false if the run has stopped."""
    return await tx.execute(Q["begin_batch"], run_id=run_id, now=now) == 1


async def list_shares(tx: Tx, run_id: UUID, *, limit: int, settle_s: float, now: datetime) -> list[Share]:
    """Return unsent messages: of deliveries that were begun, and of the next `limit` ones."""
    return await tx.all(Share, Q["list_shares"], run_id=run_id, limit=limit, settle_s=settle_s, now=now)


async def list_doubtful(tx: Tx, run_id: UUID, *, settle_s: float, now: datetime) -> list[Share]:
    """Return messages that may or may not have been sent."""
    return await tx.all(Share, Q["list_doubtful"], run_id=run_id, settle_s=settle_s, now=now)


async def count_in_flight(tx: Tx, account_id: UUID, *, settle_s: float) -> InFlight:
    found = await tx.one(InFlight, Q["count_in_flight"], account_id=account_id, settle_s=settle_s)
    return found or InFlight(0, 0.0)


async def write_rounds(tx: Tx, rounds: Sequence[NewRound], *, ttl_s: float, now: datetime) -> list[Round]:
    """Write what came of messages, renew the leases, and mark the next messages as about to be sent."""
    # As texts: this statement is sent for every few messages, and a list for each column would cost more.
    numbered = list(enumerate(rounds, start=1))
    return await tx.all(
        Round,
        Q["write_rounds"],
        rounds=to_json(
            [
                {"round": place, "run_id": new.run_id, "lease": new.lease, "token": new.token}
                for place, new in numbered
            ]
        ).decode(),
        results=to_json(
            [{"round": place, **result._asdict()} for place, new in numbered for result in new.results]
        ).decode(),
        marks=to_json(
            [{"round": place, **mark._asdict()} for place, new in numbered for mark in new.marks]
        ).decode(),
        ttl_s=ttl_s,
        now=now,
    )


async def settle_part(tx: Tx, run_id: UUID, share: Share, result: Result, *, now: datetime) -> None:
    """Write what was found out about a doubtful message."""
    await tx.execute(
        Q["settle_part"],
        run_id=run_id,
        delivery=share.delivery,
        number=share.number,
        sending_at=share.sending_at,
        state=result.state,
        message_key=result.message_key,
        error=result.error,
        delivery_state=result.delivery_state,
        now=now,
    )


async def fail_pending(tx: Tx, run_id: UUID, *, error: str, now: datetime) -> int:
    return await tx.execute(
        Q["end_rest"], run_id=run_id, state="failed", skip_reason=None, error=error, now=now
    )


async def skip_rest(
    tx: Tx, run_id: UUID, reason: Literal["window_closed", "cancelled"], *, now: datetime
) -> int:
    """Skip what was not sent; what may be under way stays with the sender."""
    return await tx.execute(
        Q["end_rest"], run_id=run_id, state="skipped", skip_reason=reason, error=skip_text(reason), now=now
    )


async def complete_deliveries(tx: Tx, run_id: UUID, *, now: datetime) -> int:
    """Note as sent the deliveries all of whose messages turned out to have been sent."""
    return await tx.execute(Q["complete_deliveries"], run_id=run_id, now=now)


async def fail_delivery(tx: Tx, run_id: UUID, delivery: int, *, error: str, now: datetime) -> None:
    await tx.execute(Q["fail_delivery"], run_id=run_id, delivery=delivery, error=error, now=now)


async def put_off_part(tx: Tx, run_id: UUID, share: Share, *, error: str, retry_s: float) -> None:
    """Count a try of a message whose file could not be uploaded."""
    await tx.execute(
        Q["put_off_part"],
        run_id=run_id,
        delivery=share.delivery,
        number=share.number,
        error=error,
        retry_s=retry_s,
    )


async def count_open(tx: Tx, run_id: UUID) -> int:
    return await tx.value(Q["count_open"], run_id=run_id)


async def tally(tx: Tx, run_id: UUID) -> dict[DeliveryState, int]:
    """Return how many deliveries are in which state."""
    return {row.state: row.deliveries for row in await tx.all(_StateCount, Q["tally"], run_id=run_id)}


async def count_errors(tx: Tx, run_id: UUID) -> list[ErrorCount]:
    return await tx.all(ErrorCount, Q["count_errors"], run_id=run_id)


async def rest_runs(tx: Tx, run_ids: Sequence[UUID], *, now: datetime) -> None:
    """Take runs that have nothing to do out of the sender's way."""
    if run_ids:
        await tx.execute(Q["rest_runs"], run_ids=list(run_ids), now=now)


async def lock_pace(tx: Tx, account_id: UUID) -> int:
    """Return how often the pace of an account was changed, and keep it so until the transaction ends."""
    return await tx.value(Q["lock_pace"], account_id=account_id)


async def note_pace(tx: Tx, account_id: UUID, *, now: datetime) -> bool:
    """Note that the pace of an account was changed; true if runs that waited for it can be tried now."""
    await tx.execute(Q["note_pace"], account_id=account_id)
    return await tx.execute(Q["wake_resting"], account_id=account_id, now=now) > 0


async def rest_for_pace(tx: Tx, reasons: Mapping[UUID, str], *, due_at: datetime, now: datetime) -> None:
    """Let runs that are due wait for the pace until a time, each with its reason."""
    await tx.execute(
        Q["rest_for_pace"], run_ids=list(reasons), reasons=list(reasons.values()), due_at=due_at, now=now
    )


async def put_off(tx: Tx, run_id: UUID, *, due_at: datetime) -> None:
    await tx.execute(Q["put_off"], run_id=run_id, due_at=due_at)


async def carry_run(
    tx: Tx, run_id: UUID, *, opens_at: datetime, closes_at: datetime | None, reason: str
) -> None:
    await tx.execute(Q["carry_run"], run_id=run_id, opens_at=opens_at, closes_at=closes_at, reason=reason)


async def end_run(tx: Tx, run_id: UUID, *, state: RunState, summary: str, now: datetime) -> None:
    """Write a run's last word, and whom it reached."""
    await tx.execute(Q["end_run"], run_id=run_id, state=state, summary=summary, now=now)
    await tx.execute(Q["note_reach"], run_id=run_id)


async def count_limit_signals(tx: Tx, run_id: UUID, *, signals: int) -> None:
    await tx.execute(Q["count_limit_signals"], run_id=run_id, signals=signals)


async def get_sender(tx: Tx, account_id: UUID) -> SenderRow:
    return await tx.one(SenderRow, Q["get_sender"], account_id=account_id) or SenderRow(None, None, None)


async def note_saturated(tx: Tx, account_id: UUID, *, since: datetime, until: datetime) -> None:
    await tx.execute(Q["note_saturated"], account_id=account_id, since=since, until=until)


async def set_group_concurrency(tx: Tx, account_id: UUID, groups: int | None) -> None:
    await tx.execute(Q["set_group_concurrency"], account_id=account_id, groups=groups)


async def get_others(tx: Tx, account_id: UUID, run_id: UUID, share: Share) -> Others:
    """Return what a search for a message must not take for it."""
    found = await tx.one(
        Others,
        Q["get_others"],
        account_id=account_id,
        run_id=run_id,
        delivery=share.delivery,
        number=share.number,
        media_id=share.media_id,
    )
    return found or Others("", [], 1)
