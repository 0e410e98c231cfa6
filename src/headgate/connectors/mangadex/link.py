"""One account's, or a guest's, connection to MangaDex."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from urllib.parse import urlsplit

import httpx

from headgate.connectors.listing_link import ListingLink
from headgate.connectors.mangadex.errors import ApiRefused
from headgate.connectors.mangadex.http import Api, Params
from headgate.connectors.mangadex.listing import ALL_RATINGS, list_part
from headgate.connectors.mangadex.shapes import (
    UUID,
    Collection,
    Manga,
    collection_of,
    expanded_manga_of,
    manga_of,
)
from headgate.connectors.mangadex.sweeping import sweep_part
from headgate.connectors.protocol import FoundChannel
from headgate.domain.listings.listings import Listed, Swept
from headgate.kernel.clock import Clock

_HOME = "mangadex.org"
_PATH = re.compile(rf"/(title|manga|chapter)/({UUID.pattern})(?:/.*)?", re.IGNORECASE)
_MAX_FOUND = 20
_FOLLOWS_PAGE = 100
_MAX_FOLLOWS_PAGES = 10
_MAX_TITLE = 200


def leads_to_site(address: str, site: str) -> bool:
    """Tell whether an address is one of the site's, or of MangaDex itself."""
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return False
    return host in (_HOME, urlsplit(site).hostname) or host.endswith(f".{_HOME}")


class MangaDexLink(ListingLink):
    """Lists series, sweeps the site and finds series by name; each is one call, but for what is followed."""

    platform = "MangaDex"

    def __init__(self, client: httpx.AsyncClient, api: Api, *, site: str, clock: Clock) -> None:
        self._client = client
        self._api = api
        self._site = site
        self._clock = clock

    async def list(self, listing: str, cursor: Mapping[str, str]) -> Listed:
        return await list_part(self._api, listing, cursor, site=self._site, now=self._clock.now())

    async def sweep(self, site: str, cursor: Mapping[str, str]) -> Swept:
        return await sweep_part(self._api, cursor, site=self._site, now=self._clock.now())

    async def discover(self) -> Sequence[FoundChannel]:
        """Return the series that the account follows on the site; a guest follows none."""
        found: list[FoundChannel] = []
        if self._api.is_guest:
            return found
        for number in range(_MAX_FOLLOWS_PAGES):
            offset = number * _FOLLOWS_PAGE
            page = await self._page("/user/follows/manga", limit=_FOLLOWS_PAGE, offset=offset)
            found += _channels_of(page)
            if offset + len(page.rows) >= page.total or not page.rows:
                break
        return found

    async def find(self, query: str) -> Sequence[FoundChannel]:
        wanted = query.strip()
        if UUID.fullmatch(wanted):
            return await self._find_one("manga", wanted.lower())
        if "://" in wanted:
            return await self._find_at(wanted)
        if not wanted:
            return []
        by_title = (("title", wanted[:_MAX_TITLE]), ("order[relevance]", "desc"), *ALL_RATINGS)
        return _channels_of(await self._page("/manga", by_title, limit=_MAX_FOUND))

    async def close(self) -> None:
        await self._client.aclose()

    async def _find_at(self, address: str) -> list[FoundChannel]:
        """Return the series at an address of the site; the addresses of others mean nothing here."""
        path = _PATH.fullmatch(urlsplit(address).path) if leads_to_site(address, self._site) else None
        if path is None:
            return []
        kind = "chapter" if path[1].lower() == "chapter" else "manga"
        return await self._find_one(kind, path[2].lower())

    async def _find_one(self, kind: str, key: str) -> list[FoundChannel]:
        """Return the series of an id, or the one that a chapter belongs to."""
        params = (("includes[]", "manga"),) if kind == "chapter" else ()
        try:
            answer = await self._api.get(f"/{kind}/{key}", params)
        except ApiRefused as refusal:
            if refusal.status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
                return []
            raise
        row = answer.content.get("data")
        manga: Manga | None = expanded_manga_of([row]) if kind == "chapter" else manga_of(row)
        return [] if manga is None else [manga.as_channel()]

    async def _page(self, path: str, params: Params = (), *, limit: int, offset: int = 0) -> Collection:
        asked = (("limit", str(limit)), ("offset", str(offset)), *params)
        return collection_of((await self._api.get(path, asked)).content)


def _channels_of(page: Collection) -> list[FoundChannel]:
    return [manga.as_channel() for row in page.rows if (manga := manga_of(row)) is not None]
