"""Sending things of the library on: the question where to, and what became of each request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated
from uuid import UUID

from fastapi import Form, Response
from fastapi.responses import RedirectResponse

from headgate.catalogue.shelf.row_files import list_things
from headgate.domain.errors import UserError
from headgate.outflow.library_sends import actions
from headgate.outflow.library_sends.actions import SendWish
from headgate.storage.database import Tx
from headgate.storage.library_sends.overview import RequestCursor, get_own_target, list_requests
from headgate.storage.reminders.targets import search_targets
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.cursors import cut_page, read_time_cursor, time_cursor
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.pages.confirmations import Checkbox, Choice, Confirmation, ask
from headgate.web.parts import CurrentSite
from headgate.web.typed import local_path
from headgate.web.wording import amount

routes = Routes()

PAGE_LENGTH = 50
MAX_TARGETS = 500
MAX_THINGS_BYTES = 100_000
Text = Annotated[str, Form(max_length=5000)]
_UNKNOWN = UserError("This cannot be done here.", remedy="Load the page again.")


@routes.get("/library/rows/{row_id}/send", door=SIGNED_IN)
async def ask_where(site: CurrentSite, caller: CurrentCaller, row_id: UUID) -> Response:
    """Ask where everything behind a row is to be sent."""
    plain = Confirmation(
        about="Send",
        back=f"/library/rows/{row_id}",
        question="",
        action="/library/sends",
        button="",
        part="library",
        carried={"things": str(row_id), "back": f"/library/rows/{row_id}"},
    )
    async with site.transaction() as tx:
        confirmation = await ask_for_target(tx, caller, plain, [row_id])
    return ask(site, caller, confirmation)


async def ask_for_target(tx: Tx, caller: Caller, plain: Confirmation, things: Sequence[UUID]) -> Confirmation:
    """Return the question where to; a user's own chat is the first choice."""
    items = await list_things(tx, things)
    own = await get_own_target(tx, caller.user_id)
    targets = await search_targets(tx, limit=MAX_TARGETS)
    options = [("own", f"My chat: {own.target_title}")] if own else []
    options += [(str(target.id), target.title) for target in targets]
    if not options:
        return replace(
            plain,
            question="There is nowhere to send to yet",
            texts=("Add an account that can write, and refresh its targets.",),
            is_possible=False,
        )
    return replace(
        plain,
        question=f"Send {amount(len(items), 'item')} to",
        action="/library/sends",
        button="Send" if len(items) == 1 else "Send all",
        texts=("What is already on its way there is not sent twice.",),
        choices=(Choice("target", "Target", options),),
        ticks=(Checkbox("remember", "Use as my own chat from now on"),),
    )


@routes.post("/library/sends", door=SIGNED_IN)
async def send(
    site: CurrentSite,
    caller: CurrentCaller,
    things: Annotated[str, Form(max_length=MAX_THINGS_BYTES)] = "",
    target: Text = "",
    remember: Text = "",
    back: Text = "/",
) -> Response:
    """Ask for things to be sent on; each goes its own way from here."""
    parts, user_id = site.parts, caller.user_id
    now = parts.clock.now()
    async with site.transaction() as tx:
        items = await list_things(tx, _read_ids(things))
        if target == "own":
            await actions.send_to_own_chat(tx, user_id, item_ids=items, ids=parts.ids, now=now)
        else:
            wish = SendWish(_read_ids(target)[0], items, user_id=user_id)
            await actions.send_things(tx, wish, ids=parts.ids, now=now)
            if remember:
                await actions.choose_own_chat(tx, user_id, target_id=wish.target_id)
    place = local_path(back)
    return RedirectResponse(f"{place}{'&' if '?' in place else '?'}sending={len(items)}", status_code=303)


@routes.get("/library/sends", door=SIGNED_IN)
async def show_sends(site: CurrentSite, caller: CurrentCaller, before: str = "") -> Response:
    """Show what is being sent on and what became of it, newest first."""
    async with site.transaction() as tx:
        found = await list_requests(tx, below=read_time_cursor(before, RequestCursor), limit=PAGE_LENGTH + 1)
        own = await get_own_target(tx, caller.user_id)
    sends, following = cut_page(found, PAGE_LENGTH, lambda one: time_cursor(one.created_at, one.id))
    return site.renderer.render(
        "library_sends.html", caller=caller, sends=sends, own=own, before=before, following=following
    )


@routes.post("/library/sends/{request_id}", door=SIGNED_IN)
async def change(
    site: CurrentSite, request_id: UUID, do: Text = "", back: Text = "/library/sends"
) -> Response:
    """Cancel a request, retry it, or say whether an uncertain message arrived."""
    now = site.parts.clock.now()
    async with site.transaction() as tx:
        match do:
            case "cancel":
                await actions.cancel_request(tx, request_id, now=now)
            case "retry":
                await actions.retry_request(tx, request_id, now=now)
            case "arrived" | "again":
                await actions.resolve_request(tx, request_id, arrived=do == "arrived", now=now)
            case _:
                raise _UNKNOWN
    return RedirectResponse(local_path(back), status_code=303)


def _read_ids(text: str) -> list[UUID]:
    try:
        return [UUID(one) for one in text.split(",")]
    except ValueError:
        raise _UNKNOWN from None
