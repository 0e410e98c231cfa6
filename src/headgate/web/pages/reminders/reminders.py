"""Reminders: the plans, what each has done, and what people do to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Form, Response
from fastapi.responses import RedirectResponse

from headgate.domain.errors import UserError
from headgate.domain.reminders.recurrence import next_fires
from headgate.domain.text import typed_text
from headgate.outflow.reminders import reminders
from headgate.outflow.reminders.drafts import draft_of
from headgate.outflow.reminders.preflight import Outlook
from headgate.outflow.reminders.previews import FIRES, Preview, preview
from headgate.outflow.reminders.runs import UnderWay, make_run, make_test_run
from headgate.storage.database import Tx
from headgate.storage.reminders.reminder_overview import FullReminder, ReminderCursor, list_reminders
from headgate.storage.reminders.targets import find_targets, search_targets
from headgate.storage.sending.run_making import find_run_under_way
from headgate.storage.sending.run_overview import list_runs
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.cursors import cut_page, read_time_cursor, time_cursor
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.pages.confirmations import Choice, Confirmation, ask
from headgate.web.parts import CurrentSite, Site

routes = Routes()

PAGE_LENGTH = 50
HISTORY = 20
MAX_SUGGESTED = 500
Shown = Literal["active", "paused", "archived", "all"]


@routes.get("/reminders", door=SIGNED_IN)
async def show_reminders(
    site: CurrentSite, caller: CurrentCaller, state: Shown = "all", before: str = ""
) -> Response:
    below = read_time_cursor(before, ReminderCursor)
    async with site.transaction() as tx:
        found = await list_reminders(
            tx, state=None if state == "all" else state, below=below, limit=PAGE_LENGTH + 1
        )
    lines, following = cut_page(found, PAGE_LENGTH, lambda line: time_cursor(line.created_at, line.id))
    return site.renderer.render(
        "reminders.html",
        caller=caller,
        lines=lines,
        state=state,
        before=before,
        following=following,
    )


@routes.get("/reminders/{reminder_id}", door=SIGNED_IN)
async def show_reminder(site: CurrentSite, caller: CurrentCaller, reminder_id: UUID) -> Response:
    return await _page(site, caller, reminder_id)


@routes.post("/reminders/{reminder_id}/pause", door=SIGNED_IN)
async def pause(site: CurrentSite, caller: CurrentCaller, reminder_id: UUID) -> Response:
    now = site.parts.clock.now()
    return await _change(site, caller, reminder_id, lambda tx: reminders.pause(tx, reminder_id, now=now))


@routes.post("/reminders/{reminder_id}/resume", door=SIGNED_IN)
async def resume(site: CurrentSite, caller: CurrentCaller, reminder_id: UUID) -> Response:
    now = site.parts.clock.now()
    return await _change(site, caller, reminder_id, lambda tx: reminders.resume(tx, reminder_id, now=now))


@routes.post("/reminders/{reminder_id}/archive", door=SIGNED_IN)
async def archive(site: CurrentSite, caller: CurrentCaller, reminder_id: UUID) -> Response:
    now = site.parts.clock.now()
    return await _change(site, caller, reminder_id, lambda tx: reminders.archive(tx, reminder_id, now=now))


@routes.post("/reminders/{reminder_id}/unarchive", door=SIGNED_IN)
async def unarchive(site: CurrentSite, caller: CurrentCaller, reminder_id: UUID) -> Response:
    now = site.parts.clock.now()
    return await _change(site, caller, reminder_id, lambda tx: reminders.unarchive(tx, reminder_id, now=now))


@routes.post("/reminders/{reminder_id}/duplicate", door=SIGNED_IN)
async def duplicate(site: CurrentSite, caller: CurrentCaller, reminder_id: UUID) -> Response:
    """Make a paused copy, and go on with changing it."""

    async def copy(tx: Tx) -> str:
        new_id = await reminders.duplicate(tx, reminder_id, ids=site.parts.ids, now=site.parts.clock.now())
        return f"/reminders/{new_id}/edit"

    return await _change(site, caller, reminder_id, copy)


@routes.get("/reminders/{reminder_id}/delete", door=SIGNED_IN)
async def ask_delete(site: CurrentSite, caller: CurrentCaller, reminder_id: UUID) -> Response:
    async with site.transaction() as tx:
        known = (await reminders.get(tx, reminder_id)).reminder
    confirmation = Confirmation(
        about=known.title,
        back=f"/reminders/{reminder_id}",
        question="Delete this reminder?",
        texts=["This deletes its messages and the history of its runs. Archive it to keep them."],
        action=f"/reminders/{reminder_id}/delete",
        button="Delete reminder",
        is_grave=True,
    )
    return ask(site, caller, confirmation)


@routes.post("/reminders/{reminder_id}/delete", door=SIGNED_IN)
async def delete(site: CurrentSite, caller: CurrentCaller, reminder_id: UUID) -> Response:
    async def remove(tx: Tx) -> str:
        await reminders.delete(tx, reminder_id)
        return "/reminders"

    return await _change(site, caller, reminder_id, remove)


@routes.get("/reminders/{reminder_id}/run", door=SIGNED_IN)
async def ask_run(site: CurrentSite, caller: CurrentCaller, reminder_id: UUID) -> Response:
    """Tell what would become of a run that begins now, before it does."""
    async with site.transaction() as tx:
        known = (await reminders.get(tx, reminder_id)).reminder
        try:
            outlook = await site.preflight.of_reminder(tx, reminder_id, at_once=True)
            texts, warning = [outlook.text, *outlook.advice], ""
            if not outlook.reaches_all:
                texts, warning = list(outlook.advice), outlook.text
        except UserError as error:
            outlook, texts, warning = None, [], str(error)
        under_way = await find_run_under_way(tx, reminder_id)
    if under_way is not None:
        warning = " ".join(filter(None, [UnderWay(known.title, under_way).message, warning]))
    confirmation = Confirmation(
        about=known.title,
        back=f"/reminders/{reminder_id}",
        question="Send it again?" if under_way else "Run now?",
        texts=texts,
        warning=warning,
        action=f"/reminders/{reminder_id}/run",
        button="Run now",
        carried={"run_id": str(site.parts.ids.new()), "beside": "yes" if under_way else ""},
        is_possible=outlook is not None,
    )
    return ask(site, caller, confirmation)


@routes.post("/reminders/{reminder_id}/run", door=SIGNED_IN)
async def run_now(
    site: CurrentSite,
    caller: CurrentCaller,
    reminder_id: UUID,
    run_id: Annotated[UUID | None, Form()] = None,
    beside: Annotated[str, Form()] = "",
) -> Response:
    """Begin a run, once for each time that it was asked about."""
    now = site.parts.clock.now()

    async def begin(tx: Tx) -> str:
        made_id = await make_run(
            tx,
            reminder_id,
            trigger="person",
            fire_at=now,
            now=now,
            ids=site.parts.ids,
            run_id=run_id,
            beside=bool(beside),
        )
        return f"/runs/{made_id}"

    return await _change(site, caller, reminder_id, begin)


@routes.get("/reminders/{reminder_id}/test", door=SIGNED_IN)
async def ask_test(site: CurrentSite, caller: CurrentCaller, reminder_id: UUID) -> Response:
    async with site.transaction() as tx:
        known = (await reminders.get(tx, reminder_id)).reminder
        found = await search_targets(tx, account_id=known.account_id, limit=MAX_SUGGESTED)
    confirmation = Confirmation(
        about=known.title,
        back=f"/reminders/{reminder_id}",
        question="Send a test to one group",
        texts=["It is sent at once, at any hour, and does not count as a run."],
        choices=[Choice("target", "Group", [(one.title, "") for one in found], typed=True)],
        action=f"/reminders/{reminder_id}/test",
        button="Send test",
    )
    return ask(site, caller, confirmation)


@routes.post("/reminders/{reminder_id}/test", door=SIGNED_IN)
async def send_test(
    site: CurrentSite,
    caller: CurrentCaller,
    reminder_id: UUID,
    target: Annotated[str, Form()] = "",
) -> Response:
    now = site.parts.clock.now()

    async def begin(tx: Tx) -> str:
        platform = (await reminders.get(tx, reminder_id)).reminder.platform
        target_id = await _find_one(tx, typed_text(target), platform=platform)
        return f"/runs/{await make_test_run(tx, reminder_id, target_id, ids=site.parts.ids, now=now)}"

    return await _change(site, caller, reminder_id, begin)


async def _find_one(tx: Tx, reference: str, *, platform: str) -> UUID:
    """Return the group that a person named by title or key."""
    found = await find_targets(tx, [reference], platform=platform) if reference else []
    if not found:
        raise UserError(f"There is no group “{reference}” to test with.", remedy="Choose one of those shown.")
    if len(found) > 1:
        keys = ", ".join(one.key for one in found[:5])
        raise UserError(
            f"{len(found)} groups are called “{reference}”.", remedy=f"Name one by its key: {keys}."
        )
    return found[0].id


async def _change(
    site: Site, caller: Caller, reminder_id: UUID, act: Callable[[Tx], Awaitable[object]]
) -> Response:
    """Do something to a reminder and go where it leads; if it cannot be done, show why beside it."""
    try:
        async with site.transaction() as tx:
            target = await act(tx)
    except UserError as error:
        return await _page(site, caller, reminder_id, problem=str(error))
    path = target if isinstance(target, str) else f"/reminders/{reminder_id}"
    return RedirectResponse(path, status_code=303)


async def _page(site: Site, caller: Caller, reminder_id: UUID, *, problem: str = "") -> Response:
    now = site.parts.clock.now()
    async with site.transaction() as tx:
        full = await reminders.get(tx, reminder_id)
        seen, outlook, trouble = await _foresee(site, tx, full)
        runs = await list_runs(tx, reminder_id=reminder_id, limit=HISTORY + 1)
    known = full.reminder
    fires = next_fires(known.schedule, known.zone, after=now, count=FIRES) if known.state == "active" else []
    page = site.renderer.render(
        "reminder.html",
        caller=caller,
        full=full,
        reminder=known,
        fires=fires,
        preview=seen,
        outlook=outlook,
        trouble=trouble,
        runs=runs[:HISTORY],
        has_older=len(runs) > HISTORY,
        problem=problem,
    )
    page.status_code = 422 if problem else 200
    return page


async def _foresee(site: Site, tx: Tx, full: FullReminder) -> tuple[Preview | None, Outlook | None, str]:
    """Return what a reminder will send and how far it will come, or why it cannot."""
    draft = draft_of(full)
    try:
        seen = await preview(tx, draft, now=site.parts.clock.now(), known=True)
        return seen, await site.preflight.of_draft(tx, draft) if full.reminder.due_at else None, ""
    except UserError as error:
        return None, None, str(error)
