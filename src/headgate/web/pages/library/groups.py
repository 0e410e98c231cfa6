"""What people do with a group: rename it, choose its cover, take members out, dissolve it, and undo that."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Form, Request, Response, UploadFile
from fastapi.responses import RedirectResponse

from headgate.catalogue.groups import covers, editing
from headgate.catalogue.groups.details import show_group
from headgate.ingest.inspecting.group_covers import MAX_COVER_BYTES, check_size
from headgate.web.callers import CurrentCaller
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.pages.confirmations import Confirmation, ask
from headgate.web.pages.library.addresses import layout_of, layout_of_form
from headgate.web.pages.library.drawer import answer_row
from headgate.web.parts import CurrentSite
from headgate.web.typed import AROUND_A_FILE_BYTES
from headgate.web.wording import amount

routes = Routes()

Text = Annotated[str, Form(max_length=5000)]


@routes.get("/library/groups/{group_id}/name", door=SIGNED_IN)
async def edit_name(site: CurrentSite, caller: CurrentCaller, group_id: UUID) -> Response:
    """Return the name as a form, for the place where it is shown."""
    async with site.transaction() as tx:
        group = await show_group(tx, group_id)
    return site.renderer.render("library_name.html", caller=caller, group=group)


@routes.post("/library/groups/{group_id}/name", door=SIGNED_IN)
async def rename(
    request: Request, site: CurrentSite, caller: CurrentCaller, group_id: UUID, name: Text = ""
) -> Response:
    async with site.transaction() as tx:
        await editing.rename_group(tx, group_id, name)
    return await answer_row(request, site, caller, group_id)


@routes.post("/library/groups/{group_id}/members/{item_id}/remove", door=SIGNED_IN)
async def remove_member(
    request: Request, site: CurrentSite, caller: CurrentCaller, group_id: UUID, item_id: UUID
) -> Response:
    """Take an item out of the group; it stays in the library."""
    async with site.transaction() as tx:
        left = await editing.remove_from_group(tx, group_id, [item_id], now=site.parts.clock.now())
    if left.dissolved and not request.headers.get("hx-target", "").startswith("row-"):
        return RedirectResponse(f"/items/{item_id}", status_code=303)
    return await answer_row(request, site, caller, group_id)


@routes.get("/library/groups/{group_id}/dissolve", door=SIGNED_IN)
async def ask_to_dissolve(
    request: Request, site: CurrentSite, caller: CurrentCaller, group_id: UUID
) -> Response:
    async with site.transaction() as tx:
        group = await show_group(tx, group_id)
    confirmation = Confirmation(
        about=group.name,
        back=f"/library/rows/{group_id}",
        question=f"Dissolve the group “{group.name}”?",
        action=f"/library/groups/{group_id}/dissolve",
        button="Dissolve",
        part="library",
        texts=(
            f"Its {amount(len(group.members), 'item')} stay in the library, each on its own.",
            "New files of the same album do not bring the group back. You can undo this.",
        ),
        carried={"layout": layout_of(request)},
        swaps=f"#row-{group_id}" if "hx-request" in request.headers else "",
    )
    return ask(site, caller, confirmation)


@routes.post("/library/groups/{group_id}/dissolve", door=SIGNED_IN)
async def dissolve(request: Request, site: CurrentSite, caller: CurrentCaller, group_id: UUID) -> Response:
    """Dissolve the group, and leave a way back in its place for as long as the page shows it."""
    async with site.transaction() as tx:
        done = await editing.dissolve_group(tx, group_id, now=site.parts.clock.now())
    if not request.headers.get("hx-target", "").startswith("row-"):
        return RedirectResponse(f"/library/groups/{group_id}/dissolved", status_code=303)
    layout = await layout_of_form(request)
    return site.renderer.render(
        "library_dissolved.html", caller=caller, done=done, group_id=group_id, layout=layout
    )


@routes.get("/library/groups/{group_id}/dissolved", door=SIGNED_IN)
async def show_dissolved(site: CurrentSite, caller: CurrentCaller, group_id: UUID) -> Response:
    """Say that a group was dissolved, with a way back; for browsers without scripts."""
    confirmation = Confirmation(
        about="The group was dissolved",
        back="/",
        question="The group was dissolved",
        action=f"/library/groups/{group_id}/restore",
        button="Undo",
        part="library",
        texts=("Its items are on their own now.",),
    )
    return ask(site, caller, confirmation)


@routes.post("/library/groups/{group_id}/restore", door=SIGNED_IN)
async def restore(request: Request, site: CurrentSite, caller: CurrentCaller, group_id: UUID) -> Response:
    """Undo that the group was dissolved."""
    async with site.transaction() as tx:
        await editing.restore_group(tx, group_id, now=site.parts.clock.now())
    return await answer_row(request, site, caller, group_id)


@routes.post(
    "/library/groups/{group_id}/cover",
    door=SIGNED_IN,
    largest_body_bytes=MAX_COVER_BYTES + AROUND_A_FILE_BYTES,
)
async def upload_cover(
    request: Request, site: CurrentSite, caller: CurrentCaller, group_id: UUID, file: UploadFile
) -> Response:
    """Show the group by a picture that somebody chose or dropped."""
    check_size(file.size)
    await site.parts.reader.covers.upload(site.transaction, group_id, await file.read(), ids=site.parts.ids)
    return await answer_row(request, site, caller, group_id)


@routes.post("/library/groups/{group_id}/cover/pick", door=SIGNED_IN)
async def pick_cover(
    request: Request,
    site: CurrentSite,
    caller: CurrentCaller,
    group_id: UUID,
    item: Annotated[UUID, Form()],
) -> Response:
    """Show the group by the picture of a member."""
    async with site.transaction() as tx:
        await covers.pick_cover(tx, group_id, item)
    return await answer_row(request, site, caller, group_id)


@routes.post("/library/groups/{group_id}/cover/reset", door=SIGNED_IN)
async def reset_cover(request: Request, site: CurrentSite, caller: CurrentCaller, group_id: UUID) -> Response:
    """Leave the cover to the members again."""
    async with site.transaction() as tx:
        await covers.reset_cover(tx, group_id)
    return await answer_row(request, site, caller, group_id)
