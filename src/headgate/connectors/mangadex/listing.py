"""A listing: the chapters of one series, told page by page, with proof that none was left out.

The newest change comes first. So a first page that looks as it did says that nothing has changed, however
long the list is; and a change while the pages are told moves chapters over the edge of a page, which is
noticed because each page begins with the last chapter of the one before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Literal, cast

from headgate.connectors.mangadex.errors import ApiRefused, NotUnderstood
from headgate.connectors.mangadex.http import Api, Params
from headgate.connectors.mangadex.shapes import (
    UUID,
    ApiChapter,
    BadChapter,
    Manga,
    chapters_of,
    collection_of,
    expanded_manga_of,
    manga_of,
    time_of,
)
from headgate.domain.listings.listings import Listed

WINDOW = 10_000
"""The API answers no further: offset and limit together stay within it."""
ALL_RATINGS: Params = tuple(
    ("contentRating[]", rating) for rating in ("safe", "suggestive", "erotica", "pornographic")
)
"""Without them the API leaves chapters out without a word."""
WITH_GROUPS: Params = (("includes[]", "scanlation_group"),)

_PAGE = 500
# The series comes along with each of its chapters, over and over: so only with few of them, and rarely.
_PAGE_WITH_MANGA = 100
_MARKED = 100
_MANGA_EVERY = timedelta(days=7)
_MAX_TAIL = 100


Flaw = Literal["", "bad", "moved"]
"""What keeps a telling from being whole: a chapter makes no sense, or one may have been left out."""


@dataclass(frozen=True)
class ListingProgress:
    """How far a listing has been read: what the cursor carries."""

    mark: str = ""
    """Of the first page, when everything was told last."""
    manga_at: str = ""
    """When the series itself was last asked for."""
    until: str = ""
    """When the first of the chapters that are held back can be read."""
    offset: int = 0
    total: int = 0
    tail: tuple[str, ...] = ()
    """The last chapters of the page before, as many as changed in one moment: their order is not certain."""
    new_mark: str = ""
    flaw: Flaw = ""
    alone: bool = False
    """The list is empty: only the series itself tells whether it is there."""

    @classmethod
    def of(cls, cursor: Mapping[str, str]) -> ListingProgress:
        return cls(
            mark=cursor.get("mark", ""),
            manga_at=cursor.get("manga_at", ""),
            until=cursor.get("until", ""),
            offset=int(cursor.get("offset", "0")),
            total=int(cursor.get("total", "0")),
            tail=tuple(cursor.get("tail", "").split()),
            new_mark=cursor.get("new_mark", ""),
            flaw=cast("Flaw", cursor.get("flaw", "")),
            alone="alone" in cursor,
        )

    def cursor(self) -> dict[str, str]:
        words = {
            "mark": self.mark,
            "manga_at": self.manga_at,
            "until": self.until,
            "offset": str(self.offset) if self.offset else "",
            "total": str(self.total) if self.offset else "",
            "tail": " ".join(self.tail),
            "new_mark": self.new_mark,
            "flaw": self.flaw,
            "alone": "1" if self.alone else "",
        }
        return {name: word for name, word in words.items() if word}

    @property
    def is_first(self) -> bool:
        return self.offset == 0

    def wants_manga(self, now: datetime) -> bool:
        return self.is_first and (not self.manga_at or time_of(self.manga_at) + _MANGA_EVERY <= now)

    def is_news(self, mark: str, now: datetime) -> bool:
        return mark != self.mark or bool(self.until and time_of(self.until) <= now)


@dataclass(frozen=True)
class FeedPage:
    """One page as it came."""

    total: int
    chapters: Sequence[ApiChapter | BadChapter]
    manga: Manga | None
    now: datetime

    def listed(self, progress: ListingProgress) -> Listed:
        """Return the chapters that can be read, without those that the page before has told already."""
        entries = tuple(
            one.entry
            for one in self.chapters
            if isinstance(one, ApiChapter)
            and one.is_readable(self.now)
            and one.entry.key not in progress.tail
        )
        return replace(
            self.unchanged(),
            entries=entries,
            unchanged=False,
            bad=tuple(one.bad for one in self.chapters if isinstance(one, BadChapter)),
        )

    def unchanged(self) -> Listed:
        title, resets = (self.manga.title, self.manga.numbers_reset) if self.manga else ("", None)
        return Listed((), unchanged=True, title=title, numbers_reset=resets)

    def mark(self) -> str:
        told = [
            (one.entry, one.is_readable(self.now)) if isinstance(one, ApiChapter) else one.bad
            for one in self.chapters[:_MARKED]
        ]
        return hashlib.sha256(repr((self.total, told)).encode()).hexdigest()[:32]

    def until(self, before: str) -> str:
        """Return the earliest time at which a chapter that is held back can be read."""
        held = [
            one.readable_at
            for one in self.chapters
            if isinstance(one, ApiChapter)
            and one.available
            and one.readable_at
            and one.readable_at > self.now
        ]
        times = [*held, *([time_of(before)] if before else [])]
        return min(times).isoformat(timespec="seconds") if times else ""

    def flaw(self, progress: ListingProgress) -> Flaw:
        keys = [one.entry.key if isinstance(one, ApiChapter) else one.bad.key for one in self.chapters]
        if not progress.is_first and (
            self.total != progress.total
            or (keys and keys[0] not in progress.tail)
            or not set(keys[1:]).isdisjoint(progress.tail)
        ):
            return "moved"
        is_bad = any(isinstance(one, BadChapter) for one in self.chapters)
        return progress.flaw or ("bad" if is_bad else "")

    def tail(self) -> tuple[str, ...]:
        last = self.chapters[-1]
        if isinstance(last, BadChapter):
            return (last.bad.key,)
        together = [
            one.entry.key
            for one in self.chapters
            if isinstance(one, ApiChapter) and one.updated_at == last.updated_at
        ]
        return tuple(together[-_MAX_TAIL:])


async def list_part(api: Api, listing: str, cursor: Mapping[str, str], *, site: str, now: datetime) -> Listed:
    """Ask for the next part of a listing, in one call."""
    if not UUID.fullmatch(listing):
        raise ApiRefused(HTTPStatus.NOT_FOUND, f"{listing!r} is not the id of a series on MangaDex")
    progress = ListingProgress.of(cursor)
    if progress.alone:
        return await _manga_answer(api, listing, now=now)
    with_manga = progress.wants_manga(now)
    limit = min(_PAGE_WITH_MANGA if with_manga else _PAGE, WINDOW - progress.offset)
    answer = await api.get(f"/manga/{listing}/feed", _params(progress, limit, with_manga=with_manga))
    collection, now = collection_of(answer.content), answer.latest(now)
    manga = expanded_manga_of(collection.rows) if with_manga else None
    page = FeedPage(collection.total, tuple(chapters_of(collection.rows, site=site)), manga, now)
    if progress.is_first:
        return _begin(progress, page, asked_manga=with_manga)
    return _tell(replace(progress, flaw=page.flaw(progress), until=page.until(progress.until)), page)


def _params(progress: ListingProgress, limit: int, *, with_manga: bool) -> Params:
    return (
        ("limit", str(limit)),
        ("offset", str(progress.offset)),
        ("order[updatedAt]", "desc"),
        *ALL_RATINGS,
        *WITH_GROUPS,
        *((("includes[]", "manga"),) if with_manga else ()),
    )


async def _manga_answer(api: Api, listing: str, *, now: datetime) -> Listed:
    """Tell an empty list: of a series without chapters, or of none, which is an error here."""
    answer = await api.get(f"/manga/{listing}")
    manga = manga_of(answer.content.get("data"))
    if manga is None:
        raise NotUnderstood("the answer of MangaDex is not a series")
    page = FeedPage(0, (), manga, now)
    at_rest = ListingProgress(mark=page.mark(), manga_at=_written(now))
    return replace(page.unchanged(), cursor=at_rest.cursor(), unchanged=False, complete=True)


def _begin(progress: ListingProgress, page: FeedPage, *, asked_manga: bool) -> Listed:
    mark = page.mark()
    if asked_manga:
        progress = replace(progress, manga_at=_written(page.now))
    is_news = progress.is_news(mark, page.now)
    if page.total == 0 and (is_news or asked_manga):
        return Listed((), replace(progress, alone=True).cursor(), more=True)
    if not is_news:
        return replace(page.unchanged(), cursor=progress.cursor())
    anew = replace(progress, new_mark=mark, until=page.until(""), total=page.total, flaw=page.flaw(progress))
    return _tell(anew, page)


def _tell(progress: ListingProgress, page: FeedPage) -> Listed:
    """Tell a page, and where to go on after it, or that this is the end."""
    reached = progress.offset + len(page.chapters)
    is_whole, is_cut = reached >= page.total, reached >= WINDOW
    listed = page.listed(progress)
    if not is_whole and not is_cut and reached - 1 > progress.offset:
        following = replace(progress, offset=reached - 1, tail=page.tail())
        return replace(listed, cursor=following.cursor(), more=True)
    # What was left out because the list moved is looked for again; what cannot be read stays so.
    can_rest = (is_whole or is_cut) and progress.flaw != "moved"
    at_rest = ListingProgress(
        mark=progress.new_mark if can_rest else "", manga_at=progress.manga_at, until=progress.until
    )
    cut = f"MangaDex has {page.total} chapters of this series, but tells only the newest {WINDOW}"
    return replace(
        listed,
        cursor=at_rest.cursor(),
        complete=is_whole and not progress.flaw,
        warnings=(cut,) if is_cut and not is_whole else (),
    )


def _written(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
