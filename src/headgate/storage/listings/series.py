"""Series as people see them: their chapters, releases and sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

NOBODY = UUID(int=0)
"""A viewer who follows nothing and has read nothing."""


@dataclass(frozen=True)
class SeriesName:
    """Which series is meant."""

    id: UUID
    title: str


@dataclass(frozen=True)
class Series:
    """A work, as one user sees it."""

    id: UUID
    title: str
    latest_chapter: str
    latest_published_at: datetime | None
    numbers_reset: bool
    created_at: datetime
    chapters: int
    sources: int
    followed: bool
    read_place: str
    read_chapter: str


@dataclass(frozen=True)
class Chapter:
    """A numbered instalment."""

    id: UUID
    key: str
    place: str
    number: str
    volume: str
    title: str
    published_at: datetime | None
    seen_at: datetime


@dataclass(frozen=True)
class ChapterPlace:
    """A place in the order of a series' chapters."""

    place: str
    id: UUID


@dataclass(frozen=True)
class Release:
    """A chapter as one source published it."""

    id: UUID
    chapter_id: UUID
    channel_id: UUID
    channel_title: str
    platform: str
    entry_key: str
    title: str
    url: str
    language: str
    scan_group: str
    external: bool
    published_at: datetime | None
    seen_at: datetime
    removed_at: datetime | None


@dataclass(frozen=True)
class SeriesSource:
    """A listing that brings a series."""

    channel_id: UUID
    platform: str
    key: str
    title: str
    pattern: str
    language: str


@dataclass(frozen=True)
class SourcedListing:
    """A listing and one series that it brings, or none."""

    channel_id: UUID
    key: str
    title: str
    series_id: UUID | None
    series_title: str
    pattern: str
    language: str


async def insert_series(tx: Tx, series_id: UUID, *, title: str, now: datetime) -> None:
    await tx.execute(Q["insert_series"], id=series_id, title=title, now=now)


async def rename_series(tx: Tx, series_id: UUID, *, title: str) -> bool:
    return bool(await tx.execute(Q["rename_series"], id=series_id, title=title))


async def delete_series(tx: Tx, series_id: UUID) -> bool:
    return bool(await tx.execute(Q["delete_series"], id=series_id))


async def upsert_source(
    tx: Tx, *, series_id: UUID, channel_id: UUID, pattern: str = "", language: str = "", now: datetime
) -> None:
    """Let a listing bring a series; all of it is polled again."""
    await tx.execute(
        Q["upsert_source"],
        series_id=series_id,
        channel_id=channel_id,
        pattern=pattern,
        language=language,
        now=now,
    )


async def delete_source(tx: Tx, *, series_id: UUID, channel_id: UUID, now: datetime) -> None:
    await tx.execute(Q["delete_source"], series_id=series_id, channel_id=channel_id, now=now)
    await settle_latest(tx, [series_id])


async def drop_empty_chapters(tx: Tx, series_id: UUID) -> None:
    """Forget the chapters of a series that no listing has brought, after one of them is gone."""
    await tx.execute(Q["drop_empty_chapters"], series_id=series_id)


async def list_series_of_channels(tx: Tx, channel_ids: Sequence[UUID]) -> list[UUID]:
    """Return the series that listings bring or have brought."""
    return await tx.column(Q["list_series_of_channels"], channel_ids=list(channel_ids))


async def settle_latest(tx: Tx, series_ids: Sequence[UUID]) -> None:
    """Let the latest chapter of series follow what their sources list now."""
    if series_ids:
        await tx.execute(Q["settle_latest"], series_ids=list(series_ids))


async def find_series(tx: Tx, reference: str) -> list[SeriesName]:
    """Return the series that a person may mean: by id, by the end of it, by title, or by a source's key."""
    return await tx.all(SeriesName, Q["find_series"], reference=reference)


async def list_titled(tx: Tx, titles: Sequence[str]) -> dict[str, UUID]:
    """Return the series that are called so, whatever the case, by the title as it was asked for."""
    found = await tx.all(SeriesName, Q["list_titled"], titles=list(titles))
    return {one.title: one.id for one in found}


async def list_sourced(tx: Tx, *, platform: str, keys: Sequence[str] | None = None) -> list[SourcedListing]:
    """Return all listings of a platform, or those with these keys, with the series that each brings."""
    given = None if keys is None else list(keys)
    return await tx.all(SourcedListing, Q["list_sourced"], platform=platform, keys=given)


async def list_titles(tx: Tx) -> list[str]:
    return await tx.column(Q["list_titles"])


async def list_series(
    tx: Tx,
    *,
    user_id: UUID = NOBODY,
    after: SeriesName | None = None,
    pattern: str | None = None,
    followed: bool = False,
    limit: int,
) -> list[Series]:
    """Return a page by title; a pattern is one of ILIKE."""
    return await tx.all(
        Series,
        Q["list_series"],
        user_id=user_id,
        after_title="" if after is None else after.title,
        after_id=NOBODY if after is None else after.id,
        pattern=pattern,
        followed=followed,
        limit=limit,
    )


async def get_series(tx: Tx, series_id: UUID, *, user_id: UUID = NOBODY) -> Series | None:
    return await tx.one(Series, Q["get_series"], id=series_id, user_id=user_id)


async def list_chapters(
    tx: Tx, series_id: UUID, *, below: Chapter | ChapterPlace | None = None, limit: int
) -> list[Chapter]:
    """Return a page of chapters, the last first."""
    return await tx.all(
        Chapter,
        Q["list_chapters"],
        series_id=series_id,
        below=None if below is None else below.place,
        below_id=NOBODY if below is None else below.id,
        limit=limit,
    )


async def find_chapter(tx: Tx, series_id: UUID, reference: str, *, key: str) -> list[Chapter]:
    """Return the chapters that a person may mean: by id, by canonical key, or by number."""
    return await tx.all(Chapter, Q["find_chapter"], series_id=series_id, reference=reference, key=key)


async def list_releases(tx: Tx, chapter_ids: Sequence[UUID]) -> dict[UUID, list[Release]]:
    """Return the releases of chapters, the earliest of each first."""
    found: dict[UUID, list[Release]] = {chapter_id: [] for chapter_id in chapter_ids}
    for release in await tx.all(Release, Q["list_releases"], chapter_ids=list(chapter_ids)):
        found[release.chapter_id].append(release)
    return found


async def list_series_sources(tx: Tx, series_id: UUID) -> list[SeriesSource]:
    return await tx.all(SeriesSource, Q["list_series_sources"], series_id=series_id)
