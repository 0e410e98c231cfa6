"""Entries of listings as releases of chapters: which series an entry belongs to, and which chapter it is.

An entry goes to the first of its listing's series whose pattern fits; one that fits none is a post.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


Bad = tuple[UUID, BadEntry]


@dataclass(frozen=True)
class News:
    """What of some listings' entries is new or has changed."""

    releases: list[NewRelease] = field(default_factory=list[NewRelease])
    posts: dict[UUID, list[Entry]] = field(default_factory=dict[UUID, list[Entry]])
    marks: dict[UUID, dict[str, int]] = field(default_factory=dict[UUID, dict[str, int]])
    """Fingerprints of posts, by their keys: an entry that says the same is passed over the next time."""
    bad: list[Bad] = field(default_factory=list[Bad])
    missing: dict[UUID, list[str]] = field(default_factory=dict[UUID, list[str]])
    """Keys of entries that a whole answer does not have."""
    notified_before: dict[UUID, int] = field(default_factory=dict[UUID, int])
    """Entries that were told after this number may be missing only because the answer is older."""
    renamed: dict[UUID, Mapping[str, str]] = field(default_factory=dict[UUID, Mapping[str, str]])
    """Entries that are known under another key: the old one by the new one."""
    first_polls: frozenset[UUID] = frozenset()
    """Listings that were never polled before, so the age of their undated entries is unknown."""


@dataclass(frozen=True)
class SeriesMatcher:
    """One series that a listing brings, ready to take entries."""

    source: Source
    pattern: TitlePattern | None

    def take(self, entry: Entry, *, fingerprint: int, first_poll: bool) -> NewRelease | None:
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
            first_poll=first_poll,
            identity=entry_identity(entry),
        )


def entry_identity(entry: Entry) -> int:
    """Return what tells an entry from others if its key changes, made of what is stored of it."""
    return identity_of(storable(entry.title)[:MAX_TITLE_LENGTH], storable(entry.url)[:MAX_URL])


@dataclass(frozen=True)
class Answered:
    """What a listing has answered, and which series it brings."""

    channel_id: UUID
    entries: Sequence[Entry]
    fingerprints: Sequence[int]
    """Of each entry, in their order: by them a change is noticed."""
    sources: Sequence[Source]
    first_poll: bool
    bad: Sequence[BadEntry] = ()
    complete: bool = False
    loose_keys: bool = False
    notified_before: int = 0

    @classmethod
    def of(
        cls,
        channel_id: UUID,
        entries: Sequence[Entry],
        sources: Sequence[Source],
        *,
        first_poll: bool,
        bad: Sequence[BadEntry] = (),
        complete: bool = False,
        loose_keys: bool = False,
        notified_before: int = 0,
    ) -> Answered:
        """Return an answer with the fingerprints of its entries; of two with one key the first counts.

        A fingerprint is made of everything that the source says of an entry and of how the listing is sorted,
        so that what would be sorted otherwise today is sorted anew.
        """
        salt = "\x1e".join(
            f"{source.series_id.hex}\x1f{source.pattern}\x1f{source.language}\x1f{source.numbers_reset}"
            for source in sources
        )
        entries = list({entry.key: entry for entry in reversed(entries)}.values())
        odd = [entry for entry in entries if not is_key(entry.key)]
        if odd:
            bad = [*bad, *(BadEntry(stand_in_key(entry.key), "its key cannot be stored") for entry in odd)]
            entries = [entry for entry in entries if is_key(entry.key)]
        return cls(
            channel_id,
            entries,
            [_fingerprint(entry, salt) for entry in entries],
            sources,
            first_poll,
            bad,
            complete,
            loose_keys,
            notified_before,
        )

    def sort(self, places: Iterable[int], into: News) -> None:
        """Tell releases and posts apart, of those entries that are worth it."""
        matchers = [SeriesMatcher(source, _pattern_of(source)) for source in self.sources]
        for place in places:
            entry, fingerprint = self.entries[place], self.fingerprints[place]
            for matcher in matchers:
                release = matcher.take(entry, fingerprint=fingerprint, first_poll=self.first_poll)
                if release is not None:
                    into.releases.append(release)
                    break
            else:
                into.posts.setdefault(self.channel_id, []).append(entry)
                into.marks.setdefault(self.channel_id, {})[entry.key] = fingerprint


def _pattern_of(source: Source) -> TitlePattern | None:
    return TitlePattern.parse(source.pattern) if source.pattern else None


def _fingerprint(entry: Entry, salt: str) -> int:
    said = (
        f"{entry.title}\x1f{entry.url}\x1f{entry.published_at}\x1f{entry.number}\x1f{entry.volume}"
        f"\x1f{entry.language}\x1f{entry.group}\x1f{entry.external}\x1f{salt}"
    )
    return int.from_bytes(blake2b(said.encode(errors="replace"), digest_size=8).digest(), signed=True)
