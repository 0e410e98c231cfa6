"""How runs end: by their last delivery, by the close of their window, or by a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.domain.reminders.run_results import (
    RunEnding,
    RunState,
    Tally,
    notice,
    result_of,
    summary,
)
from headgate.domain.reminders.windows import Window, minute_text
from headgate.domain.words.waiting import for_window
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.library_sends import requests
from headgate.storage.sending import sending
from headgate.storage.sending.sending import DueRun, ErrorCount, SenderRow

FIRED = "reminder.fired"
SENDS_CHANGED = Event("sends")
"""A thing of the library is on its way, was sent, or was not."""
_EVEN = timedelta(minutes=2)
"""A lane that was busy until so shortly before the close was busy until the close."""
_LONG = timedelta(minutes=10)


@dataclass(frozen=True)
class Circumstances:
    """What is known at the end of a run beside its deliveries."""

    saturated: bool = False
    daily_cap_reached: bool = False


def window_of(run: DueRun) -> Window:
    return Window(run.window_start, run.window_end, run.zone)


def was_saturated(sender: SenderRow, run: DueRun) -> bool:
    """Tell whether nothing but the pace kept the account from sending more, until the window closed."""
    if run.closes_at is None or run.started_at is None or sender.saturated_until is None:
        return False
    if sender.saturated_since is None or sender.saturated_until < run.closes_at - _EVEN:
        return False
    return sender.saturated_since <= max(run.started_at + _EVEN, run.closes_at - _LONG)


async def close_window(tx: Tx, run: DueRun, *, now: datetime) -> bool:
    """Do what the run wants at the close: carry the rest, or skip it; true if there is nothing left to do.

    Messages that may be on their way are left to the sender, who finds out about them.
    """
    if run.at_close == "carry":
        stretch = window_of(run).stretch(now)
        reason = for_window(stretch.opens_at, run.zone)
        await sending.carry_run(
            tx, run.id, opens_at=stretch.opens_at, closes_at=stretch.closes_at, reason=reason
        )
        return False
    await sending.skip_rest(tx, run.id, "window_closed", now=now)
    return await sending.count_open(tx, run.id) == 0


async def end_run(
    tx: Tx, run: DueRun, circumstances: Circumstances, *, now: datetime, announced: bool = False
) -> RunState:
    """Write a run's result and summary, and tell everybody, unless that was done before."""
    tally = Tally(**await sending.tally(tx, run.id))
    errors = await sending.count_errors(tx, run.id)
    cancelled = run.state == "cancelled"
    state: RunState = "cancelled" if cancelled else result_of(tally)
    skipped_at_close = any(error.skip_reason == "window_closed" for error in errors)
    text = summary(
        RunEnding(
            account=run.account_name,
            tally=tally,
            closed_at_text=minute_text(run.window_end) if skipped_at_close else "",
            zone=run.zone,
            saturated=circumstances.saturated and not run.limit_signals,
            cancelled=cancelled,
            errors=_counts(errors),
            limit_signals=run.limit_signals,
            daily_cap_reached=circumstances.daily_cap_reached,
            passed_on=sum(error.deliveries for error in errors if error.skip_reason == "passed_on"),
            paused_reason=run.reason if run.state == "paused" else "",
        )
    )
    await sending.end_run(tx, run.id, state=state, summary=text, now=now)
    await publish(tx, changed(run))
    if run.trigger == "library":
        await requests.settle_request(tx, run.id, now=now)
    elif run.trigger != "test" and not announced:
        await publish(tx, fired(run.id, run.title, state, tally))
    return state


def changed(run: DueRun) -> Event:
    """Return what makes the pages that show a run look again."""
    return SENDS_CHANGED if run.trigger == "library" else Event("runs")


def _counts(errors: Sequence[ErrorCount]) -> dict[str, int]:
    return {error.error: error.deliveries for error in errors if error.state == "failed"}


def fired(run_id: UUID, title: str, state: RunState, tally: Tally) -> Event:
    """Return what tells people of the result of a run."""
    return Event(FIRED, details={"run": str(run_id), "status": state, "text": notice(title, state, tally)})
