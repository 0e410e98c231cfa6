"""The form in which a reminder is planned and changed.

Every button of it sends the whole form to the same address and gets the whole page back, with what it did.
Pages with scripts take over only the piece that changed; without scripts it works all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from uuid import UUID

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData, UploadFile

from headgate.domain.errors import NotFound, UserError
from headgate.domain.reminders.recurrence import Schedule
from headgate.domain.reminders.templates import VARIABLES
from headgate.domain.wall_time import list_zones
from headgate.outflow.reminders import reminders, targets
from headgate.outflow.reminders.drafts import MAX_PARTS, MAX_TARGETS, MAX_TEXT, MAX_TITLE
from headgate.outflow.reminders.media import MAX_MEDIA_BYTES, add_media, check_size
from headgate.storage.channels.channels import list_accounts
from headgate.storage.database import Tx
from headgate.storage.reminders.media import list_media
from headgate.storage.reminders.reminder_overview import list_first_titles
from headgate.storage.reminders.reminders import Reminder
from headgate.storage.reminders.target_lists import list_lists
from headgate.storage.reminders.targets import search_targets
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.pages.reminders.reminder_form import DAYS, REPEATS, ReminderInput, read_typed
from headgate.web.pages.reminders.reminder_judging import judge, preview_form
from headgate.web.parts import CurrentSite, Site
from headgate.web.typed import read_form

routes = Routes()

MAX_FOUND = 60
NAMED = 5
_FILES_AT_ONCE = 4
MAX_FORM_BYTES = _FILES_AT_ONCE * MAX_MEDIA_BYTES + 8 * 1000 * 1000


@dataclass(frozen=True)
class Sheet:
    """A form on its way back to the person: what it holds, what is wrong, and what was done."""

    typed: ReminderInput
    reminder: Reminder | None = None
    """Empty for a new one."""
    problems: dict[str, str] = field(default_factory=dict[str, str])
    done: str = ""
    fresh: bool = False
    """Nobody has typed anything yet: the time zone may be guessed."""
    focus: int = 0
    """The message to write next."""
    fragment: bool = False
    """A script asked, which takes over a piece of the page."""

    @property
    def address(self) -> str:
        return "/reminders/new" if self.reminder is None else f"/reminders/{self.reminder.id}/edit"

    @property
    def known(self) -> tuple[Schedule, str] | None:
        return None if self.reminder is None else (self.reminder.schedule, self.reminder.zone)


@routes.get("/reminders/new", door=SIGNED_IN)
async def show_new(site: CurrentSite, caller: CurrentCaller) -> Response:
    async with site.transaction() as tx:
        accounts = await list_accounts(tx)
    only = accounts[0].id if len(accounts) == 1 else None
    return await _page(site, caller, Sheet(ReminderInput(account_id=only), fresh=True))


@routes.post("/reminders/new", door=SIGNED_IN, largest_body_bytes=MAX_FORM_BYTES)
async def change_new(request: Request, site: CurrentSite, caller: CurrentCaller) -> Response:
    return await _answer(request, site, caller, None)


@routes.get("/reminders/{reminder_id}/edit", door=SIGNED_IN)
async def show_known(site: CurrentSite, caller: CurrentCaller, reminder_id: UUID) -> Response:
    async with site.transaction() as tx:
        full = await reminders.get(tx, reminder_id)
    return await _page(site, caller, Sheet(ReminderInput.of(full), full.reminder))


@routes.post("/reminders/{reminder_id}/edit", door=SIGNED_IN, largest_body_bytes=MAX_FORM_BYTES)
async def change_known(
    request: Request, site: CurrentSite, caller: CurrentCaller, reminder_id: UUID
) -> Response:
    async with site.transaction() as tx:
        full = await reminders.get(tx, reminder_id)
    return await _answer(request, site, caller, full.reminder)


async def _answer(request: Request, site: Site, caller: Caller, reminder: Reminder | None) -> Response:
    form = await read_form(request)
    sheet = Sheet(read_typed(form), reminder, fragment="hx-request" in request.headers)
    sheet = await _store_files(site, sheet, form)
    wish = form.get("do")
    if wish == "save":
        return await _save(site, caller, sheet)
    async with site.transaction() as tx:
        sheet = await _carry_out(site, tx, sheet, wish if isinstance(wish, str) else "")
    return await _page(site, caller, sheet)


async def _store_files(site: Site, sheet: Sheet, form: FormData) -> Sheet:
    """Keep what was uploaded, whatever else is wrong: nobody wants to choose a file twice."""
    typed, problems = sheet.typed, dict(sheet.problems)
    for number in range(1, len(typed.parts) + 1):
        file = form.get(f"file-{number}")
        if not isinstance(file, str) and file is not None and file.filename:
            try:
                typed = typed.set_media(number, await _store(site, file))
            except UserError as error:
                problems[f"part-{number}"] = str(error)
    return replace(sheet, typed=typed, problems=problems)


async def _store(site: Site, file: UploadFile) -> UUID:
    name = file.filename or "file"
    check_size(name, file.size)
    content = await file.read()
    async with site.transaction() as tx:
        stored = await add_media(
            tx,
            content,
            name=name,
            declared_type=file.content_type or "",
            ids=site.parts.ids,
            now=site.parts.clock.now(),
        )
    return stored.id


async def _carry_out(site: Site, tx: Tx, sheet: Sheet, wish: str) -> Sheet:
    """Do what a button of the form says, but saving; an unknown one does nothing."""
    typed = sheet.typed
    deed, _, place = wish.partition(":")
    number = int(place) if place.isdecimal() and len(place) < 3 else 0
    match deed:
        case "part-add":
            return replace(sheet, typed=typed.add_part(), focus=len(typed.parts) + 1)
        case "part-remove":
            return replace(sheet, typed=typed.remove_part(number))
        case "part-up":
            return replace(sheet, typed=typed.move_part(number, -1))
        case "part-down":
            return replace(sheet, typed=typed.move_part(number, 1))
        case "file-remove":
            return replace(sheet, typed=typed.set_media(number, None))
        case "choose-found":
            return replace(sheet, typed=await _choose_found(tx, typed))
        case "choose-none":
            return replace(sheet, typed=replace(typed, chosen=(), only_chosen=False))
        case "save-list":
            return await _save_list(site, tx, sheet)
        case _:
            return sheet


async def _choose_found(tx: Tx, typed: ReminderInput) -> ReminderInput:
    found = await search_targets(
        tx, words=typed.words, account_id=typed.account_id, limit=MAX_TARGETS - len(typed.chosen)
    )
    return replace(typed, chosen=tuple(dict.fromkeys([*typed.chosen, *(one.id for one in found)])))


async def _save_list(site: Site, tx: Tx, sheet: Sheet) -> Sheet:
    """Keep the ticked groups as a list, which takes their place in the reminder."""
    typed = sheet.typed
    if not typed.chosen:
        said = "No group is ticked that could be kept as a list."
        return replace(sheet, problems={**sheet.problems, "list_name": said})
    try:
        list_id = await targets.create_list(
            tx, typed.list_name, typed.chosen, ids=site.parts.ids, now=site.parts.clock.now()
        )
    except UserError as error:
        return replace(sheet, problems={**sheet.problems, "list_name": str(error)})
    name = " ".join(typed.list_name.split())
    kept = replace(typed, chosen=(), lists=(*typed.lists, list_id), list_name="", only_chosen=False)
    return replace(sheet, typed=kept, done=f"The list “{name}” is saved, and chosen in place of its groups.")


async def _save(site: Site, caller: Caller, sheet: Sheet) -> Response:
    now = site.parts.clock.now()
    judged = judge(sheet.typed, now=now, known=sheet.known)
    problems = {**judged.problems, **sheet.problems}
    if judged.draft is None or problems:
        return await _page(site, caller, replace(sheet, problems=problems), status=422)
    try:
        async with site.transaction() as tx:
            if sheet.reminder is None:
                saved = await reminders.create(tx, judged.draft, ids=site.parts.ids, now=now)
            else:
                saved = await reminders.update(tx, sheet.reminder.id, judged.draft, now=now)
    except NotFound:
        raise
    except UserError as error:
        return await _page(site, caller, replace(sheet, problems={"all": str(error)}), status=422)
    return RedirectResponse(f"/reminders/{saved.id}", status_code=303)


async def _page(site: Site, caller: Caller, sheet: Sheet, *, status: int = 200) -> Response:
    typed = sheet.typed
    judged = judge(typed, now=site.parts.clock.now(), known=sheet.known)
    async with site.transaction() as tx:
        found = await search_targets(
            tx,
            words=typed.words,
            account_id=None if typed.only_chosen else typed.account_id,
            among=typed.chosen if typed.only_chosen else None,
            limit=MAX_FOUND + 1,
        )
        media_ids = [part.media_id for part in typed.parts if part.media_id is not None]
        page = site.renderer.render(
            "reminder_form.html",
            caller=caller,
            sheet=sheet,
            typed=typed,
            problems=sheet.problems,
            accounts=await list_accounts(tx),
            lists=await list_lists(tx),
            media={one.id: one for one in await list_media(tx, media_ids)},
            found=found[:MAX_FOUND],
            more=len(found) > MAX_FOUND,
            named=await list_first_titles(tx, target_ids=typed.chosen, list_ids=(), limit=NAMED),
            ahead=await preview_form(tx, site.preflight, typed, judged),
            zones=() if sheet.fragment else list_zones(),
            repeats=REPEATS,
            days=DAYS,
            variables=VARIABLES,
            largest_bytes=MAX_MEDIA_BYTES,
            longest_text=MAX_TEXT,
            longest_title=MAX_TITLE,
            most_parts=MAX_PARTS,
        )
    page.status_code = status
    return page
