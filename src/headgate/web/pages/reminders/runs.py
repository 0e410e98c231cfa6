"""Runs: what is being sent, what came of it, and what people decide about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Form, Query, Response
from fastapi.responses import RedirectResponse

from headgate.domain.errors import UserError
from headgate.domain.reminders.run_results import DeliveryState, RunState
from headgate.outflow.reminders.runs import make_remainder_run
from headgate.outflow.sending import controls
from headgate.storage.channels.channels import list_accounts
from headgate.storage.database import Tx
from headgate.storage.sending.run_overview import (
    ACTIVE_STATES,
    RunCursor,
    RunLine,
    get_figures,
    list_deliveries,
    list_runs,
)
from headgate.storage.sending.sending import count_errors
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.cursors import cut_page, read_time_cursor, time_cursor
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.pages.confirmations import Checkbox, Choice, Confirmation, ask
from headgate.web.pages.reminders.progress import stripes
from headgate.web.parts import CurrentSite, Site
from headgate.web.wording import amount

routes = Routes()

PAGE_LENGTH = 50
MAX_ACTIVE = 200
DELIVERIES = 100
GREATEST_NUMBER = 2**31 - 1
ENDED_STATES: tuple[RunState, ...] = ("success", "partial", "failed", "cancelled", "missed")
Number = Annotated[int, Query(ge=0, le=GREATEST_NUMBER)]


@routes.get("/runs", door=SIGNED_IN)
async def show_runs(
    site: CurrentSite, caller: CurrentCaller, reminder: UUID | None = None, before: str = ""
) -> Response:
    """Show those under way first, and then those that have ended, newest first."""
    below = read_time_cursor(before, RunCursor)
    async with site.transaction() as tx:
        active = (
            []
            if before
            else await list_runs(tx, reminder_id=reminder, states=ACTIVE_STATES, limit=MAX_ACTIVE)
        )
        found = await list_runs(
            tx, reminder_id=reminder, states=ENDED_STATES, below=below, limit=PAGE_LENGTH + 1
        )
    ended, following = cut_page(found, PAGE_LENGTH, lambda run: time_cursor(run.created_at, run.id))
    query = {"reminder": str(reminder)} if reminder else {}
    return site.renderer.render(
        "runs.html",
        caller=caller,
        active=active,
        ended=ended,
        here=_address("/runs", query | ({"before": before} if before else {})),
        newest=_address("/runs", query) if before else "",
        following=_address("/runs", query | {"before": following}) if following else "",
    )


def _address(path: str, query: dict[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path


@routes.get("/runs/{run_id}", door=SIGNED_IN)
async def show_run(
    site: CurrentSite,
    caller: CurrentCaller,
    run_id: UUID,
    state: DeliveryState | None = None,
    after: Number = 0,
) -> Response:
    return await _page(site, caller, run_id, state=state, after=after)


@routes.post("/runs/{run_id}/pause", door=SIGNED_IN)
async def pause(site: CurrentSite, caller: CurrentCaller, run_id: UUID) -> Response:
    return await _change(site, caller, run_id, lambda tx: controls.pause(tx, run_id))


@routes.post("/runs/{run_id}/resume", door=SIGNED_IN)
async def resume(site: CurrentSite, caller: CurrentCaller, run_id: UUID) -> Response:
    now = site.parts.clock.now()
    return await _change(site, caller, run_id, lambda tx: controls.resume(tx, run_id, now=now))


@routes.get("/runs/{run_id}/cancel", door=SIGNED_IN)
async def ask_cancel(site: CurrentSite, caller: CurrentCaller, run_id: UUID) -> Response:
    async with site.transaction() as tx:
        run = await controls.get_run(tx, run_id)
    confirmation = Confirmation(
        about=run.title,
        back=f"/runs/{run_id}",
        question="Cancel this run?",
        texts=[f"{amount(run.pending, 'group')} will not get the message. What is being sent still arrives."],
        action=f"/runs/{run_id}/cancel",
        button="Cancel the run",
        is_grave=True,
    )
    return ask(site, caller, confirmation)


@routes.post("/runs/{run_id}/cancel", door=SIGNED_IN)
async def cancel(site: CurrentSite, caller: CurrentCaller, run_id: UUID) -> Response:
    now = site.parts.clock.now()
    return await _change(site, caller, run_id, lambda tx: controls.cancel(tx, run_id, now=now))


@routes.get("/runs/{run_id}/retry", door=SIGNED_IN)
async def ask_retry(site: CurrentSite, caller: CurrentCaller, run_id: UUID) -> Response:
    async with site.transaction() as tx:
        run = await controls.get_run(tx, run_id)
    ticks: list[Checkbox] = []
    if run.skipped:
        label = f"Also {amount(run.skipped, 'skipped one')}"
        ticks.append(Checkbox("skipped", label, is_on=not run.failed))
    if run.uncertain:
        label = f"Also {amount(run.uncertain, 'uncertain one')}; it may arrive twice"
        ticks.append(Checkbox("uncertain", label))
    failed = f"{amount(run.failed, 'group')} failed and will be retried." if run.failed else "None failed."
    confirmation = Confirmation(
        about=run.title,
        back=f"/runs/{run_id}",
        question="Send again?",
        texts=[failed, "Messages that were sent are not repeated."],
        ticks=ticks,
        action=f"/runs/{run_id}/retry",
        button="Send again",
    )
    return ask(site, caller, confirmation)


@routes.post("/runs/{run_id}/retry", door=SIGNED_IN)
async def retry(
    site: CurrentSite,
    caller: CurrentCaller,
    run_id: UUID,
    skipped: Annotated[bool, Form()] = False,
    uncertain: Annotated[bool, Form()] = False,
) -> Response:
    now = site.parts.clock.now()
    return await _change(
        site,
        caller,
        run_id,
        lambda tx: controls.retry(tx, run_id, skipped=skipped, uncertain=uncertain, now=now),
    )


@routes.post("/runs/{run_id}/resolve", door=SIGNED_IN)
async def resolve(
    site: CurrentSite,
    caller: CurrentCaller,
    run_id: UUID,
    delivery: Annotated[int, Form(ge=0, le=GREATEST_NUMBER)] = 0,
    arrived: Annotated[bool, Form()] = False,
) -> Response:
    """Take a person's word for a message of which nobody knows whether it was sent."""
    now = site.parts.clock.now()
    return await _change(
        site, caller, run_id, lambda tx: controls.resolve(tx, run_id, delivery, arrived=arrived, now=now)
    )


@routes.get("/runs/{run_id}/send-rest", door=SIGNED_IN)
async def ask_send_rest(site: CurrentSite, caller: CurrentCaller, run_id: UUID) -> Response:
    async with site.transaction() as tx:
        run = await controls.get_run(tx, run_id)
        accounts = await list_accounts(tx)
    mine = next((one.platform for one in accounts if one.id == run.account_id), None)
    others = [one for one in accounts if one.id != run.account_id and mine in (None, one.platform)]
    rest = run.pending + run.failed + run.skipped
    confirmation = Confirmation(
        about=run.title,
        back=f"/runs/{run_id}",
        question="Send the rest from another account",
        texts=[
            f"{amount(rest, 'group')} that {run.account_name} did not reach get the message in a new run."
            if others
            else "There is no other account on this platform."
        ],
        choices=[Choice("account", "Account", [(str(one.id), one.name) for one in others])] if others else [],
        ticks=(
            [
                Checkbox(
                    "uncertain",
                    f"Also {amount(run.uncertain, 'uncertain one')}; it may arrive twice",
                )
            ]
            if run.uncertain and others
            else []
        ),
        action=f"/runs/{run_id}/send-rest",
        button="Send the rest",
        is_possible=bool(others),
    )
    return ask(site, caller, confirmation)


@routes.post("/runs/{run_id}/send-rest", door=SIGNED_IN)
async def pass_on(
    site: CurrentSite,
    caller: CurrentCaller,
    run_id: UUID,
    account: Annotated[UUID | None, Form()] = None,
    uncertain: Annotated[bool, Form()] = False,
) -> Response:
    async def begin(tx: Tx) -> str:
        if account is None:
            raise UserError("Choose the account that sends the rest.")
        new_id = await make_remainder_run(
            tx,
            run_id,
            account,
            include_uncertain=uncertain,
            ids=site.parts.ids,
            now=site.parts.clock.now(),
        )
        return f"/runs/{new_id}"

    return await _change(site, caller, run_id, begin)


async def _change(
    site: Site, caller: Caller, run_id: UUID, act: Callable[[Tx], Awaitable[object]]
) -> Response:
    """Do something to a run and go where it leads; if it cannot be done, show why beside the run."""
    try:
        async with site.transaction() as tx:
            target = await act(tx)
    except UserError as error:
        return await _page(site, caller, run_id, problem=str(error))
    return RedirectResponse(target if isinstance(target, str) else f"/runs/{run_id}", status_code=303)


async def _page(
    site: Site,
    caller: Caller,
    run_id: UUID,
    *,
    state: DeliveryState | None = None,
    after: int = 0,
    problem: str = "",
) -> Response:
    async with site.transaction() as tx:
        run = await controls.get_run(tx, run_id)
        figures = await get_figures(tx, run_id)
        causes = await count_errors(tx, run_id)
        outlook = await site.preflight.of_run(tx, run)
        found = await list_deliveries(tx, run_id, state=state, after=after, limit=DELIVERIES + 1)
    query = {"state": state} if state else {}
    following = {**query, "after": str(found[DELIVERIES - 1].number)} if len(found) > DELIVERIES else None
    page = site.renderer.render(
        "run.html",
        caller=caller,
        run=run,
        figures=figures,
        causes=causes,
        outlook=outlook,
        stripes=stripes(run.tally),
        rest=_rest(run),
        deliveries=found[:DELIVERIES],
        state=state,
        here=_address(f"/runs/{run_id}", {**query, **({"after": str(after)} if after else {})}),
        first=_address(f"/runs/{run_id}", dict(query)) if after else "",
        following="" if following is None else _address(f"/runs/{run_id}", following),
        problem=problem,
    )
    page.status_code = 422 if problem else 200
    return page


def _rest(run: RunLine) -> int:
    """Return how many groups another account could still send to."""
    return run.pending + run.failed + run.skipped + run.uncertain
