"""Sending: each message under a nonce that Discord takes once, and looking for what may have been sent.

Discord shows a nonce in its answer and in the event of the message, never in the history. So what can be
told from the history alone is only whether a message with this content came from the bot since then.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
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
from headgate.domain.reminders.recognition import HistoryMessage, Sought, recognise

_NONCE_LENGTH = 25
_TO_SEND = "View Channel and Send Messages; in a thread Send Messages in Threads; for files Attach Files"
_FORWARD = 1
_MAX_REMEMBERED = 2000


def nonce_of(target: str, key: str) -> str:
    """Return the nonce of a send; Discord compares those of an author across all channels."""
    return hashlib.sha256(f"{target}\n{key}".encode()).hexdigest()[:_NONCE_LENGTH]


class Outbox:
    """What a link has sent, or tried to."""

    def __init__(self, api: Api, spool: Spool, snowflakes: Snowflakes, *, me: int) -> None:
        self._api = api
        self._spool = spool
        self._snowflakes = snowflakes
        self._me = me
        self._sent: OrderedDict[str, Sent] = OrderedDict()

    async def send(self, target: str, part: Part, *, key: str) -> Sent:
        """Send a text or a file, once within Discord's window however often it is called."""
        upload = self._spool.get(part.media) if part.media else None
        payload: dict[str, object] = {"content": part.text}
        if upload is not None:
            payload["attachments"] = [{"id": "0", "filename": upload.name}]
        return await self._post(target, payload, key=key, upload=upload)

    async def forward(self, stream: str, *, message_key: str, target: str, key: str) -> Sent:
        """Pass a message on as Discord's clients do: with a snapshot of it, files included."""
        reference = {"type": _FORWARD, "channel_id": stream, "message_id": message_key}
        return await self._post(target, {"message_reference": reference}, key=key)

    async def _post(
        self,
        target: str,
        payload: dict[str, object],
        *,
        key: str,
        upload: OutgoingUpload | None = None,
    ) -> Sent:
        nonce = nonce_of(target, key)
        guard: dict[str, object] = {"nonce": nonce, "enforce_nonce": True, "allowed_mentions": {"parse": []}}
        with needing(_TO_SEND):
            answer = await self._api.send(f"/channels/{target}/messages", payload | guard, upload)
        return self._note_sent(nonce, id_in(answer))

    async def find(self, target: str, sought: Sought, *, key: str, since: datetime) -> Sent | None:
        """Look for a message that may have been sent; nothing also where that cannot be told."""
        nonce = nonce_of(target, key)
        if nonce in self._sent:
            return self._sent[nonce]
        history = [shape for shape in await self._history(target, since) if self._is_mine(shape)]
        for shape in history:
            if shape.get("nonce") == nonce:
                return self._note_sent(nonce, id_in(shape))
        found = recognise(sought, [candidate_of(shape) for shape in history])
        return None if found is None else self._note_sent(nonce, int(found.key))

    def hear(self, target: str, shape: Shape) -> None:
        """Learn from an event of the gateway that a message of ours has arrived."""
        nonce = shape.get("nonce")
        if isinstance(nonce, str) and self._is_mine(shape):
            self._note_sent(nonce, id_in(shape))

    async def _history(self, target: str, since: datetime) -> list[Shape]:
        after = str(max(0, self._snowflakes.first_at(since) - 1))
        params = {"after": after, "limit": str(PAGE_SIZE)}
        return as_shapes(await self._api.get(f"/channels/{target}/messages", params))

    def _is_mine(self, shape: Shape) -> bool:
        return optional_id(shape_in(shape, "author"), "id") == self._me

    def _note_sent(self, nonce: str, position: int) -> Sent:
        sent = self._sent[nonce] = Sent(str(position), self._snowflakes.time_of(position))
        if len(self._sent) > _MAX_REMEMBERED:
            self._sent.popitem(last=False)
        return sent


def candidate_of(shape: Shape) -> HistoryMessage:
    """Return what a message of the history holds, as it was sent."""
    key, reference = str(id_in(shape)), shape_in(shape, "message_reference")
    if number_in(reference, "type") == _FORWARD:
        return HistoryMessage(key, forwarded=text_in(reference, "message_id"))
    files = [text_in(file, "filename") for file in as_shapes(shape.get("attachments"))]
    return HistoryMessage(key, text_in(shape, "content"), files[0] if files else "")
