"""Messages as Discord tells them."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator

from headgate.connectors.discord.errors import NotUnderstood
from headgate.connectors.discord.shapes import (
    Shape,
    as_shape,
    as_shapes,
    flag_in,
    id_in,
    number_in,
    optional_id,
    shape_in,
    text_in,
    time_in,
)
from headgate.connectors.discord.snowflakes import Snowflakes
from headgate.domain.streams.messages import Attachment, Message

_REPLY = 19
_FORWARD = 1
_UNKNOWN_TYPE = "application/octet-stream"


def message_of(shape: Shape, snowflakes: Snowflakes) -> Message:
    """Return a message; one that breaks Discord's documented form is `NotUnderstood`."""
    position = id_in(shape)
    bodies = list(_bodies_of(shape))
    files = {id_in(file): file for body in bodies for file in as_shapes(body.get("attachments"))}
    author = shape_in(shape, "author")
    key = str(position)
    return Message(
        position=position,
        key=key,
        sent_at=snowflakes.time_of(position),
        author=text_in(author, "global_name") or text_in(author, "username"),
        author_key=str(optional_id(author, "id") or ""),
        from_bot=flag_in(author, "bot"),
        from_webhook=_is_webhook(shape),
        text="\n".join(text for body in bodies if (text := text_in(body, "content"))),
        album=key if len(files) > 1 else "",
        reply_to=_reply_of(shape),
        edited_at=time_in(shape, "edited_timestamp"),
        attachments=tuple(_attachment_of(file) for file in files.values()),
        links=tuple(dict.fromkeys(link for body in bodies for link in _links_of(body))),
    )


def file_links_of(shape: Shape) -> dict[str, str]:
    """Return where the files of a message are, by their keys."""
    return {
        str(id_in(file)): text_in(file, "url")
        for body in _bodies_of(shape)
        for file in as_shapes(body.get("attachments"))
    }


def _bodies_of(shape: Shape) -> Iterator[Shape]:
    """Yield the message itself, and the messages that it forwards as they were at that time."""
    yield shape
    for snapshot in as_shapes(shape.get("message_snapshots")):
        yield shape_in(snapshot, "message")


def _is_webhook(shape: Shape) -> bool:
    """Tell webhooks from answers to commands, which an application sends in the same way."""
    webhook = optional_id(shape, "webhook_id")
    return webhook is not None and webhook != optional_id(shape, "application_id")


def _reply_of(shape: Shape) -> str:
    reference = shape_in(shape, "message_reference")
    if number_in(shape, "type") != _REPLY or number_in(reference, "type") == _FORWARD:
        return ""
    if optional_id(reference, "channel_id") not in (None, optional_id(shape, "channel_id")):
        return ""
    return str(optional_id(reference, "message_id") or "")


def _attachment_of(file: Shape) -> Attachment:
    name = text_in(file, "filename")
    size = number_in(file, "size")
    if not name or size < 0:
        raise NotUnderstood("a file without a name or a size")
    mime_type = text_in(file, "content_type").partition(";")[0].strip()
    return Attachment(
        key=str(id_in(file)),
        file_name=name,
        size_bytes=size,
        mime_type=mime_type or mimetypes.guess_type(name)[0] or _UNKNOWN_TYPE,
    )


def _links_of(body: Shape) -> Iterator[str]:
    """Yield where embeds lead: the page, and the picture or video that it shows."""
    for embed in as_shapes(body.get("embeds")):
        places = [embed, *(as_shape(embed[name]) for name in ("image", "video") if embed.get(name))]
        yield from (link for place in places if (link := text_in(place, "url")))
