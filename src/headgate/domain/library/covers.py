"""Which picture stands for a thing: what was posted with it, then what is inside it, then what can be drawn.

The answer is a list, the best first, since a picture may turn out to be damaged: the next one is tried. Equal
facts give equal lists. A picture that a person chose is never replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from headgate.domain.file_types import type_by_name
from headgate.domain.library.cover_names import (
    MAX_MODEL_BYTES,
    MAX_VIDEO_BYTES,
    is_good_image,
    is_usable_image,
    rank_image,
    rank_model,
)

CoverReason = Literal[
    "set_by_person",
    "own_picture",
    "album_photo",
    "replied_photo",
    "photo_before",
    "image_inside",
    "embedded_thumbnail",
    "drawn_model",
    "video_poster",
    "leftover_image",
]

MESSAGES: dict[CoverReason, str] = {
    "set_by_person": "Chosen by you",
    "own_picture": "The picture itself",
    "album_photo": "Posted in the same album",
    "replied_photo": "The post replies to this photo",
    "photo_before": "Posted right before by the same author",
    "image_inside": "Found inside the archive",
    "embedded_thumbnail": "Embedded in the 3MF file",
    "drawn_model": "Drawn from the model",
    "video_poster": "Frame of the video",
    "leftover_image": "The only image inside",
}
"""What people read as the reason."""

POSTED: frozenset[CoverReason] = frozenset({"album_photo", "replied_photo", "photo_before"})
"""Pictures that are photos of messages, not of the thing's own files."""
MAX_PHOTO_AGE = timedelta(hours=1)
"""A photo that was posted longer before its file belongs to something else."""
MAX_COVERS = 12
"""More candidates are never tried."""
_MODELS = {"model/stl", "model/obj", "model/3mf"}


@dataclass(frozen=True)
class Photo:
    """A photo of a message, by whatever key the caller knows it."""

    key: str
    size_bytes: int = 0


@dataclass(frozen=True)
class NearbyMessage:
    """A message around the thing, with photos or without."""

    key: str
    position: int
    sent_at: datetime
    author: str = ""
    topic: str = ""
    album: str = ""
    reply_to: str = ""
    photos: tuple[Photo, ...] = ()


@dataclass(frozen=True)
class CoverFile:
    """A file of the thing; all volumes of a set are one file."""

    key: str
    name: str
    size_bytes: int


@dataclass(frozen=True)
class ContentEntry:
    """A file inside one of the thing's archives."""

    file_key: str
    path: str
    size_bytes: int


@dataclass(frozen=True)
class CoverFacts:
    """All that the choice depends on."""

    title: str
    message: NearbyMessage | None = None
    """The first message that holds a file of the thing."""
    nearby: tuple[NearbyMessage, ...] = ()
    """Messages of the same album, the one replied to, and those before, in any order."""
    files: tuple[CoverFile, ...] = ()
    entries: tuple[ContentEntry, ...] = ()
    person_chose: bool = False


@dataclass(frozen=True)
class Cover:
    """A picture to make: of a photo, of a file, or of an entry inside a file."""

    reason: CoverReason
    key: str = ""
    """Of the photo or the file."""
    path: str = ""
    """Of the entry; empty for the file itself."""


def list_covers(facts: CoverFacts) -> tuple[Cover, ...]:
    """Return the pictures to try, the best first; empty if a person chose one, or there is none."""
    if facts.person_chose:
        return ()
    candidates = [*_own_pictures(facts), *_posted(facts), *_inside(facts)]
    return tuple(dict.fromkeys(candidates))[:MAX_COVERS]


def choose_cover(facts: CoverFacts) -> Cover | None:
    """Return the best picture; None if there is nothing to make one of."""
    if facts.person_chose:
        return Cover("set_by_person")
    return next(iter(list_covers(facts)), None)


def _own_pictures(facts: CoverFacts) -> Iterator[Cover]:
    """Yield the picture that a thing is, rather than one that was posted beside it."""
    if facts.files and all(_kind(file.name) == "image" for file in facts.files):
        for file in sorted(facts.files, key=lambda file: rank_image(file.name, file.size_bytes, facts.title)):
            yield Cover("own_picture", file.key)


def _posted(facts: CoverFacts) -> Iterator[Cover]:
    if facts.message is None:
        return
    message = facts.message
    others = sorted(facts.nearby, key=lambda each: (each.position, each.key))
    album = [each for each in (message, *others) if each.album and each.album == message.album]
    yield from _photos("album_photo", [*album, message])
    replied = [each for each in others if message.reply_to and each.key == message.reply_to]
    yield from _photos("replied_photo", _whole_album(replied, others))
    yield from _photos("photo_before", _whole_album(_directly_before(message, others), others))


def _photos(reason: CoverReason, messages: Iterable[NearbyMessage]) -> Iterator[Cover]:
    ordered = sorted(messages, key=lambda each: (each.position, each.key))
    for photo in (photo for message in ordered for photo in message.photos):
        yield Cover(reason, photo.key)


def _whole_album(found: list[NearbyMessage], others: list[NearbyMessage]) -> list[NearbyMessage]:
    """Return the messages with the rest of their album, whose first photo is the one to show."""
    albums = {message.album for message in found if message.album}
    return [*found, *(each for each in others if each.album in albums and each not in found)]


def _directly_before(message: NearbyMessage, others: list[NearbyMessage]) -> list[NearbyMessage]:
    """Return the last message before in the same topic, if the same author posted it for this thing."""
    before = [each for each in others if each.topic == message.topic and each.position < message.position]
    if not before:
        return []
    last = before[-1]
    is_answer = last.reply_to not in {"", message.key}
    is_recent = message.sent_at - last.sent_at <= MAX_PHOTO_AGE
    same_author = bool(message.author) and last.author == message.author
    return [last] if same_author and is_recent and not is_answer else []


def _inside(facts: CoverFacts) -> Iterator[Cover]:
    images = [entry for entry in facts.entries if _kind(entry.path) == "image"]
    usable = [entry for entry in images if is_usable_image(entry.path, entry.size_bytes)]
    usable.sort(key=lambda entry: (*rank_image(entry.path, entry.size_bytes, facts.title), entry.file_key))
    good = [entry for entry in usable if is_good_image(entry.path, entry.size_bytes, facts.title)]
    yield from (Cover("image_inside", entry.file_key, entry.path) for entry in good)
    yield from _drawn(facts)
    # Textures and icons are better than nothing, and no better than a drawing.
    yield from (Cover("leftover_image", entry.file_key, entry.path) for entry in usable if entry not in good)


def _drawn(facts: CoverFacts) -> Iterator[Cover]:
    things = [ContentEntry(file.key, "", file.size_bytes) for file in facts.files]
    names = {file.key: file.name for file in facts.files}

    def name(entry: ContentEntry) -> str:
        return entry.path or names[entry.file_key]

    everything = [*things, *facts.entries]
    models = [
        entry
        for entry in everything
        if _kind(name(entry)) == "model" and 0 < entry.size_bytes <= MAX_MODEL_BYTES
    ]
    models.sort(key=lambda entry: (*rank_model(name(entry), entry.size_bytes, facts.title), entry.file_key))
    for entry in models:
        if type_by_name(name(entry)) == "model/3mf":
            yield Cover("embedded_thumbnail", entry.file_key, entry.path)
    yield from (Cover("drawn_model", entry.file_key, entry.path) for entry in models)
    videos = [entry for entry in everything if _kind(name(entry)) == "video"]
    for entry in sorted(videos, key=lambda entry: (entry.path.count("/"), name(entry), entry.file_key)):
        if not entry.path or entry.size_bytes <= MAX_VIDEO_BYTES:
            yield Cover("video_poster", entry.file_key, entry.path)


def _kind(name: str) -> Literal["image", "model", "video", ""]:
    mime_type = type_by_name(name)
    if mime_type in _MODELS:
        return "model"
    if mime_type.startswith("video/"):
        return "video"
    return "image" if mime_type.startswith("image/") else ""
