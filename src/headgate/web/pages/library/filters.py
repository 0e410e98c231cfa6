"""The filters of the library as a form: opened in place, or on a page of their own without scripts."""

from __future__ import annotations

from fastapi import Request, Response

from headgate.catalogue.shelf.choices import list_choices
from headgate.domain.library.shelf_filters import KINDS, STATES, filter_pairs, parse_view
from headgate.web.callers import CurrentCaller
from headgate.web.door import SIGNED_IN, Routes
from headgate.web.pages.library.addresses import LibraryAddress, layout_of
from headgate.web.parts import CurrentSite

routes = Routes()

_SINGLE = ("from", "to", "min_size", "max_size", "ungrouped", "problems")
TYPES = ("zip", "rar", "7z", "tar", "stl", "3mf", "obj", "pdf", "epub", "jpg", "png", "mp4", "mp3", "flac")
"""Suggestions; others can be typed."""


@routes.get("/library/filters", door=SIGNED_IN)
async def show_filters(site: CurrentSite, request: Request, caller: CurrentCaller) -> Response:
    """Show what can be filtered by; values that are chosen already stay."""
    view = parse_view(request.url.query)
    pairs = filter_pairs(view.filters)
    async with site.transaction() as tx:
        choices = await list_choices(tx, view.filters)
    return site.renderer.render(
        "library_filters.html",
        caller=caller,
        address=LibraryAddress(view, layout_of(request)),
        view=view,
        choices=choices,
        kept=[pair for pair in pairs if pair[0] not in _SINGLE],
        single=dict(pair for pair in pairs if pair[0] in _SINGLE),
        kinds=KINDS,
        states=STATES,
        types=TYPES,
    )
