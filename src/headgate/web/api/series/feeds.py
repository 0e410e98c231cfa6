"""Feeds: following one by its address, and lists of them as OPML."""

from __future__ import annotations

from uuid import UUID

from fastapi import HTTPException, Response, UploadFile
from pydantic import BaseModel, Field

from headgate.domain.listings.opml import MAX_ADDRESS, MAX_BYTES, OpmlFeed
from headgate.domain.listings.title_patterns import MAX_PATTERN
from headgate.domain.text import MAX_LANGUAGE_LENGTH, MAX_TITLE_LENGTH
from headgate.intake.listings.opml import PLATFORM, OpmlLists, Refusal
from headgate.intake.listings.sources import NewSource
from headgate.kernel.logs import mask_url
from headgate.storage.listings.listing_overview import get_listing_states
from headgate.web.api.series.listings import ListingAnswer
from headgate.web.api.series.source_wishes import SourceWish
from headgate.web.callers import CurrentCaller
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite
from headgate.web.typed import AROUND_A_FILE_BYTES

routes = Routes("/api/v1", in_schema=True)


class FeedWish(BaseModel):
    """A feed, or a page that links to one; with a series or a pattern its entries become chapters."""

    address: str = Field(min_length=1, max_length=MAX_ADDRESS)
    series: str = Field(default="", max_length=MAX_TITLE_LENGTH, description="Title of its series.")
    pattern: str = Field(
        default="", max_length=MAX_PATTERN, description="Which entries belong to the series."
    )
    language: str = Field(default="", max_length=MAX_LANGUAGE_LENGTH)

    @property
    def source(self) -> SourceWish:
        return SourceWish(platform=PLATFORM, key=self.address, pattern=self.pattern, language=self.language)


class FeedAdded(BaseModel):
    """A feed that was added."""

    listing: ListingAnswer
    series_id: UUID | None
    is_new: bool


class FeedAnswer(BaseModel):
    """A feed of a list; passwords in addresses are hidden."""

    address: str
    title: str
    folder: str
    series: str

    @classmethod
    def of(cls, feed: OpmlFeed) -> FeedAnswer:
        return cls(
            address=mask_url(feed.url), title=mask_url(feed.title), folder=feed.folder, series=feed.series
        )


class RefusedAnswer(BaseModel):
    """A feed that is not followed, and why."""

    feed: FeedAnswer
    reason: str

    @classmethod
    def of(cls, refusal: Refusal) -> RefusedAnswer:
        return cls(feed=FeedAnswer.of(refusal.feed), reason=mask_url(refusal.reason))


class ImportedAnswer(BaseModel):
    """The result of an import; feeds that were already followed stay as they are."""

    added: list[FeedAnswer]
    known: list[FeedAnswer]
    refused: list[RefusedAnswer]


@routes.post("/feeds", door=scope("write"), status_code=201, tags=["feeds"])
async def add(site: CurrentSite, body: FeedWish) -> FeedAdded:
    """Follow a feed; a feed that is already followed stays as it is."""
    found = await body.source.find(site)
    source = NewSource(found, series_title=body.series, pattern=body.pattern, language=body.language)
    added = await site.sources.add(PLATFORM, source)
    async with site.transaction() as tx:
        (listing,) = await get_listing_states(tx, [added.channel_id])
    answer = ListingAnswer.of(listing, now=site.parts.clock.now())
    return FeedAdded(listing=answer, series_id=added.series_id, is_new=added.is_new)


@routes.get("/opml", door=scope("read"), tags=["feeds"], response_class=Response)
async def export(site: CurrentSite, caller: CurrentCaller, *, secrets: bool = False) -> Response:
    """Return all feeds as OPML 2.0, with their series.

    With `secrets`, which needs the scope `admin`, it includes the logins and tokens in addresses.
    """
    if secrets and "admin" not in caller.scopes:
        raise HTTPException(403, "Only an administrator may export the secrets of feeds.")
    written = await OpmlLists(site.sources).write(with_secrets=secrets)
    headers = {"content-disposition": 'attachment; filename="headgate.opml"'}
    return Response(written, media_type="text/x-opml; charset=utf-8", headers=headers)


@routes.post("/opml", door=scope("write"), tags=["feeds"], largest_body_bytes=MAX_BYTES + AROUND_A_FILE_BYTES)
async def take(site: CurrentSite, file: UploadFile) -> ImportedAnswer:
    """Import the feeds of an OPML document, sent as the form field `file`."""
    told = await OpmlLists(site.sources).take(await file.read(MAX_BYTES + 1))
    return ImportedAnswer(
        added=[FeedAnswer.of(feed) for feed in told.added],
        known=[FeedAnswer.of(feed) for feed in told.known],
        refused=[RefusedAnswer.of(refusal) for refusal in told.refused],
    )
