"""Sending: each message under a nonce that Discord takes once, and looking for what may have been sent.

Discord shows a nonce in its answer and in the event of the message, never in the history. So what can be
told from the history alone is only whether a message with this content came from the bot since then; where
several sends of the same content are open, nothing is claimed.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from headgate.connectors.discord.manifest import PAGE_SIZE
from headgate.connectors.discord.rest import Api, OutgoingUpload, needing
from headgate.connectors.discord.shapes import (
    Shape,
    as_shapes,
    id_in,
    number_in,
    optional_id,
    shape_in,
    text_in,
)
from headgate.connectors.discord.snowflakes import Snowflakes
from headgate.connectors.discord.spool import Spool
from headgate.connectors.protocol import Part, Sent

_NONCE_LENGTH = 25
_TO_SEND = "View Channel and Send Messages; in a thread Send Messages in Threads; for files Attach Files"
_FORWARD = 1
_MAX_REMEMBERED = 2000


def nonce_of(target: str, key: str) -> str:
    """Return the nonce of a send; Discord compares those of an author across all channels."""
    return hashlib.sha256(f"{target}\n{key}".encode()).hexdigest()[:_NONCE_LENGTH]


@dataclass(frozen=True)
class Content:
    """What tells one message from another in a history that shows no nonce."""

    text: str = ""
    file_name: str = ""
    forwarded: str = ""


@dataclass
class _Attempt:
    target: str
    content: Content
    sent: Sent | None = None


class Outbox:
    """What a link has sent, or tried to."""

    def __init__(self, api: Api, spool: Spool, snowflakes: Snowflakes, *, me: int) -> None:
        self._api = api
        self._spool = spool
        self._snowflakes = snowflakes
        self._me = me
        self._attempts: OrderedDict[str, _Attempt] = OrderedDict()

    async def send(self, target: str, part: Part, *, key: str) -> Sent:
        """Send a text or a file, once within Discord's window however often it is called."""
        upload = self._spool.get(part.media) if part.media else None
        payload: dict[str, object] = {"content": part.text}
        if upload is not None:
            payload["attachments"] = [{"id": "0", "filename": upload.name}]
        content = Content(part.text.strip(), upload.name if upload else "")
        return await self._post(target, payload, content, key=key, upload=upload)

    async def forward(self, stream: str, *, message_key: str, target: str, key: str) -> Sent:
        """Pass a message on as Discord's clients do: with a snapshot of it, files included."""
        reference = {"type": _FORWARD, "channel_id": stream, "message_id": message_key}
        content = Content(forwarded=message_key)
        return await self._post(target, {"message_reference": reference}, content, key=key)

    async def _post(
        self,
        target: str,
        payload: dict[str, object],
        content: Content,
        *,
        key: str,
        upload: OutgoingUpload | None = None,
    ) -> Sent:
        nonce = nonce_of(target, key)
        self._remember(nonce, _Attempt(target, content))
        guard: dict[str, object] = {"nonce": nonce, "enforce_nonce": True, "allowed_mentions": {"parse": []}}
        with needing(_TO_SEND):
            answer = await self._api.send(f"/channels/{target}/messages", payload | guard, upload)
        return self._note_sent(nonce, id_in(answer))

    async def find(self, target: str, *, key: str, since: datetime) -> Sent | None:
        """Look for a message that may have been sent; nothing also where that cannot be told."""
        nonce = nonce_of(target, key)
        attempt = self._attempts.get(nonce)
        if attempt is not None and attempt.sent is not None:
            return attempt.sent
        history = await self._history(target, since)
        for shape in history:
            if shape.get("nonce") == nonce:
                return self._note_sent(nonce, id_in(shape))
        return None if attempt is None else self._by_content(nonce, attempt, history)

    def hear(self, target: str, shape: Shape) -> None:
        """Learn from an event of the gateway that a message of ours has arrived."""
        nonce = shape.get("nonce")
        if isinstance(nonce, str) and nonce in self._attempts and self._is_mine(shape):
            self._note_sent(nonce, id_in(shape))

    async def _history(self, target: str, since: datetime) -> list[Shape]:
        after = str(max(0, self._snowflakes.first_at(since) - 1))
        params = {"after": after, "limit": str(PAGE_SIZE)}
        return as_shapes(await self._api.get(f"/channels/{target}/messages", params))

    def _by_content(self, nonce: str, attempt: _Attempt, history: Sequence[Shape]) -> Sent | None:
        """Match by content if each open send of it has a message of its own; otherwise it is a guess."""
        claimed = {one.sent.key for one in self._attempts.values() if one.sent is not None}
        found = [
            shape
            for shape in history
            if self._is_mine(shape)
            and content_of(shape) == attempt.content
            and str(id_in(shape)) not in claimed
        ]
        rivals = [
            one
            for one in self._attempts.values()
            if one.sent is None and (one.target, one.content) == (attempt.target, attempt.content)
        ]
        if not found or len(found) < len(rivals):
            return None
        return self._note_sent(nonce, min(id_in(shape) for shape in found))

    def _is_mine(self, shape: Shape) -> bool:
        return optional_id(shape_in(shape, "author"), "id") == self._me

    def _remember(self, nonce: str, attempt: _Attempt) -> None:
        self._attempts.setdefault(nonce, attempt)
        self._attempts.move_to_end(nonce)
        if len(self._attempts) > _MAX_REMEMBERED:
            self._attempts.popitem(last=False)

    def _note_sent(self, nonce: str, position: int) -> Sent:
        sent = Sent(str(position), self._snowflakes.time_of(position))
        if nonce in self._attempts:
            self._attempts[nonce].sent = sent
        return sent


def content_of(shape: Shape) -> Content:
    """Return what a message of the history holds, as it was sent."""
    reference = shape_in(shape, "message_reference")
    if number_in(reference, "type") == _FORWARD:
        return Content(forwarded=text_in(reference, "message_id"))
    files = [text_in(file, "filename") for file in as_shapes(shape.get("attachments"))]
    return Content(text_in(shape, "content").strip(), files[0] if files else "")
