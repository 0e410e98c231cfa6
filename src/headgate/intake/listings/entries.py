"""Entries of listings as releases of chapters: which series an entry belongs to, and which chapter it is.

An entry goes to the first of its listing's series whose pattern fits; one that fits none is a post.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from uuid import UUID

from headgate.domain.listings.chapters import better_title, chapter_key, read_number
from headgate.domain.listings.entry_identity import identity_of
from headgate.domain.listings.listings import BadEntry, Entry
from headgate.domain.listings.title_patterns import TitlePattern
from headgate.domain.text import MAX_TITLE_LENGTH, is_key, stand_in_key, storable
from headgate.storage.listings.listings import Source
from headgate.storage.listings.releases import NewRelease

MAX_URL = 2000


@dataclass
class Classified:
    """Entries, told apart."""

    releases: list[NewRelease] = field(default_factory=list[NewRelease])
    posts: list[Entry] = field(default_factory=list[Entry])
    marks: dict[str, int] = field(default_factory=dict[str, int])
    """Of posts, by their keys."""


@dataclass(frozen=True)
class Answered:
    """What a listing has answered, and which series it brings."""

    channel_id: UUID
    entries: Sequence[Entry]
    sources: Sequence[Source]
    first_look: bool
    bad: Sequence[BadEntry] = ()
    complete: bool = False
    loose_keys: bool = False
    told_before: int = 0
    """Entries that were told after this number may be missing only because the answer is older."""


@dataclass(frozen=True)
class SeriesMatcher:
    """One series that a listing brings, ready to take entries."""

    source: Source
    pattern: TitlePattern | None

    def take(self, entry: Entry, *, fingerprint: int, first_look: bool) -> NewRelease | None:
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
        source = self.source
        chapter = chapter_key(
            storable(number),
            storable(volume),
            entry_key=entry.key,
            source=str(source.channel_id),
            numbers_reset=source.numbers_reset,
        )
        title = storable(title)[:MAX_TITLE_LENGTH]
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
            url=storable(entry.url)[:MAX_URL],
            language=storable(entry.language or source.language).lower(),
            scan_group=storable(entry.group)[:MAX_TITLE_LENGTH],
            external=entry.external,
            published_at=entry.published_at,
            fingerprint=fingerprint,
            first_look=first_look,
            identity=entry_identity(entry),
        )


def entry_identity(entry: Entry) -> int:
    """Return what tells an entry from others if its key changes, made of what is stored of it."""
    return identity_of(storable(entry.title)[:MAX_TITLE_LENGTH], storable(entry.url)[:MAX_URL])


@dataclass(frozen=True)
class Fingerprinted:
    """Entries with the marks by which a change of them is noticed."""

    answered: Answered
    entries: Sequence[Entry]
    fingerprints: Sequence[int]
    bad: Sequence[BadEntry]

    def sort(self, places: Iterable[int]) -> Classified:
        """Tell releases and posts apart, of those entries that are worth it."""
        chutes = [SeriesMatcher(source, _pattern_of(source)) for source in self.answered.sources]
        outcome = Classified()
        for place in places:
            entry, fingerprint = self.entries[place], self.fingerprints[place]
            for chute in chutes:
                release = chute.take(entry, fingerprint=fingerprint, first_look=self.answered.first_look)
                if release is not None:
                    outcome.releases.append(release)
                    break
            else:
                outcome.posts.append(entry)
                outcome.marks[entry.key] = fingerprint
        return outcome


def mark_entries(answered: Answered) -> Fingerprinted:
    """Mark the entries of an answer; of two with one key the first counts.

    A mark is made of everything that the source says of an entry and of how the listing is sorted, so that
    what would be sorted otherwise today is sorted anew.
    """
    salt = "\x1e".join(
        f"{source.series_id.hex}\x1f{source.pattern}\x1f{source.language}\x1f{source.numbers_reset}"
        for source in answered.sources
    )
    entries = list({entry.key: entry for entry in reversed(answered.entries)}.values())
    bad = list(answered.bad)
    if not all(is_key(entry.key) for entry in entries):
        odd = [entry for entry in entries if not is_key(entry.key)]
        bad += [BadEntry(stand_in_key(entry.key), "its key cannot be stored") for entry in odd]
        entries = [entry for entry in entries if is_key(entry.key)]
    return Fingerprinted(answered, entries, [_fingerprint(entry, salt) for entry in entries], bad)


def _pattern_of(source: Source) -> TitlePattern | None:
    return TitlePattern.parse(source.pattern) if source.pattern else None


def _fingerprint(entry: Entry, salt: str) -> int:
    said = (
        f"{entry.title}\x1f{entry.url}\x1f{entry.published_at}\x1f{entry.number}\x1f{entry.volume}"
        f"\x1f{entry.language}\x1f{entry.group}\x1f{entry.external}\x1f{salt}"
    )
    return int.from_bytes(blake2b(said.encode(errors="replace"), digest_size=8).digest(), signed=True)
