"""How a run ended, and the sentences that say so: they name the account and the true causes with counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

RunState = Literal["waiting", "running", "paused", "success", "partial", "failed", "cancelled", "missed"]
RunResult = Literal["success", "partial", "failed"]
DeliveryState = Literal["pending", "sending", "sent", "failed", "skipped", "uncertain"]
PartState = Literal["planned", "sending", "sent", "failed", "uncertain"]
SkipReason = Literal["window_closed", "cancelled", "passed_on"]
"""Why a delivery was skipped."""

_AT_CAPACITY = "This account is at capacity for this run; consider sending the rest from another account."
_MAX_ERRORS = 5


@dataclass(frozen=True)
class Tally:
    """How many deliveries of a run are in each state."""

    pending: int = 0
    sending: int = 0
    sent: int = 0
    failed: int = 0
    skipped: int = 0
    uncertain: int = 0

    @property
    def total(self) -> int:
        return self.pending + self.sending + self.sent + self.failed + self.skipped + self.uncertain

    @property
    def unsent(self) -> int:
        return self.total - self.sent


@dataclass(frozen=True)
class RunEnding:
    """All that the summary of a run is made of."""

    account: str
    tally: Tally
    closed_at_text: str = ""
    """When the window closed on the run, on the wall; empty if it did not."""
    zone: str = ""
    saturated: bool = False
    """The lane had no room to spare until the close."""
    cancelled: bool = False
    errors: Mapping[str, int] = field(default_factory=dict[str, int])
    """For the failed deliveries: what went wrong, and how often."""
    limit_signals: int = 0
    daily_cap_reached: bool = False
    passed_on: int = 0
    """So many of the skipped are sent from another account, by a person's choice."""
    paused_reason: str = ""


def result_of(tally: Tally) -> RunResult:
    """Return success if every target was sent to, failed if none was. Uncertain counts as not sent."""
    if tally.sent == 0:
        return "failed"
    return "success" if tally.sent == tally.total else "partial"


def summary(ending: RunEnding) -> str:
    """Return how a run ended and why, in plain sentences."""
    return " ".join([*_opening(ending), *_causes(ending)])


def notice(title: str, state: RunState, tally: Tally) -> str:
    """Return the line that tells people of a run."""
    delivered = f"{tally.sent} of {tally.total} delivered"
    match state:
        case "success":
            return f"{title}: all {tally.total} delivered"
        case "failed":
            return f"{title}: failed, {delivered}"
        case "missed":
            return f"{title}: missed, nothing was sent"
        case "cancelled" | "paused":
            return f"{title}: {state}, {delivered}"
        case "partial" | "running":
            return f"{title}: {delivered}"
        case "waiting":
            return f"{title}: waiting"


def _opening(ending: RunEnding) -> Iterator[str]:
    tally = ending.tally
    delivered = f"{tally.sent} of {_groups(tally.total)} delivered"
    if tally.total == 0:
        yield f"There was no group to deliver to by {ending.account}."
    elif not tally.unsent:
        every = f"All {_groups(tally.total)}" if tally.total > 1 else "The only group was"
        yield f"{every} delivered by {ending.account}."
    elif ending.cancelled:
        yield f"Cancelled. {delivered}."
    elif ending.closed_at_text:
        yield f"Delivery window closed at {ending.closed_at_text} ({ending.zone}). {delivered}."
        if ending.saturated:
            yield _AT_CAPACITY
    else:
        yield f"{delivered}."


def _causes(ending: RunEnding) -> Iterator[str]:
    counts = list(_counts(ending))
    if counts:
        yield f"Account {ending.account}: {', '.join(counts)}."
    if ending.daily_cap_reached:
        yield "The daily cap of the account was reached."
    if ending.limit_signals:
        times = "once" if ending.limit_signals == 1 else f"{ending.limit_signals} times"
        yield f"The platform asked {times} to slow down."
    if ending.paused_reason:
        yield f"The run was paused: {ending.paused_reason.rstrip('.')}."


def _counts(ending: RunEnding) -> Iterator[str]:
    tally = ending.tally
    passed_on = min(ending.passed_on, tally.skipped)
    yield from _failures(tally.failed, ending.errors)
    if tally.uncertain:
        yield f"{tally.uncertain} uncertain"
    if passed_on:
        yield f"{passed_on} passed on to another account"
    if tally.skipped - passed_on:
        yield f"{tally.skipped - passed_on} skipped{_skip_cause(ending)}"
    if tally.pending + tally.sending:
        yield f"{tally.pending + tally.sending} not finished"


def _failures(failed: int, errors: Mapping[str, int]) -> Iterator[str]:
    """Yield the failures by what went wrong, the most frequent first, and the rest without."""
    named = sorted(errors.items(), key=lambda error: (-error[1], error[0]))[:_MAX_ERRORS]
    for text, count in named:
        yield f"{count} failed ({text})"
    rest = failed - sum(count for _, count in named)
    if rest > 0:
        yield f"{rest} failed" + (" for other reasons" if named else "")


def _skip_cause(ending: RunEnding) -> str:
    if ending.cancelled:
        return " (cancelled)"
    return " (delivery window closed)" if ending.closed_at_text else ""


def _groups(count: int) -> str:
    return "1 group" if count == 1 else f"{count} groups"
