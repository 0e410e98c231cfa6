"""One account's connection to its homeserver."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from itertools import count

from headgate.connectors.listing_link import ListingLink
from headgate.connectors.matrix import filters, requests
from headgate.connectors.matrix.encryption import Encryption
from headgate.connectors.matrix.errors import Refused
from headgate.connectors.matrix.events import Readings, current_content, is_redacted, place_of, read_event
from headgate.connectors.matrix.http import Homeserver
from headgate.connectors.matrix.live import SYNC, tell_start, tell_sync
from headgate.connectors.matrix.manifest import PAGE_SIZE
from headgate.connectors.matrix.rooms import channels_of, invited, joined, read_rooms
from headgate.connectors.matrix.sending import Sending
from headgate.connectors.matrix.shapes import Shape, part, parts, text, texts
from headgate.connectors.protocol import FoundChannel, MediaHandle, Memory, OutgoingFile, Part, Sent
from headgate.domain.errors import Gone
from headgate.domain.reminders.recognition import Sought
from headgate.domain.streams.messages import Head, Lens, LiveEvent, Message, Page, Span
from headgate.kernel.clock import Clock
from headgate.kernel.logs import get_logger

log = get_logger("matrix")

FIRST_SYNC_S = 120.0
"""How long a server may take to list all rooms of an account."""
_WAITS = 1000


@dataclass(frozen=True)
class MatrixAccount:
    """Whose connection it is, and what the person has chosen."""

    user_id: str
    accepts_invitations: bool = False
    rooms: tuple[str, ...] = ()
    """Addresses of rooms to join once."""


class MatrixLink(ListingLink):
    """Reads rooms, listens to them, and sends to them."""

    platform = "Matrix"

    def __init__(
        self, server: Homeserver, account: MatrixAccount, memory: Memory, clock: Clock, *, sync_s: float
    ) -> None:
        self._server = server
        self._account = account
        self._memory = memory
        self._sync_s = sync_s
        self._encryption = Encryption(server, clock)
        self._sending = Sending(server, self._encryption, clock, user_id=account.user_id)
        self._waits: Iterator[int] = count(int(clock.now().timestamp() * 1000) % _WAITS)

    async def discover(self) -> Sequence[FoundChannel]:
        """List the rooms of the account, after joining those that it is to be in."""
        answer = await self._first_sync(filters.rooms())
        if await self._join_wanted(answer):
            answer = await self._first_sync(filters.rooms())
        self._encryption.learn(answer, is_whole=True)
        return channels_of(read_rooms(answer))

    async def heads(self, streams: Sequence[str]) -> Mapping[str, Head]:
        rooms = [stream for stream in streams if stream.startswith("!")]
        if not rooms:
            return {}
        answer = await self._first_sync(filters.heads(rooms))
        self._encryption.learn(answer, is_whole=True)
        token = text(answer, "next_batch")
        heads = {
            room: Head(None) if self._encryption.is_known(room) else _head_of(told, token)
            for room, told in joined(answer)
        }
        if len(heads) < len(rooms):
            # A sync leaves out rooms without messages, and those that the account is not in.
            answer = await self._server.ask(requests.joined_rooms())
            empty = set(texts(answer, "joined_rooms")) & set(rooms) - heads.keys()
            heads |= dict.fromkeys(empty, Head(None))
        return heads

    async def read(
        self, stream: str, *, lens: Lens, hole: Span, bound: int, bookmark: str, limit: int
    ) -> Page:
        nothing = Span(hole.start, hole.start)
        if await self._encryption.is_on(stream):
            return Page((), nothing, exhausted=True)
        asked = requests.messages(stream, start=bookmark, limit=min(limit, PAGE_SIZE), only=filters.history())
        answer = await self._server.ask(asked)
        readings = Readings.of(parts(answer, "chunk"))
        onward = text(answer, "end")
        return Page(
            tuple(readings.messages),
            nothing,
            bookmark=onward,
            exhausted=not onward,
            unreadable=tuple(readings.unreadable),
            edited=tuple(readings.edited_elsewhere),
            deleted=tuple(dict.fromkeys(readings.deleted)),
        )

    async def message(self, stream: str, key: str) -> Message | None:
        event = await self._event(stream, key)
        told = None if event is None else read_event(event)
        return told if isinstance(told, Message) else None

    async def listen(self) -> AsyncGenerator[LiveEvent, None]:
        since = self._memory.values.get(SYNC, "")
        if not since:
            answer = await self._first_sync(filters.live())
            since = text(answer, "next_batch")
            for event in tell_start(answer):
                yield event
        while True:
            answer = await self._server.ask(
                requests.sync(since=since, wait_ms=int(self._sync_s * 1000), only=filters.live()),
                patience_s=self._sync_s,
            )
            self._encryption.learn(answer, is_whole=False)
            for event in tell_sync(answer, since=since):
                yield event
            since = text(answer, "next_batch") or since
            await self._accept_invitations(answer)

    async def download(
        self, stream: str, *, message_key: str, attachment_key: str, offset: int = 0
    ) -> AsyncGenerator[bytes, None]:
        """Yield a file; servers keep the files of redacted messages, so the message is asked for first."""
        event = await self._event(stream, message_key)
        if event is None or place_of(current_content(event)) != attachment_key:
            raise Gone("the message with this file was deleted or changed")
        try:
            async for chunk in self._server.stream(requests.download(attachment_key)):
                yield chunk
        except Refused as refusal:
            if refusal.code != "M_UNRECOGNIZED":
                raise
            async for chunk in self._server.stream(requests.download(attachment_key, old=True)):
                yield chunk

    async def prepare(self, target: str) -> None:
        """Nothing needs to be prepared."""

    async def upload(self, file: OutgoingFile) -> MediaHandle:
        return await self._sending.upload(file)

    async def send(self, target: str, part: Part, *, key: str) -> Sent:
        return await self._sending.send(target, part, key=key)

    async def forward(self, stream: str, *, message_key: str, target: str, key: str) -> Sent:
        event = await self._event(stream, message_key)
        if event is None or not isinstance(read_event(event), Message):
            raise Gone("the message was deleted")
        return await self._sending.forward(event, target, key=key)

    async def find_sent(self, target: str, sought: Sought, *, key: str, since: datetime) -> Sent | None:
        return await self._sending.find(target, sought, key=key, since=since)

    async def close(self) -> None:
        await self._server.close()

    async def _first_sync(self, only: Shape) -> Shape:
        """Make a sync that begins anew. Synapse keeps the answer for two minutes, so no two ask the same."""
        request = requests.sync(since="", wait_ms=next(self._waits) % _WAITS, only=only)
        return await self._server.ask(request, patience_s=FIRST_SYNC_S)

    async def _event(self, room: str, key: str) -> Shape | None:
        """Return an event; nothing if it was redacted or is not there."""
        try:
            event = await self._server.ask(requests.event(room, key))
        except Refused as refusal:
            if refusal.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        return None if is_redacted(event) else event

    async def _join_wanted(self, answer: Shape) -> bool:
        """Join the rooms that the person named, each once, and those with an invitation."""
        fresh = [room for room in self._account.rooms if f"joined {room}" not in self._memory.values]
        done = False
        for room in fresh:
            if joined_as := await self._join(room):
                await self._memory.save({f"joined {room}": joined_as})
                done = True
        return await self._accept_invitations(answer) or done

    async def _accept_invitations(self, answer: Shape) -> bool:
        if not self._account.accepts_invitations:
            return False
        return any([await self._join(room) for room in invited(answer)])

    async def _join(self, room: str) -> str:
        """Join a room and return its id; an empty one if the server refuses it, which harms nothing else."""
        try:
            return text(await self._server.ask(requests.join(room)), "room_id")
        except Refused as refusal:
            if refusal.status == HTTPStatus.UNAUTHORIZED:
                raise
            log.warning("a room could not be joined", room=room, reason=str(refusal))
            return ""


def _head_of(told: Shape, token: str) -> Head:
    """Return the newest message; where only other events are told, the newest of them stands for it."""
    timeline = part(told, "timeline")
    events = list(parts(timeline, "events"))
    readings = Readings.of(events)
    if readings.messages:
        newest = readings.messages[-1]
        return Head(None, newest.sent_at, key=newest.key, bookmark=token)
    if not events or timeline.get("limited") is not True:
        return Head(None)
    return Head(None, key=text(events[-1], "event_id"), bookmark=token)
