"""The published shapes: what an answer holds, checked piece by piece, with unknown fields left aside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from headgate.connectors.mangadex.errors import NotUnderstood
from headgate.connectors.protocol import FoundChannel
from headgate.domain.listings.listings import BadEntry, Entry

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_NO_GROUP = "no group"

Shape = Mapping[str, object]


class WrongShape(Exception):
    """A piece of an answer is not as published; the message says which."""


@dataclass(frozen=True)
class ApiChapter:
    """A chapter, with what decides whether and when it is told."""

    manga: str
    entry: Entry
    updated_at: datetime
    readable_at: datetime | None
    available: bool
    """Not taken down: an unavailable chapter is listed but cannot be read."""

    def is_readable(self, now: datetime) -> bool:
        return self.available and (self.readable_at is None or self.readable_at <= now)


@dataclass(frozen=True)
class BadChapter:
    """A chapter that is not as published."""

    manga: str
    bad: BadEntry


@dataclass(frozen=True)
class Collection:
    """One page of an answer."""

    rows: tuple[object, ...]
    total: int


def collection_of(answer: Shape) -> Collection:
    """Read the frame of a page; without it nothing in the page can be trusted."""
    rows, total = answer.get("data"), answer.get("total")
    if not isinstance(rows, list) or not isinstance(total, int):
        raise NotUnderstood("the answer of MangaDex is not a page of a list")
    return Collection(tuple(cast("list[object]", rows)), total)


def chapters_of(rows: Iterable[object], *, site: str) -> Iterator[ApiChapter | BadChapter]:
    """Read the chapters of a page; one that is broken is bad, alone."""
    for row in rows:
        try:
            yield _chapter_of(_mapping(row, "the chapter"), site=site)
        except WrongShape as error:
            yield BadChapter(_manga_of(row), BadEntry(_id_of(row) or "unknown", str(error)))


def _chapter_of(row: Shape, *, site: str) -> ApiChapter:
    key = _id_of(row)
    if not key:
        raise WrongShape("the chapter has no id")
    manga = _manga_of(row)
    if not manga:
        raise WrongShape("the chapter belongs to no series")
    attributes = _mapping(row.get("attributes"), "its attributes")
    updated_at, readable_at = _time(attributes, "updatedAt"), _time(attributes, "readableAt")
    if updated_at is None:
        raise WrongShape("updatedAt is missing")
    return ApiChapter(
        manga,
        _entry_of(key, attributes, group=_groups_of(row), site=site),
        updated_at,
        readable_at,
        available=attributes.get("isUnavailable") is not True,
    )


def _entry_of(key: str, attributes: Shape, *, group: str, site: str) -> Entry:
    number, external = _text(attributes, "chapter"), _text(attributes, "externalUrl")
    # A chapter that was held back is news on the day it becomes readable.
    times = [at for at in (_time(attributes, "publishAt"), _time(attributes, "readableAt")) if at is not None]
    is_link = external.startswith(("https://", "http://"))
    return Entry(
        key,
        title=_text(attributes, "title") or ("" if number else "Oneshot"),
        url=external if is_link else f"{site}/chapter/{key}",
        published_at=max(times, default=None),
        number=number,
        volume=_text(attributes, "volume"),
        language=_text(attributes, "translatedLanguage").lower(),
        group=group,
        external=bool(external),
    )


def _groups_of(row: Shape) -> str:
    """Return the names of the groups, always in one order: the answer has none."""
    names: set[str] = set()
    for relation in _relations(row, "scanlation_group"):
        attributes = relation.get("attributes")
        name = _text(cast("Shape", attributes), "name") if isinstance(attributes, dict) else ""
        if name and name.casefold() != _NO_GROUP:
            names.add(name)
    return " & ".join(sorted(names, key=str.casefold))


@dataclass(frozen=True)
class Manga:
    """A series."""

    key: str
    title: str
    numbers_reset: bool | None

    def as_channel(self) -> FoundChannel:
        return FoundChannel(self.key, self.title or self.key, "listing", is_series=True)


def manga_of(row: object) -> Manga | None:
    """Read a series; None where it is not as published."""
    key = _id_of(row)
    attributes = cast("Shape", row).get("attributes") if key else None
    if not isinstance(attributes, dict):
        return None
    attributes = cast("Shape", attributes)
    resets = attributes.get("chapterNumbersResetOnNewVolume")
    return Manga(key, _title_of(attributes), resets if isinstance(resets, bool) else None)


def expanded_manga_of(rows: Sequence[object]) -> Manga | None:
    """Return the series that comes along with its chapters, where it was asked for."""
    relations = (relation for row in rows for relation in _relations(row, "manga"))
    return next((manga for relation in relations if (manga := manga_of(relation))), None)


def _title_of(attributes: Shape) -> str:
    """Return the English title, else the original one in Latin letters, else any."""
    alternatives = attributes.get("altTitles")
    maps = [
        attributes.get("title"),
        *(cast("list[object]", alternatives) if isinstance(alternatives, list) else ()),
    ]
    titles = [
        (language.lower(), clean(title))
        for one in maps
        if isinstance(one, dict)
        for language, title in cast("dict[str, object]", one).items()
        if isinstance(title, str) and title.strip()
    ]
    original = attributes.get("originalLanguage")
    wishes = ("en", f"{original.lower()}-ro" if isinstance(original, str) else "en")
    liked = (title for wish in wishes for language, title in titles if language == wish)
    return next(liked, titles[0][1] if titles else "")


def _relations(row: object, kind: str) -> Iterator[Shape]:
    relations = cast("Shape", row).get("relationships") if isinstance(row, dict) else None
    for one in cast("list[object]", relations) if isinstance(relations, list) else ():
        if isinstance(one, dict) and cast("Shape", one).get("type") == kind:
            yield cast("Shape", one)


def _manga_of(row: object) -> str:
    return next((key for relation in _relations(row, "manga") if (key := _id_of(relation))), "")


def _id_of(row: object) -> str:
    key = cast("Shape", row).get("id") if isinstance(row, dict) else None
    return key.lower() if isinstance(key, str) and UUID.fullmatch(key) else ""


def _mapping(value: object, what: str) -> Shape:
    if not isinstance(value, dict):
        raise WrongShape(f"{what} cannot be read")
    return cast("Shape", value)


def _text(attributes: Shape, name: str) -> str:
    value = attributes.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise WrongShape(f"{name} is no text: {value!r:.80}")
    return clean(value)


def clean(text: str) -> str:
    """Return a text without what no database takes: NUL, and halves of characters."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8").strip()


def _time(attributes: Shape, name: str) -> datetime | None:
    text = _text(attributes, name)
    if not text:
        return None
    try:
        return time_of(text)
    except ValueError:
        raise WrongShape(f"{name} is no time: {text!r:.80}") from None


def time_of(text: str) -> datetime:
    """Read a time as the API writes it; one without an offset is in UTC."""
    at = datetime.fromisoformat(text)
    try:
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except OverflowError:
        raise ValueError(text) from None
