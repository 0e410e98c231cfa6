"""Entries of listings as releases of chapters: which series an entry belongs to, and which chapter it is.

An entry goes to the first of its listing's series whose pattern fits; one that fits none is a post.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from headgate.domain.chapters import better_title, chapter_key, read_number
from headgate.domain.listings import BadEntry, Entry
from headgate.domain.text import clipped, is_key, storable
from headgate.domain.title_patterns import TitlePattern
from headgate.storage.listings import Source
from headgate.storage.releases import NewRelease

LONGEST_TITLE = 500
LONGEST_URL = 2000


@dataclass
class Sorted:
    """The entries of an answer, told apart."""

    releases: list[NewRelease] = field(default_factory=list[NewRelease])
    posts: list[Entry] = field(default_factory=list[Entry])
    bad: list[BadEntry] = field(default_factory=list[BadEntry])


@dataclass(frozen=True)
class Chute:
    """One series that a listing brings, ready to take entries."""

    source: Source
    pattern: TitlePattern | None

    def take(self, entry: Entry, *, first_look: bool) -> NewRelease | None:
        """Return the release that an entry is, or nothing if the pattern does not fit."""
        title, number, volume = entry.title, entry.number, entry.volume
        if self.pattern is not None:
            found = self.pattern.match(title)
            if found is None:
                return None
            number, volume = found.number or number, found.volume or volume
            title = found.title or title
        if not number:
            number, volume_read = read_number(title)
            volume = volume or volume_read
        return self._release(entry, title=title, number=number, volume=volume, first_look=first_look)

    def _release(self, entry: Entry, *, title: str, number: str, volume: str, first_look: bool) -> NewRelease:
        source = self.source
        chapter = chapter_key(
            storable(number),
            storable(volume),
            entry_key=entry.key,
            source=str(source.channel_id),
            numbers_reset=source.numbers_reset,
        )
        title = storable(title)[:LONGEST_TITLE]
        url, language = storable(entry.url)[:LONGEST_URL], storable(entry.language or source.language).lower()
        group = storable(entry.group)[:LONGEST_TITLE]
        said = (
            source.series_id.hex, chapter.key, title, url, language, group, str(entry.external),
            str(entry.published_at), chapter.volume,
        )  # fmt: skip
        return NewRelease(
            channel_id=source.channel_id,
            series_id=source.series_id,
            chapter_key=chapter.key,
            place=chapter.place,
            number=chapter.number,
            volume=chapter.volume,
            chapter_title=better_title(title, series=source.series_title, number=chapter.number),
            entry_key=entry.key,
            title=title,
            url=url,
            language=language,
            scan_group=group,
            external=entry.external,
            published_at=entry.published_at,
            fingerprint=_fingerprint(said),
            first_look=first_look,
        )


def chutes_of(sources: Iterable[Source]) -> list[Chute]:
    """Return the series of a listing in the order in which they may take an entry."""
    return [Chute(source, _pattern_of(source)) for source in sources]


def sort_entries(entries: Sequence[Entry], chutes: Sequence[Chute], *, first_look: bool) -> Sorted:
    """Tell releases, posts and what cannot be stored apart; of two entries with one key the first counts."""
    outcome = Sorted()
    for entry in {entry.key: entry for entry in reversed(entries)}.values():
        if not is_key(entry.key):
            outcome.bad.append(BadEntry(clipped(entry.key) or "?", "its key cannot be stored"))
            continue
        for chute in chutes:
            release = chute.take(entry, first_look=first_look)
            if release is not None:
                outcome.releases.append(release)
                break
        else:
            outcome.posts.append(entry)
    return outcome


def _pattern_of(source: Source) -> TitlePattern | None:
    return TitlePattern.parse(source.pattern) if source.pattern else None


def _fingerprint(said: Iterable[str]) -> int:
    digest = blake2b("\x1f".join(said).encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)
