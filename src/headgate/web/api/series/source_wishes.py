"""What a program wants a listing to bring, and which listing it means by that."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from headgate.connectors.protocol import FoundChannel
from headgate.domain.errors import UserError
from headgate.domain.listings.opml import MAX_ADDRESS
from headgate.domain.listings.title_patterns import MAX_PATTERN
from headgate.domain.text import MAX_LANGUAGE_LENGTH
from headgate.intake.listings.sources import check_entries
from headgate.kernel.logs import mask_url
from headgate.web.parts import Site

_MAX_NAMED = 5


class FoundAnswer(BaseModel):
    """A match; pass `key` to `POST /series`.

    A key with hidden secrets (`•••`) works only as `pick`, next to the query that found it.
    """

    key: str
    title: str
    is_series: bool


class SourceWish(BaseModel):
    """A source by its key or address, or by a query and, if that matches several, the key of one."""

    platform: str = Field(max_length=100)
    key: str = Field(default="", max_length=MAX_ADDRESS)
    query: str = Field(default="", max_length=MAX_ADDRESS)
    pick: str = Field(default="", max_length=MAX_ADDRESS)
    pattern: str = Field(
        default="",
        max_length=MAX_PATTERN,
        description="Which entries belong to the series, like `One Piece {number}*`; by default all.",
    )
    language: str = Field(
        default="",
        max_length=MAX_LANGUAGE_LENGTH,
        description="Language of entries that do not name one, like `en`.",
    )

    async def find(self, site: Site) -> FoundChannel:
        """Return the listing that is meant; what is wrong with the rest is said before anybody is asked."""
        check_entries(self.pattern, self.language)
        if bool(self.key.strip()) == bool(self.query.strip()):
            raise UserError("Name exactly one source.", remedy="Send either a key or a query.")
        found = await site.sources.find(self.platform, self.key or self.query)
        if not found:
            raise UserError(
                f"Nothing was found for {mask_url(self.key or self.query)!r}.",
                remedy="Search with GET /api/v1/series/find, or check the address.",
            )
        if self.key:
            return _named(found, site.parts.links.key_of(self.platform, self.key)) or _only(found)
        return (_named(found, self.pick) or _no_pick(self.pick)) if self.pick else _only(found)


def _named(found: Sequence[FoundChannel], key: str) -> FoundChannel | None:
    """Return the one with this key, written in full or as it is shown."""
    shown = [one for one in found if mask_url(one.key) == key]
    exact = next((one for one in found if one.key == key), None)
    return exact or (shown[0] if len(shown) == 1 else None)


def _only(found: Sequence[FoundChannel]) -> FoundChannel:
    if len(found) == 1:
        return found[0]
    named = ", ".join(f"{one.title} ({mask_url(one.key)})" for one in found[:_MAX_NAMED])
    raise UserError(
        f"There are several matches: {named}{', …' if len(found) > _MAX_NAMED else ''}.",
        remedy="Send the key of one of them as pick.",
    )


def _no_pick(key: str) -> FoundChannel:
    raise UserError(f"{mask_url(key)!r} is not one of the matches.", remedy="Pick one of them.")
