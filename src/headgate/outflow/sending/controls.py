"""What people do to runs, each in one transaction; a sender that is at the run notices in its next round."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import NotFound, UserError
from headgate.domain.reminders.run_results import DeliveryState, RunState
from headgate.domain.reminders.windows import Stretch
from headgate.domain.words.waiting import FOR_ITS_TURN, PAUSED, for_window
from headgate.outflow.sending.endings import Circumstances, changed, end_run, window_of
from headgate.outflow.sending.resting import wake_sender
from headgate.storage.database import Tx
from headgate.storage.errors import Refused
from headgate.storage.events import publish
from headgate.storage.library_sends import requests
from headgate.storage.sending import run_controls, run_overview, sending
from headgate.storage.sending.run_overview import RunLine
from headgate.storage.sending.sending import DueRun

ACTIVE: tuple[RunState, ...] = ("waiting", "running", "paused")


async def pause(tx: Tx, run_id: UUID) -> None:
    """Pause a run; its delivery window still closes on time."""
    run = await _locked(tx, run_id)
    if not await run_controls.pause_run(tx, run_id, reason=PAUSED):
        raise _refusal(run, "paused")
    await publish(tx, changed(run))


async def resume(tx: Tx, run_id: UUID, *, now: datetime) -> None:
    """Resume a paused run where it stopped."""
    run = await _locked(tx, run_id)
    if run.state != "paused":
        raise _refusal(run, "resumed")
    if run.paused_by == "account":
        raise UserError(
            f"The run waits for its account: {run.reason}.",
            remedy=f"It continues automatically once {run.account_name} is signed in again.",
            command=f"headgate account login {run.account_name}",
        )
    # Its window closes on time: one that closed meanwhile is closed now, and not the next one opened.
    await _go_on(tx, run, Stretch(run.opens_at, run.closes_at), now=now)


async def cancel(tx: Tx, run_id: UUID, *, now: datetime) -> None:
    """Cancel a run; messages already on their way still arrive."""
    run = await _locked(tx, run_id)
    if not await run_controls.cancel_run(tx, run_id, now=now):
        raise _refusal(run, "cancelled")
    await sending.skip_rest(tx, run_id, "cancelled", now=now)
    if await sending.count_open(tx, run_id) == 0:
        await end_run(tx, replace(run, state="cancelled"), Circumstances(), now=now)
    else:
        await _wake(tx, run)
    await publish(tx, changed(run))


async def retry(
    tx: Tx, run_id: UUID, *, skipped: bool = False, uncertain: bool = False, now: datetime
) -> int:
    """Send again what failed, and if wished what was skipped or is uncertain; return how many deliveries."""
    run = await _locked(tx, run_id)
    if run.state in {*ACTIVE, "missed"}:
        raise _refusal(run, "tried again")
    if successor := await run_controls.find_remainder(tx, run_id):
        raise UserError(
            f"{successor} sends the rest of this run.",
            remedy="Retry the run of that account.",
        )
    wished: dict[DeliveryState, bool] = {"failed": True, "skipped": skipped, "uncertain": uncertain}
    states: list[DeliveryState] = [state for state, wanted in wished.items() if wanted]
    taken = await run_controls.take_up_deliveries(tx, run_id, states)
    if not taken:
        raise UserError(
            f"No delivery of the run “{run.title}” is {' or '.join(states)}.",
            command="headgate run show",
        )
    await _go_on(tx, run, window_of(run).stretch(now), now=now)
    return taken


async def resolve(tx: Tx, run_id: UUID, delivery: int, *, arrived: bool, now: datetime) -> None:
    """Take a person's word for an uncertain message: it arrived, or it is to be sent again."""
    run = await _locked(tx, run_id)
    if arrived:
        await run_controls.accept_uncertain(tx, run_id, delivery, now=now)
    if not await run_controls.take_up_deliveries(tx, run_id, ["uncertain"], delivery=delivery):
        raise UserError(
            f"Delivery {delivery} of the run “{run.title}” is not uncertain.",
            command="headgate run show",
        )
    await sending.complete_deliveries(tx, run_id, now=now)
    if run.state in ACTIVE:
        await publish(tx, changed(run))
    elif await sending.count_open(tx, run_id):
        await _go_on(tx, run, window_of(run).stretch(now), now=now)
    else:
        await end_run(tx, run, Circumstances(), now=now, announced=True)


async def get_run(tx: Tx, run_id: UUID) -> RunLine:
    """Return a run with its counts."""
    run = await run_overview.get_run(tx, run_id)
    if run is None:
        raise no_such_run()
    return run


def no_such_run() -> NotFound:
    return NotFound("There is no such run.", command="headgate run list")


async def _locked(tx: Tx, run_id: UUID) -> DueRun:
    run = await sending.lock_run(tx, run_id)
    if run is None:
        raise no_such_run()
    return run


async def _go_on(tx: Tx, run: DueRun, stretch: Stretch, *, now: datetime) -> None:
    if run.account_id is None:
        raise UserError(
            f"The account {run.account_name}, which sent this run, was removed.",
            remedy="Send the rest from another account.",
            command="headgate run send-rest",
        )
    reason = FOR_ITS_TURN if stretch.opens_at <= now else for_window(stretch.opens_at, run.zone)
    await run_controls.reopen_run(tx, run.id, stretch, reason=reason, now=now)
    if run.trigger == "library":
        await _reopen_request(tx, run)
    await _wake(tx, run)
    await publish(tx, changed(run))


async def _reopen_request(tx: Tx, run: DueRun) -> None:
    """Open the request of a run again; a newer one for the same thing and target goes before it."""
    try:
        await requests.reopen_request(tx, run.id)
    except Refused as error:
        raise UserError(
            f"“{run.title}” is being sent to this target by a newer request.",
            remedy="Wait for that one, or cancel it.",
        ) from error


async def _wake(tx: Tx, run: DueRun) -> None:
    if run.account_id is not None:
        await wake_sender(tx, run.account_id)


def _refusal(run: DueRun, done: str) -> UserError:
    return UserError(
        f"The run “{run.title}” is {run.state} and cannot be {done}.",
        command="headgate run list",
    )
