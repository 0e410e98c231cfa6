"""What is sent: the contents of messages, and the handles of uploads."""

from __future__ import annotations

import json
from typing import cast

from headgate.connectors.matrix.errors import NotPossible
from headgate.connectors.matrix.events import current_content
from headgate.connectors.matrix.shapes import Shape, text, whole
from headgate.connectors.protocol import OutgoingFile, Part

MAX_CONTENT_BYTES = 60_000
"""An event has at most 65,536 bytes, with what the server adds."""
_KINDS = {"image": "m.image", "video": "m.video", "audio": "m.audio"}


def handle_of(file: OutgoingFile, address: str) -> str:
    """Return a handle with everything that a message about the file says."""
    return json.dumps(
        {"url": address, "name": file.name, "mime_type": file.mime_type, "size_bytes": file.size_bytes}
    )


def content_of(sent: Part) -> Shape:
    """Return the content of a message; raise `NotPossible` for one that is too long."""
    content: Shape = {"msgtype": "m.text", "body": sent.text}
    if sent.media:
        content = _file_content(cast("Shape", json.loads(sent.media)), sent.text)
    return _checked(content)


def forwarded(event: Shape) -> Shape:
    """Return the content of a message to send on: as it is now, and without what it answered."""
    left_out = ("m.relates_to", "m.mentions")
    return _checked({name: value for name, value in current_content(event).items() if name not in left_out})


def _file_content(media: Shape, caption: str) -> Shape:
    name, mime_type = text(media, "name"), text(media, "mime_type")
    return {
        "msgtype": _KINDS.get(mime_type.partition("/")[0], "m.file"),
        "body": caption or name,
        "filename": name,
        "url": text(media, "url"),
        "info": {"mimetype": mime_type, "size": whole(media, "size_bytes") or 0},
    }


def _checked(content: Shape) -> Shape:
    size = len(json.dumps(content, ensure_ascii=False).encode(errors="replace"))
    if size > MAX_CONTENT_BYTES:
        raise NotPossible(f"the message has {size:,} bytes, and Matrix takes {MAX_CONTENT_BYTES:,} at most")
    return content
