"""Creator and tags on the page of an item: changed in place, or on a page of their own without scripts."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse

from headgate.catalogue import labels
from headgate.catalogue.items import show_item
from headgate.catalogue.labels import LabelChange
from headgate.domain.errors import NotFound, UserError
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.parts import CurrentSite, Site

routes = Routes()

_MAX_FIELD = 5000
_UNKNOWN = UserError("This cannot be done here.", remedy="Load the page again.")


@routes.post("/items/{item_id}/labels", door=SIGNED_IN)
async def change(
    request: Request,
    site: CurrentSite,
    caller: CurrentCaller,
    item_id: UUID,
    do: Annotated[str, Form(max_length=50)] = "",
    creator: Annotated[str, Form(max_length=_MAX_FIELD)] = "",
    tags: Annotated[str, Form(max_length=_MAX_FIELD)] = "",
) -> Response:
    """Set the creator, or add, remove or reset tags; several tags are separated by commas."""
    problem: UserError | None = None
    try:
        async with site.transaction() as tx:
            wish = _read(do, creator=creator, tags=tags)
            await labels.change_labels(tx, [item_id], wish, now=site.parts.clock.now())
    except NotFound:
        raise
    except UserError as error:
        problem = error
    by_script = "hx-request" in request.headers
    if problem is None and not by_script:
        return RedirectResponse(f"/items/{item_id}#labels", status_code=303)
    page = await _render(site, caller, item_id, problem, typed={"creator": creator, "tags": tags})
    # Of answers that refuse, htmx shows nothing; the reason is beside the form.
    page.status_code = 422 if problem and not by_script else 200
    return page


def _read(do: str, *, creator: str, tags: str) -> LabelChange:
    names = tuple(name.strip() for name in tags.split(",") if name.strip())
    changes = {
        "creator": LabelChange(creator=creator),
        "no-creator": LabelChange(creator=""),
        "reset-creator": LabelChange(reset_creator=True),
        "add": LabelChange(add=names),
        "remove": LabelChange(remove=names),
        "reset": LabelChange(reset=names),
    }
    if do not in changes:
        raise _UNKNOWN
    if do == "add" and not names:
        raise UserError("Type at least one tag.", field="tags")
    if do == "creator" and not creator.strip():
        raise UserError("Type a name.", field="creator")
    return changes[do]


async def _render(
    site: Site, caller: Caller, item_id: UUID, problem: UserError | None, *, typed: dict[str, str]
) -> Response:
    async with site.transaction() as tx:
        details = await show_item(tx, item_id)
    return site.renderer.render(
        "item_labels_page.html",
        caller=caller,
        details=details,
        item=details.item,
        label_problem=problem,
        label_typed=typed if problem else {},
        label_open=True,
    )
