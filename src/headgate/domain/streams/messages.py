"""What streams hold: messages with attachments."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Lens = Literal["documents", "photos", "everything"]


@dataclass(frozen=True, order=True)
class Span:
    """A half-open range of positions: `start` is in it, `end` is not."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.start > self.end:
            raise ValueError(f"a span cannot end ({self.end}) before it starts ({self.start})")

    def __contains__(self, position: int) -> bool:
        return self.start <= position < self.end

    @property
    def empty(self) -> bool:
        return self.start == self.end


@dataclass(frozen=True)
class Attachment:
    """One file of a message. The key stays the same for the life of the message."""

    key: str
    file_name: str
    size_bytes: int
    mime_type: str
    content_id: str = ""
    """What the platform calls the content itself, equal for reposts; empty where it has no name."""


@dataclass(frozen=True)
class Message:
    """One message of a stream, as the platform tells it."""

    position: int
    key: str
    sent_at: datetime
    author: str = ""
    """The name that people see."""
    author_key: str = ""
    """Who it is on the platform, under whatever name; empty where only the name tells."""
    from_bot: bool = False
    from_webhook: bool = False
    text: str = ""
    topic: str = ""
    album: str = ""
    reply_to: str = ""
    """Key of the message of the same stream that this one answers."""
    edited_at: datetime | None = None
    attachments: tuple[Attachment, ...] = ()
    links: tuple[str, ...] = ()


@dataclass(frozen=True)
class Head:
    """The newest position that the platform reports; `position` is None for an empty stream."""

    position: int | None
    sent_at: datetime | None = None


@dataclass(frozen=True)
class Page:
    """An answer to a reading: messages, the range it proves, and where to go on."""

    messages: tuple[Message, ...]
    proven: Span
    bookmark: str = ""
    exhausted: bool = False
    """The hole that was asked for holds nothing more."""
    unreadable: tuple[str, ...] = ()
    """Keys of messages that are there but cannot be parsed; each is covered and becomes a miss."""


@dataclass(frozen=True)
class LiveEvent:
    """Something that happened in a stream just now, and what it proves.

    `proven` is None where the platform's events are only hints, and where this one proves nothing. `message`
    is None for a deletion, and for a message that cannot be parsed: `key` names it.
    """

    kind: Literal["message", "edit", "delete", "disconnect"]
    stream: str = ""
    message: Message | None = None
    key: str = ""
    proven: Span | None = None
