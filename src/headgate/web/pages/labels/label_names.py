"""Creators and tags in use: how many items have each, and renaming and merging them."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from fastapi import Form, Response
from fastapi.responses import RedirectResponse

from headgate.catalogue import labels
from headgate.catalogue.labels import COUNT_CAP
from headgate.domain.errors import UserError
from headgate.domain.library.label_rules import LabelKind
from headgate.domain.text import typed_text
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import ADMIN, SIGNED_IN, Routes
from headgate.web.parts import CurrentSite, Site

routes = Routes()

PAGE_LENGTH = 50
HOME = "/labels"
Text = Annotated[str, Form(max_length=5000)]


@routes.get("/labels", door=SIGNED_IN)
async def show_names(
    site: CurrentSite, caller: CurrentCaller, kind: str = "", q: str = "", after: str = ""
) -> Response:
    return await _render(site, caller, _kind(kind), q=typed_text(q), after=typed_text(after, max_length=500))


@routes.post("/labels/rename", door=ADMIN)
async def rename(
    site: CurrentSite, caller: CurrentCaller, kind: Text = "", name: Text = "", to: Text = "", q: Text = ""
) -> Response:
    try:
        async with site.transaction() as tx:
            await labels.rename(tx, _kind(kind), name, to=to)
    except UserError as error:
        return await _render(site, caller, _kind(kind), q=typed_text(q), problem=error)
    return _back(kind, q)


@routes.post("/labels/restore", door=ADMIN)
async def restore(
    site: CurrentSite, caller: CurrentCaller, kind: Text = "", name: Text = "", q: Text = ""
) -> Response:
    try:
        async with site.transaction() as tx:
            await labels.restore_name(tx, _kind(kind), name)
    except UserError as error:
        return await _render(site, caller, _kind(kind), q=typed_text(q), problem=error)
    return _back(kind, q)


def _kind(typed: str) -> LabelKind:
    return "tag" if typed == "tag" else "creator"


def _back(kind: str, q: str) -> Response:
    search = typed_text(q)
    query = urlencode({"kind": _kind(kind), **({"q": search} if search else {})})
    return RedirectResponse(f"{HOME}?{query}", status_code=303)


async def _render(
    site: Site,
    caller: Caller,
    kind: LabelKind,
    *,
    q: str = "",
    after: str = "",
    problem: UserError | None = None,
) -> Response:
    async with site.transaction() as tx:
        page = await labels.list_names(tx, kind, search=q, after=after, limit=PAGE_LENGTH)
    following = urlencode({"kind": kind, "q": q, "after": page.next}) if page.next else ""
    shown = site.renderer.render(
        "label_names.html",
        caller=caller,
        kind=kind,
        search=q,
        names=page.names,
        following=following,
        count_cap=COUNT_CAP,
        problem=problem,
    )
    shown.status_code = 422 if problem else 200
    return shown
