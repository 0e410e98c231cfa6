"""Addresses of the library: a view, a place in it, and how it is laid out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlencode

from fastapi import Request

from headgate.domain.library.shelf_filters import SORTS, ShelfSort, ShelfView, view_pairs
from headgate.web.typed import read_form

EVERYTHING = ShelfView()
Layout = Literal["table", "grid"]
LAYOUT_COOKIE = "headgate_layout"
"""How this browser lays the library out."""


@dataclass(frozen=True)
class LibraryAddress:
    """A view, and how it is laid out."""

    view: ShelfView = EVERYTHING
    layout: Layout = "table"

    def at(self, **more: str) -> str:
        """Return the address of the view, at a place or with something to say."""
        if not (self.view.query or more):
            # The first page may begin with a saved view.
            return "/?all=1"
        return self._under("/", more)

    def part(self, path: str, **more: str) -> str:
        """Return the address of something that belongs to the view, such as its count."""
        return self._under(path, more)

    def sorted_by(self, sort: ShelfSort) -> str:
        return replace(self, view=replace(self.view, sort=sort)).at()

    @property
    def sorts(self) -> tuple[ShelfSort, ...]:
        return SORTS

    def laid_out(self, layout: Layout) -> str:
        return self.at(layout=layout)

    @property
    def other_pairs(self) -> list[tuple[str, str]]:
        """The fields of the address beside the words to search for."""
        return view_pairs(replace(self.view, search=""))

    @property
    def everything(self) -> str:
        """The address without filters and words, in the same order."""
        return replace(self, view=ShelfView(sort=self.view.sort)).at()

    @property
    def is_filtered(self) -> bool:
        return self.view.filters != EVERYTHING.filters

    def _under(self, path: str, more: dict[str, str]) -> str:
        pairs = [*view_pairs(self.view), *((name, value) for name, value in more.items() if value)]
        return f"{path}?{urlencode(pairs)}" if pairs else path


def layout_of(request: Request) -> Layout:
    """Return the layout that an address names, else the one that this browser had last."""
    named = request.query_params.get("layout") or request.cookies.get(LAYOUT_COOKIE)
    return "grid" if named == "grid" else "table"


async def layout_of_form(request: Request) -> Layout:
    """Return the layout of the list that sent a form."""
    return "grid" if (await read_form(request)).get("layout") == "grid" else "table"
