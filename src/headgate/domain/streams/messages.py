"""What streams hold: messages with attachments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

Lens = Literal["documents", "photos", "everything"]

UNPLACED: Final = -1
"""The position of a message whose platform has none to give; intake allots one by its key."""


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
    """The newest message that the platform reports; `position` is None for an empty stream.

    Where positions are allotted it is None as well, and `key` names the newest message.
    """

    position: int | None
    sent_at: datetime | None = None
    key: str = ""
    bookmark: str = ""
    """Where reading back from the newest message begins; empty where a reading without one does the same."""


@dataclass(frozen=True)
class Page:
    """An answer to a reading: messages, the range it proves, and where to go on.

    Where positions are allotted it proves nothing by itself: intake tells by the keys that it knows.
    """

    messages: tuple[Message, ...]
    proven: Span
    bookmark: str = ""
    exhausted: bool = False
    """The hole that was asked for holds nothing more."""
    unreadable: tuple[str, ...] = ()
    """Keys of messages that are there but cannot be parsed; each is covered and becomes a miss."""
    edited: tuple[str, ...] = ()
    """Keys of older messages that were edited, where the platform tells it as an event of its own."""
    deleted: tuple[str, ...] = ()
    """Keys of older messages that were deleted, told in the same way."""


@dataclass(frozen=True)
class LiveEvent:
    """Something that happened in a stream just now, and what it proves.

    `proven` is None where the platform's events are only hints, and where this one proves nothing. `message`
    is None for a deletion, and for a message that cannot be parsed: `key` names it.

    Where positions are allotted, events follow each other without a gap within a connection, unless a `gap`
    says otherwise. A `mark` is of no stream: it is stored once everything before it is. `channels` is of
    no stream, too: a channel of the account is new, renamed or gone, so they are to be listed again.
    """

    kind: Literal["message", "edit", "delete", "gap", "mark", "channels", "disconnect"]
    stream: str = ""
    message: Message | None = None
    key: str = ""
    proven: Span | None = None
    bookmark: str = ""
    """Of a gap, and of a message where the platform tells it: what lies before is read back from here."""
    memory: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of a mark: what the connector wants to know when it is opened again."""

    @property
    def message_key(self) -> str:
        """Which message it is about."""
        return self.key if self.message is None else self.message.key
