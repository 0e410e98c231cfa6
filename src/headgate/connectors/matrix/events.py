"""What the events of a room mean: messages, edits and deletions.

Times and sizes are the claims of senders. An edit is an event of its own; the server shows the latest one
with the message that it changes, and the message keeps its key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from headgate.connectors.matrix.shapes import Shape, part, text, whole
from headgate.domain.streams.messages import UNPLACED, Attachment, Message

TOLD_TYPES = ("m.room.message", "m.room.redaction")
FILE_KINDS = frozenset({"m.file", "m.image", "m.video", "m.audio"})
MXC = "mxc://"
_LINK = re.compile(r"https?://[^\s<>\"']+")
_QUOTE = re.compile(r"\A(?:> [^\n]*\n)+\n?")
"""The copy of the answered message that older clients put before a reply."""


@dataclass(frozen=True)
class Edited:
    """A message has another content now."""

    key: str


@dataclass(frozen=True)
class Deleted:
    """A message was redacted."""

    key: str


@dataclass(frozen=True)
class Unreadable:
    """A message that cannot be parsed."""

    key: str


Told = Message | Edited | Deleted | Unreadable


@dataclass
class Readings:
    """What a run of events tells."""

    messages: list[Message] = field(default_factory=list[Message])
    edited: list[str] = field(default_factory=list[str])
    deleted: list[str] = field(default_factory=list[str])
    unreadable: list[str] = field(default_factory=list[str])

    @property
    def edited_elsewhere(self) -> list[str]:
        """Return which messages outside these events were edited; those inside are told as they are now."""
        told = {message.key for message in self.messages}
        return [key for key in dict.fromkeys(self.edited) if key not in told]

    @classmethod
    def of(cls, events: Iterable[Shape]) -> Readings:
        readings = cls()
        for event in events:
            match read_event(event):
                case Message() as message:
                    readings.messages.append(message)
                case Edited(key):
                    readings.edited.append(key)
                case Deleted(key):
                    readings.deleted.append(key)
                case Unreadable(key):
                    readings.unreadable.append(key)
                case None:
                    pass
        return readings


def read_event(event: Shape) -> Told | None:
    """Return what an event tells; None for what is no message, such as a reaction or a new name."""
    key, kind = text(event, "event_id"), text(event, "type")
    if kind == "m.room.redaction":
        target = text(event, "redacts") or text(part(event, "content"), "redacts")
        return Deleted(target) if target else None
    if kind != "m.room.message" or not key:
        return None
    if is_redacted(event):
        return Deleted(key)
    relation = part(event, "content", "m.relates_to")
    if text(relation, "rel_type") == "m.replace":
        changed = text(relation, "event_id")
        return Edited(changed) if changed else None
    try:
        return message_of(event)
    except ValueError:
        return Unreadable(key)


def is_redacted(event: Shape) -> bool:
    return "redacted_because" in part(event, "unsigned") or not part(event, "content")


def message_of(event: Shape) -> Message:
    """Return a message as it is now; raise `ValueError` for one without a text or a time."""
    content, edit = current_content(event), _latest_edit(event)
    body = content.get("body")
    if not isinstance(body, str) or not text(content, "msgtype"):
        raise ValueError("a message without a body")
    relation = part(event, "content", "m.relates_to")
    in_thread = text(relation, "rel_type") == "m.thread"
    answered = text(part(relation, "m.in_reply_to"), "event_id")
    attachment = _attachment_of(content)
    shown = _caption_of(content) if attachment else text(content, "body")
    shown = _QUOTE.sub("", shown) if answered else shown
    return Message(
        position=UNPLACED,
        key=text(event, "event_id"),
        sent_at=_time(event),
        author=text(event, "sender"),
        author_key=text(event, "sender"),
        from_bot=text(content, "msgtype") == "m.notice",
        text=shown,
        topic=text(relation, "event_id") if in_thread else "",
        # Within a thread clients without threads get a reply to its last message.
        reply_to="" if in_thread and relation.get("is_falling_back") is True else answered,
        edited_at=None if edit is None else _time(edit),
        attachments=() if attachment is None else (attachment,),
        links=tuple(dict.fromkeys(_LINK.findall(shown))),
    )


def current_content(event: Shape) -> Shape:
    """Return the content after the latest edit."""
    edit = _latest_edit(event)
    changed = {} if edit is None else part(edit, "content", "m.new_content")
    return changed or part(event, "content")


def place_of(content: Shape) -> str:
    """Return where the file of a message lies: server and media id; empty where there is none."""
    address = text(content, "url")
    is_file = text(content, "msgtype") in FILE_KINDS and address.startswith(MXC)
    return address.removeprefix(MXC) if is_file else ""


def _latest_edit(event: Shape) -> Shape | None:
    edit = part(event, "unsigned", "m.relations", "m.replace")
    # Only its sender can change a message; a server that shows another edit is not believed.
    is_edit = bool(edit) and text(edit, "sender") == text(event, "sender") and not is_redacted(edit)
    return edit if is_edit else None


def _attachment_of(content: Shape) -> Attachment | None:
    place, info = place_of(content), part(content, "info")
    if not place:
        return None
    return Attachment(
        key=place,
        file_name=text(content, "filename") or text(content, "body"),
        size_bytes=max(0, min(whole(info, "size") or 0, 2**62)),
        mime_type=text(info, "mimetype") or "application/octet-stream",
        content_id=f"{MXC}{place}",
    )


def _caption_of(content: Shape) -> str:
    """Return the text of a file: its body, unless that is only the file's name."""
    name, body = text(content, "filename"), text(content, "body")
    return body if name and name != body else ""


def _time(event: Shape) -> datetime:
    told_ms = whole(event, "origin_server_ts")
    if told_ms is None:
        raise ValueError("an event without a time")
    try:
        return datetime.fromtimestamp(told_ms / 1000, UTC)
    except (OverflowError, OSError) as error:
        raise ValueError("an event with an impossible time") from error
