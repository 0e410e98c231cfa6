"""Series as tables and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import typer

from headgate.cli.notifications.follow import switches_in_words
from headgate.cli.output import print_table
from headgate.cli.phrases import count_of, print_facts, print_heading
from headgate.cli.series.listing_text import as_document as listing_document
from headgate.cli.series.listing_text import print_sources
from headgate.domain.words.times import relative
from headgate.kernel.logs import mask_url
from headgate.storage.access.users import UserLine
from headgate.storage.listings.listing_overview import ListingOverview
from headgate.storage.listings.series import Chapter, Release, Series, SeriesSource
from headgate.storage.notifications.follows import Follow

MAX_RELEASES = 4


@dataclass(frozen=True)
class ShownSeries:
    """A series with all that belongs to it, as somebody sees it."""

    series: Series
    sources: Sequence[SeriesSource]
    states: Mapping[UUID, ListingOverview]
    chapters: Sequence[Chapter]
    releases: Mapping[UUID, Sequence[Release]]
    user: UserLine | None
    follow: Follow | None
    unread: int


def print_list(
    lines: Sequence[Series], unread: Mapping[UUID, int], *, user: UserLine | None, now: datetime, empty: str
) -> None:
    personal = ["unread", "followed"] if user is not None else []
    print_table(
        ["series", "latest", "published", "chapters", "sources", *personal],
        [
            (
                line.title,
                line.latest_chapter,
                "" if line.latest_published_at is None else relative(line.latest_published_at, now),
                f"{line.chapters:,}",
                line.sources,
                *((f"{unread.get(line.id, 0):,}", line.followed) if user is not None else ()),
            )
            for line in lines
        ],
        empty=empty,
        numeric=["latest", "chapters", "sources", "unread"],
    )


def line_document(line: Series, unread: Mapping[UUID, int], *, user: UserLine | None) -> dict[str, Any]:
    return {**vars(line), "unread": None if user is None else unread.get(line.id, 0)}


def print_series(shown: ShownSeries, *, now: datetime) -> None:
    """Print a series: what there is, who brings it, and its newest chapters."""
    series = shown.series
    typer.echo(typer.style(series.title, bold=True))
    typer.echo(f"{_summary(series, now)}\n")
    facts = [("id", str(series.id))]
    if shown.user is not None:
        facts += _personal(shown, shown.user)
    if series.numbers_reset:
        facts.append(("numbers", "start over with each volume"))
    print_facts(facts)
    listed = [
        (shown.states[source.channel_id], _taken(source))
        for source in shown.sources
        if source.channel_id in shown.states
    ]
    print_sources(listed, now)
    if not listed:
        typer.echo("\nIt has no source: add one with `headgate series add QUERY --to`.")
    _print_chapters(shown, now)


def _summary(series: Series, now: datetime) -> str:
    if not series.chapters:
        return "It has no chapter yet."
    published = series.latest_published_at
    when = f", published {relative(published, now)}" if published is not None else ""
    latest = f"; the latest is {series.latest_chapter}{when}" if series.latest_chapter else ""
    return f"{count_of(series.chapters, 'chapter')}{latest}."


def _personal(shown: ShownSeries, user: UserLine) -> list[tuple[str, str]]:
    follow = shown.follow
    followed = f"by {user.name}, {switches_in_words(follow)}" if follow else f"not by {user.name}"
    read = "nothing yet"
    if shown.series.read_place:
        read = f"up to {shown.series.read_chapter or 'a chapter that is there no more'}"
    return [("followed", followed), ("read", f"{read}; {count_of(shown.unread, 'chapter')} unread")]


def _taken(source: SeriesSource) -> str:
    what = f"entries called {source.pattern}" if source.pattern else "all its entries"
    return f"{what}, {source.language} where they do not say" if source.language else what


def _print_chapters(shown: ShownSeries, now: datetime) -> None:
    if not shown.chapters:
        return
    print_heading("Chapters, the last first")
    read = ["read"] if shown.user is not None else []
    titled = ["title"] if any(chapter.title for chapter in shown.chapters) else []
    print_table(
        ["chapter", *titled, "published", *read, "releases"],
        [
            (
                chapter_name(chapter),
                *([chapter.title] if titled else []),
                "" if chapter.published_at is None else relative(chapter.published_at, now),
                *(["✓" if chapter.place <= shown.series.read_place else ""] if read else []),
                _releases(shown.releases.get(chapter.id, ())),
            )
            for chapter in shown.chapters
        ],
        numeric=["chapter"],
    )
    if shown.series.chapters > len(shown.chapters):
        more = shown.series.chapters - len(shown.chapters)
        typer.echo(f"… and {more:,} more; --limit shows them.")


def chapter_name(chapter: Chapter) -> str:
    """Return what a chapter is called where its title is not beside it."""
    if chapter.number:
        return f"vol. {chapter.volume}, {chapter.number}" if chapter.volume else chapter.number
    return "" if chapter.key.startswith("@") else chapter.key


def _releases(releases: Sequence[Release]) -> str:
    if not releases:
        return "no source has it any more"
    lines = [_release(one) for one in releases[:MAX_RELEASES]]
    if len(releases) > MAX_RELEASES:
        lines.append(f"and {len(releases) - MAX_RELEASES:,} more")
    return "\n".join(lines)


def _release(release: Release) -> str:
    who = " ".join(part for part in (release.language, release.scan_group) if part)
    notes = [
        *(["read elsewhere"] if release.external else []),
        *(["taken down"] if release.removed_at is not None else []),
    ]
    source = (
        f"{release.platform}: {release.channel_title}" if release.platform == "feeds" else release.platform
    )
    return f"{who} ({', '.join([source, *notes])})".strip()


def as_document(shown: ShownSeries, *, now: datetime) -> dict[str, Any]:
    """Return a series as JSON shows it; the key of a feed comes without its password."""
    return {
        **vars(shown.series),
        "unread": None if shown.user is None else shown.unread,
        "follow": shown.follow,
        "sources": [
            {
                "pattern": source.pattern,
                "language": source.language,
                **(
                    listing_document(shown.states[source.channel_id], now)
                    if source.channel_id in shown.states
                    else {**vars(source), "key": mask_url(source.key)}
                ),
            }
            for source in shown.sources
        ],
        "chapters": [
            {**vars(chapter), "releases": list(shown.releases.get(chapter.id, ()))}
            for chapter in shown.chapters
        ],
    }
