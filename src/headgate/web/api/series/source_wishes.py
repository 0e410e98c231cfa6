"""What a program wants a listing to bring, and which listing it means by that."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from headgate.connectors.protocol import FoundChannel
from headgate.domain.errors import UserError
from headgate.domain.listings.opml import LONGEST_ADDRESS
from headgate.domain.listings.title_patterns import LONGEST_PATTERN, TitlePattern
from headgate.domain.text import MAX_TITLE_LENGTH, typed_text
from headgate.kernel.logs import mask_url
from headgate.outflow.notifications.follows import checked_languages
from headgate.web.parts import Site

LONGEST_LANGUAGE = 40
_MOST_NAMED = 5


class FoundAnswer(BaseModel):
    """A listing that may be meant; `key` names it in `POST /series`.

    A key without its secrets (`•••`) is for `pick`, next to the query that found it.
    """

    key: str
    title: str
    is_series: bool


class SourceWish(BaseModel):
    """A listing by its key or address, or by a query and, if that fits several, the key of one of them."""

    platform: str = Field(max_length=100)
    key: str = Field(default="", max_length=LONGEST_ADDRESS)
    query: str = Field(default="", max_length=LONGEST_ADDRESS)
    pick: str = Field(default="", max_length=LONGEST_ADDRESS)
    pattern: str = Field(
        default="",
        max_length=LONGEST_PATTERN,
        description="Which entries belong to the series, like `One Piece {number}*`; without one all do.",
    )
    language: str = Field(
        default="", max_length=LONGEST_LANGUAGE, description="For entries that do not tell theirs, like `en`."
    )

    @property
    def kept_pattern(self) -> str:
        """The pattern as it is kept, or what is wrong with it."""
        text = typed_text(self.pattern, max_length=LONGEST_PATTERN)
        return TitlePattern.parse(text).text if text else ""

    @property
    def kept_language(self) -> str:
        return next(iter(checked_languages([self.language])), "")

    async def find(self, site: Site) -> FoundChannel:
        """Return the listing that is meant; what is wrong with the rest is said before anybody is asked."""
        self.kept_pattern  # noqa: B018
        self.kept_language  # noqa: B018
        if bool(self.key.strip()) == bool(self.query.strip()):
            raise UserError("It is not clear which listing is meant.", remedy="Send either a key or a query.")
        found = await find_listings(site, self.platform, self.key or self.query)
        if not found:
            raise UserError(
                f"Nothing was found for {mask_url(self.key or self.query)!r}.",
                remedy="Look for it with GET /api/v1/series/find, or check the address.",
            )
        if self.key:
            return _named(found, site.parts.links.key_of(self.platform, self.key)) or _only(found)
        return (_named(found, self.pick) or _no_pick(self.pick)) if self.pick else _only(found)


async def find_listings(site: Site, platform: str, query: str) -> Sequence[FoundChannel]:
    """Ask a platform which listings a query may mean."""
    manifest = site.parts.links.manifest(platform)
    if not {"listings", "find"} <= manifest.capabilities:
        raise UserError(f"{manifest.title} has no listings to find.", remedy="Name another platform.")
    return await site.sources.find(platform, query.strip())


def typed_title(title: str) -> str:
    """Return a title as it is kept, or say that there is none."""
    text = typed_text(title, max_length=MAX_TITLE_LENGTH)
    if not text:
        raise UserError("A series needs a title.", remedy="Write what it is to be called.")
    return text


def _named(found: Sequence[FoundChannel], key: str) -> FoundChannel | None:
    """Return the one with this key, written in full or as it is shown."""
    shown = [one for one in found if mask_url(one.key) == key]
    exact = next((one for one in found if one.key == key), None)
    return exact or (shown[0] if len(shown) == 1 else None)


def _only(found: Sequence[FoundChannel]) -> FoundChannel:
    if len(found) == 1:
        return found[0]
    named = ", ".join(f"{one.title} ({mask_url(one.key)})" for one in found[:_MOST_NAMED])
    raise UserError(
        f"Several listings may be meant: {named}{', …' if len(found) > _MOST_NAMED else ''}.",
        remedy="Send the key of one of them as pick.",
    )


def _no_pick(key: str) -> FoundChannel:
    raise UserError(f"{mask_url(key)!r} is not among what was found.", remedy="Pick one of those.")
