"""Releases: what listings publish of series, taken in as a set with all that follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.listings.listings import BadEntry
from headgate.kernel.ids import Ids
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True, slots=True)
class NewRelease:
    """One entry of a listing as a release of a chapter."""

    channel_id: UUID
    series_id: UUID
    chapter_key: str
    place: str
    number: str
    volume: str
    chapter_title: str
    entry_key: str
    title: str
    url: str
    language: str
    scan_group: str
    external: bool
    published_at: datetime | None
    fingerprint: int
    first_poll: bool
    """The listing was never looked at before: what has no time is not new, only new to us."""
    identity: int = 0
    """Of its link and title, by which it is known if its key changes; 0 where these identify nothing."""


@dataclass(frozen=True)
class _NewsCount:
    channel_id: UUID
    news_rows: int


async def list_changed(
    tx: Tx,
    channel_ids: Sequence[UUID],
    *,
    whose: Sequence[int],
    entry_keys: Sequence[str],
    fingerprints: Sequence[int],
) -> list[int]:
    """Return the places of entries that are not known, or not so, counted from 0; writes nothing.

    `whose` says of each entry which of the channels it belongs to, likewise.
    """
    if not entry_keys:
        return []
    places = await tx.column(
        Q["list_changed"],
        channel_ids=list(channel_ids),
        whose=[place + 1 for place in whose],
        entry_keys=list(entry_keys),
        fingerprints=list(fingerprints),
    )
    return [place - 1 for place in places]


async def list_missing(tx: Tx, channel_id: UUID, entry_keys: Sequence[str]) -> list[str]:
    """Return the entries that a whole answer does not have any more."""
    return await tx.column(Q["list_missing"], channel_id=channel_id, entry_keys=list(entry_keys))


async def mark_removed(
    tx: Tx, channel_id: UUID, entry_keys: Sequence[str], *, notified_before: int, now: datetime
) -> int:
    """Mark what a whole answer does not have, except what was told after it was asked for."""
    if not entry_keys:
        return 0
    left = await tx.column(
        Q["mark_removed"],
        channel_id=channel_id,
        entry_keys=list(entry_keys),
        notified_before=notified_before,
        now=now,
    )
    await leave_chapters(tx, left)
    return len(left)


async def leave_chapters(tx: Tx, chapter_ids: Sequence[UUID]) -> None:
    """Let all follow that follows when chapters lose releases: titles, the latest, marks of what is read."""
    if chapter_ids:
        await tx.execute(Q["leave_chapters"], chapter_ids=list(chapter_ids))


async def take_releases(
    tx: Tx, releases: Sequence[NewRelease], *, ids: Ids, now: datetime
) -> dict[UUID, int]:
    """Take entries in, each of them once: chapters, releases, the series' latest, and the news of them.

    Returns how much news each listing brought, of those whose releases changed.
    """
    if not releases:
        return {}
    taken = await tx.all(
        _NewsCount,
        Q["take_releases"],
        channel_ids=[r.channel_id for r in releases],
        series_ids=[r.series_id for r in releases],
        chapter_ids=[ids.new() for _ in releases],
        chapter_keys=[r.chapter_key for r in releases],
        places=[r.place for r in releases],
        numbers=[r.number for r in releases],
        volumes=[r.volume for r in releases],
        chapter_titles=[r.chapter_title for r in releases],
        release_ids=[ids.new() for _ in releases],
        entry_keys=[r.entry_key for r in releases],
        titles=[r.title for r in releases],
        urls=[r.url for r in releases],
        languages=[r.language for r in releases],
        scan_groups=[r.scan_group for r in releases],
        externals=[r.external for r in releases],
        published=[r.published_at for r in releases],
        fingerprints=[r.fingerprint for r in releases],
        first_polls=[r.first_poll for r in releases],
        identities=[r.identity for r in releases],
        now=now,
    )
    return {one.channel_id: one.news_rows for one in taken}


async def note_bad_entries(tx: Tx, bad: Sequence[tuple[UUID, BadEntry]], *, ids: Ids, now: datetime) -> None:
    """Keep entries that cannot be understood as misses, each alone."""
    if bad:
        await tx.execute(
            Q["note_bad_entries"],
            ids=[ids.new() for _ in bad],
            channel_ids=[channel_id for channel_id, _ in bad],
            keys=[entry.key for _, entry in bad],
            reasons=[entry.reason for _, entry in bad],
            now=now,
        )


async def clear_bad_entries(tx: Tx, channel_id: UUID, *, but: Sequence[str]) -> None:
    """Forget the misses of a listing that its answer does not have any more."""
    await tx.execute(Q["clear_bad_entries"], channel_id=channel_id, keys=list(but))
