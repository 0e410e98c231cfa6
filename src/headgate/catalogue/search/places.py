"""The place where a page of hits ends, as it stands in addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headgate.domain.errors import UserError

_WRITTEN = re.compile(r"(\d{1,5})(c?)(?:-(\d{1,5})\.(-?\d)\.(-?\d+(?:\.\d+)?)\.([0-9a-f-]{36}))?")


@dataclass(frozen=True)
class SearchPlace:
    """The slices that a page was found in, and the last hit of them that was shown."""

    newest: int
    oldest: int | None = None
    """None: as far back as there is time for."""
    last: tuple[int, float, str] | None = None
    corrected: bool = False

    def __str__(self) -> str:
        written = f"{self.newest}{'c' if self.corrected else ''}"
        if self.oldest is None or self.last is None:
            return written
        rank, at, row_id = self.last
        return f"{written}-{self.oldest}.{rank}.{at!r}.{row_id}"


def read_place(written: str) -> SearchPlace | None:
    """Return the place that a cursor means; an empty one means the beginning."""
    if not written:
        return None
    found = _WRITTEN.fullmatch(written)
    if found is None:
        raise UserError("This place in the list is not known.", field="after", remedy="Search again.")
    newest, corrected, oldest, rank, at, row_id = found.groups()
    if oldest is None:
        return SearchPlace(int(newest), corrected=bool(corrected))
    return SearchPlace(int(newest), int(oldest), (int(rank), float(at), row_id), corrected=bool(corrected))
