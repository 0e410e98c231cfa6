"""How a thing of the library is sent on: by reference, as its files, or as a text. A pure decision.

By reference costs no upload, but sends a whole message: that is only right if the message holds nothing else.
A file that is larger than the platform takes is cut into numbered pieces. Joined in their order they are the
file again: `cat`, 7-Zip and Headgate itself read `.001`, `.002` and so on.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

Way = Literal["forward", "upload", "text"]
Fetching = Literal["stored", "coming", "lost"]

MAX_MESSAGES = 1_000
"""Messages that one thing may take."""
MAX_CAPTION_LENGTH = 1_000
MAX_TEXT_LENGTH = 4_000


@dataclass(frozen=True)
class SourceMessage:
    """A message that a thing was seen in and that is still there."""

    key: str
    text: str
    alone: bool
    """It holds nothing but this thing."""


@dataclass(frozen=True)
class SourceFile:
    """A volume of a thing, or its only file."""

    number: int
    name: str
    mime_type: str
    size_bytes: int
    fetching: Fetching
    """Whether its content is stored, still to come, or cannot be fetched."""
    blob_id: UUID | None
    sha256: bytes | None
    messages: tuple[str, ...]
    """Keys of the messages that hold it, the first one first."""


@dataclass(frozen=True)
class Thing:
    """What is known of an item when it is to be sent."""

    title: str
    url: str
    files: tuple[SourceFile, ...]
    messages: tuple[SourceMessage, ...]


@dataclass(frozen=True)
class Piece:
    """A stored file, or a range of one that is too large."""

    name: str
    mime_type: str
    size_bytes: int
    offset_bytes: int
    blob_id: UUID
    sha256: bytes
    """Of the whole file."""


@dataclass(frozen=True)
class PlannedMessage:
    """One message to send; forwarded ones have neither text nor piece."""

    volumes: tuple[int, ...] = ()
    text: str = ""
    forward_key: str = ""
    piece: Piece | None = None


@dataclass(frozen=True)
class SendPlan:
    """How a thing is sent, message by message."""

    way: Way
    messages: tuple[PlannedMessage, ...]


@dataclass(frozen=True)
class FilesMissing:
    """Files must be fetched before the thing can be sent."""

    stored: int
    total: int


@dataclass(frozen=True)
class Unsendable:
    """The thing cannot be sent."""

    reason: str


def plan_sending(
    thing: Thing, *, can_forward: bool, max_bytes: int, sent: Collection[int] = ()
) -> SendPlan | FilesMissing | Unsendable:
    """Decide how a thing is sent; `sent` are volumes that an earlier try has already sent."""
    files = [file for file in thing.files if file.number not in sent]
    forwards = _forwards(thing, files) if can_forward else ()
    if forwards:
        return SendPlan("forward", forwards)
    if not thing.files:
        return _plan_text(thing)
    if any(file.fetching == "lost" for file in files):
        return Unsendable("a file of it could not be fetched")
    missing = sum(file.fetching == "coming" for file in files)
    if missing:
        return FilesMissing(len(thing.files) - missing, len(thing.files))
    return _plan_uploads(thing, files, max_bytes)


def split_file(name: str, size_bytes: int, *, max_bytes: int) -> list[tuple[str, int, int]]:
    """Return name, offset and size of each piece of a file; a small one is one piece with its own name."""
    if size_bytes <= max_bytes:
        return [(name, 0, size_bytes)]
    offsets = range(0, size_bytes, max_bytes)
    width = max(3, len(str(len(offsets))))
    return [
        (f"{name}.{number:0{width}d}", offset, min(max_bytes, size_bytes - offset))
        for number, offset in enumerate(offsets, start=1)
    ]


def _forwards(thing: Thing, files: Sequence[SourceFile]) -> tuple[PlannedMessage, ...]:
    """Return the messages that hold the files and nothing else; none if a file is in no such message."""
    whole = [message.key for message in thing.messages if message.alone]
    if not thing.files:
        return tuple(PlannedMessage(forward_key=key) for key in whole[:1])
    volumes: dict[str, list[int]] = {}
    for file in files:
        key = next((key for key in file.messages if key in whole), None)
        if key is None:
            return ()
        volumes.setdefault(key, []).append(file.number)
    return tuple(PlannedMessage(tuple(numbers), forward_key=key) for key, numbers in volumes.items())


def _plan_text(thing: Thing) -> SendPlan | Unsendable:
    said = next((message.text for message in thing.messages if message.text.strip()), "")
    lines = [thing.title, thing.url or said]
    text = "\n".join(dict.fromkeys(line.strip() for line in lines if line.strip()))[:MAX_TEXT_LENGTH]
    if not text:
        return Unsendable("it has neither files nor a text")
    return SendPlan("text", (PlannedMessage(text=text),))


def _plan_uploads(thing: Thing, files: Sequence[SourceFile], max_bytes: int) -> SendPlan | Unsendable:
    pieces = [
        (file.number, Piece(name, file.mime_type, size_bytes, offset_bytes, file.blob_id, file.sha256))
        for file in files
        if file.blob_id is not None and file.sha256 is not None
        for name, offset_bytes, size_bytes in split_file(file.name, file.size_bytes, max_bytes=max_bytes)
    ]
    if len(pieces) > MAX_MESSAGES:
        return Unsendable(f"it would take {len(pieces):,} messages, and at most {MAX_MESSAGES:,} are sent")
    said = next((message.text for message in thing.messages if message.text.strip()), "")
    caption = said.strip()[:MAX_CAPTION_LENGTH]
    return SendPlan(
        "upload",
        tuple(
            PlannedMessage((number,), caption if place == 0 else "", piece=piece)
            for place, (number, piece) in enumerate(pieces)
        ),
    )
