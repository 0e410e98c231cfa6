"""One message as the simulated platform keeps it: a few numbers, and its content as a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from headgate.domain.streams.messages import Attachment, Lens, Message
from headgate.testing.content.content import Content, SimFile, WrittenContent, write_out
from headgate.testing.platform.streams.positions import from_ms


@dataclass(slots=True)
class Row:
    """A message, with what will have happened to it by when."""

    position: int
    arrived_ms: int
    content: Content
    topic: str = ""
    album: str = ""
    reply_to: int | None = None
    """Position of the message that it answers."""
    skew_ms: int = 0
    """How wrong the time is that the message claims for itself."""
    visible_ms: int = 0
    """From when on `heads` and `read` tell of it."""
    edited_ms: int | None = None
    edited_content: Content | None = None
    deleted_ms: int | None = None
    garbled: bool = False
    """The platform tells of it in a way that nobody can parse."""
    former: tuple[Content, ...] = ()
    """What it was before `content`, oldest first."""

    def is_visible(self, at_ms: int) -> bool:
        return self.visible_ms <= at_ms and not self.is_deleted(at_ms)

    def is_deleted(self, at_ms: int) -> bool:
        return self.deleted_ms is not None and self.deleted_ms <= at_ms

    def is_edited(self, at_ms: int) -> bool:
        return self.edited_ms is not None and self.edited_ms <= at_ms

    def content_at(self, at_ms: int) -> Content:
        if self.edited_content is not None and self.is_edited(at_ms):
            return self.edited_content
        return self.content

    def forms(self, at_ms: int) -> tuple[Content, ...]:
        """Return everything that the message has been until a time, oldest first."""
        edited = self.edited_content if self.is_edited(at_ms) else None
        return (*self.former, self.content) if edited is None else (*self.former, self.content, edited)


def write_row(row: Row, *, at_ms: int) -> WrittenContent:
    """Return what a message says at a time."""
    return write_out(row.content_at(at_ms))


def tell_message(row: Row, *, at_ms: int, shift: int, names_content: bool) -> Message:
    """Return a message as the platform tells it to an account whose positions are shifted."""
    written = write_row(row, at_ms=at_ms)
    return Message(
        position=row.position + shift,
        key=str(row.position + shift),
        sent_at=from_ms(row.arrived_ms) + timedelta(milliseconds=row.skew_ms),
        author=written.author,
        from_bot=written.from_bot,
        from_webhook=written.from_webhook,
        text=written.text,
        topic=row.topic,
        album=row.album,
        reply_to="" if row.reply_to is None else str(row.reply_to + shift),
        edited_at=from_ms(row.edited_ms) if row.edited_ms is not None and row.is_edited(at_ms) else None,
        attachments=tuple(
            _tell_file(n, file, names_content=names_content) for n, file in enumerate(written.files)
        ),
        links=written.links,
    )


def _tell_file(n: int, file: SimFile, *, names_content: bool) -> Attachment:
    return Attachment(
        key=f"a{n}",
        file_name=file.name,
        size_bytes=file.size_bytes,
        mime_type=file.mime_type,
        content_id=file.content_id if names_content else "",
    )


def matches_lens(files: Sequence[SimFile], lens: Lens) -> bool:
    """Say whether a search for documents or photos finds a message with these files."""
    pictures = [file.mime_type.startswith("image/") for file in files]
    return any(pictures) if lens == "photos" else not all(pictures)
