"""What people do with selected rows and members: group, tag, fetch, drop or remove them.

The bar asks first where something has to be chosen or cannot be undone; the question carries the selection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated
from uuid import UUID

from fastapi import Form, Response
from fastapi.responses import RedirectResponse

from headgate.catalogue.files import drop_items, fetch_items, remove_items
from headgate.catalogue.groups import editing
from headgate.catalogue.labels import LabelChange, list_names
from headgate.catalogue.shelf.listing import list_rows
from headgate.catalogue.shelf.row_files import list_things
from headgate.domain.errors import UserError
from headgate.storage.database import Tx
from headgate.storage.groups.groups import find_by_name
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import ADMIN, SIGNED_IN, Routes
from headgate.web.pages.confirmations import Choice, Confirmation, ask
from headgate.web.pages.library.sends import ask_for_target
from headgate.web.parts import CurrentSite
from headgate.web.typed import local_path
from headgate.web.wording import amount

routes = Routes()

MAX_PICKED = 2000
MAX_GROUPS = 200
MAX_SUGGESTED = 200
Picked = Annotated[list[UUID], Form(max_length=MAX_PICKED, default_factory=list)]
Text = Annotated[str, Form(max_length=5000)]
Things = Annotated[str, Form(max_length=MAX_PICKED * 37)]
_UNKNOWN = UserError("This cannot be done here.", remedy="Load the page again.")


@routes.post("/library/selected", door=SIGNED_IN)
async def ask_about_selected(
    site: CurrentSite, caller: CurrentCaller, pick: Picked, do: Text = "", back: Text = "/"
) -> Response:
    """Ask what there is to ask before an action on what is selected."""
    if not pick:
        raise UserError("Nothing is selected.", remedy="Select something first.", field="items")
    async with site.transaction() as tx:
        confirmation = await _question(tx, caller, do, pick, back=local_path(back))
    return ask(site, caller, confirmation)


@routes.post("/library/selected/group", door=SIGNED_IN)
async def group_selected(
    site: CurrentSite, things: Things = "", name: Text = "", back: Text = "/"
) -> Response:
    parts = site.parts
    async with site.transaction() as tx:
        made = await editing.create_group(tx, _read(things), name=name, ids=parts.ids, now=parts.clock.now())
    return _back(back, row_id=made.id)


@routes.post("/library/selected/add", door=SIGNED_IN)
async def add_selected(
    site: CurrentSite, things: Things = "", group: Annotated[UUID | None, Form()] = None, back: Text = "/"
) -> Response:
    if group is None:
        raise UserError("Choose a group.", field="group")
    async with site.transaction() as tx:
        await editing.add_to_group(tx, group, _read(things), now=site.parts.clock.now())
    return _back(back, row_id=group)


@routes.post("/library/selected/tag", door=SIGNED_IN)
async def tag_selected(site: CurrentSite, things: Things = "", tags: Text = "", back: Text = "/") -> Response:
    """Add tags to everything that is selected; several are separated by commas."""
    names = tuple(name.strip() for name in tags.split(",") if name.strip())
    if not names:
        raise UserError("Type at least one tag.", field="tags")
    async with site.transaction() as tx:
        items = await list_things(tx, _read(things))
        await editing.label_things(tx, items, LabelChange(add=names), now=site.parts.clock.now())
    return _back(back)


@routes.post("/library/selected/fetch", door=SIGNED_IN)
async def fetch_selected(site: CurrentSite, pick: Picked, back: Text = "/") -> Response:
    """Download the files of everything that is selected before others."""
    async with site.transaction() as tx:
        await fetch_items(tx, await list_things(tx, pick), now=site.parts.clock.now())
    return _back(back)


@routes.post("/library/selected/drop", door=ADMIN)
async def drop_selected(site: CurrentSite, things: Things = "", back: Text = "/") -> Response:
    async with site.transaction() as tx:
        freed = await drop_items(tx, await list_things(tx, _read(things)), now=site.parts.clock.now())
    return _back(back, freed_bytes=freed.bytes)


@routes.post("/library/selected/remove", door=ADMIN)
async def remove_selected(site: CurrentSite, things: Things = "", back: Text = "/") -> Response:
    async with site.transaction() as tx:
        freed = await remove_items(tx, await list_things(tx, _read(things)), now=site.parts.clock.now())
    return _back(back, freed_bytes=freed.bytes)


async def _question(tx: Tx, caller: Caller, do: str, picked: Sequence[UUID], *, back: str) -> Confirmation:
    plain = Confirmation(
        about=f"{amount(len(picked), 'thing')} selected",
        back=back,
        question="",
        action=f"/library/selected/{do}",
        button="",
        part="library",
        carried={"things": ",".join(map(str, picked)), "back": back},
    )
    match do:
        case "group":
            return await _ask_for_name(tx, plain, picked)
        case "add":
            return await _ask_for_group(tx, plain, picked)
        case "tag":
            return await _ask_for_tags(tx, plain)
        case "send":
            return await ask_for_target(tx, caller, plain, picked)
        case "drop" if caller.is_admin:
            return await _ask_to_drop(tx, plain, picked)
        case "remove" if caller.is_admin:
            return await _ask_to_remove(tx, plain, picked)
        case _:
            raise _UNKNOWN


async def _ask_for_name(tx: Tx, plain: Confirmation, picked: Sequence[UUID]) -> Confirmation:
    names = dict.fromkeys(row.name for row in await list_rows(tx, picked))
    return replace(
        plain,
        question="Group what is selected",
        button="Group",
        texts=("The items leave the groups that they are in.",),
        choices=(Choice("name", "Name of the group", [(name, "") for name in names], typed=True),),
    )


async def _ask_for_group(tx: Tx, plain: Confirmation, picked: Sequence[UUID]) -> Confirmation:
    """Offer the groups among what is selected first: adding to one of them merges the others into it."""
    chosen = [(str(row.id), row.name) for row in await list_rows(tx, picked) if row.group_id]
    others = await find_by_name(tx, pattern=None, limit=MAX_GROUPS)
    options = dict([*chosen, *((str(group.id), group.name) for group in others)])
    if not options:
        return replace(
            plain,
            question="There is no group yet",
            texts=("Select two or more things and group them first.",),
            is_possible=False,
        )
    return replace(
        plain,
        question="Add what is selected to a group",
        button="Add",
        texts=("The items leave the groups that they are in.",),
        choices=(Choice("group", "Group", list(options.items())),),
    )


async def _ask_for_tags(tx: Tx, plain: Confirmation) -> Confirmation:
    used = await list_names(tx, "tag", limit=MAX_SUGGESTED)
    return replace(
        plain,
        question="Tag what is selected",
        button="Add tags",
        texts=("Separate several tags by commas.",),
        choices=(Choice("tags", "Tags", [(tag.name, "") for tag in used.names], typed=True),),
    )


async def _ask_to_drop(tx: Tx, plain: Confirmation, picked: Sequence[UUID]) -> Confirmation:
    items = await list_things(tx, picked)
    return replace(
        plain,
        question=f"Delete the stored files of {amount(len(items), 'item')}?",
        button="Delete files",
        texts=("The items stay listed; their files can be downloaded again while their messages exist.",),
        is_grave=True,
    )


async def _ask_to_remove(tx: Tx, plain: Confirmation, picked: Sequence[UUID]) -> Confirmation:
    items = await list_things(tx, picked)
    return replace(
        plain,
        question=f"Remove {amount(len(items), 'item')} for ever?",
        button="Remove for ever",
        texts=("Their stored files are deleted, and the same content does not come back to its channel.",),
        is_grave=True,
    )


def _read(things: str) -> list[UUID]:
    """Return the ids that a question carried."""
    try:
        return [UUID(one) for one in things.split(",") if one]
    except ValueError:
        raise _UNKNOWN from None


def _back(back: str, *, row_id: UUID | None = None, freed_bytes: int | None = None) -> Response:
    """Return to the list: to a row of it, or with what was freed."""
    target = local_path(back)
    if freed_bytes is not None:
        target += f"{'&' if '?' in target else '?'}freed={freed_bytes}"
    return RedirectResponse(f"{target}#row-{row_id}" if row_id else target, status_code=303)
