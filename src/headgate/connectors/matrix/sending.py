"""Sends: a message under a transaction id of its own, which the server takes once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from http import HTTPStatus

import aiohttp

from headgate.connectors.matrix import filters, requests
from headgate.connectors.matrix.contents import content_of, forwarded, handle_of
from headgate.connectors.matrix.encryption import Encryption
from headgate.connectors.matrix.errors import NotPossible, NotUnderstood, Refused, Unanswered, never_arrived
from headgate.connectors.matrix.http import Homeserver
from headgate.connectors.matrix.shapes import Shape, part, parts, text, whole
from headgate.connectors.protocol import MediaHandle, OutgoingFile, Part, Sent
from headgate.domain.reminders.recognition import HistoryMessage, Sought, recognise
from headgate.domain.words.times import size_text
from headgate.kernel.clock import Clock

MAX_SEARCH_PAGES = 10
SEARCH_PAGE = 100
CLOCK_SKEW = timedelta(minutes=10)
"""By how much a server's clock may differ from ours."""
MAX_REMEMBERED = 1000


class Sending:
    """Sends as one account."""

    def __init__(self, server: Homeserver, encryption: Encryption, clock: Clock, *, user_id: str) -> None:
        self._server = server
        self._encryption = encryption
        self._clock = clock
        self._user_id = user_id
        self._upload_limit: int | None = None
        self._sent: OrderedDict[tuple[str, str], Sent] = OrderedDict()
        """The last sends, by target and key: a server answers a repeat without the time of the first."""

    async def upload(self, file: OutgoingFile) -> MediaHandle:
        limit = await self._limit()
        if limit and file.size_bytes > limit:
            size = size_text(file.size_bytes)
            raise NotPossible(f"{file.name} has {size}, and the homeserver takes {size_text(limit)} at most")
        request = requests.upload(file.name, file.mime_type, file.size_bytes, file.read())
        address = text(await self._server.put_stream(request), "content_uri")
        if not address:
            raise NotUnderstood("the homeserver answered an upload without its address")
        return MediaHandle(handle_of(file, address))

    async def send(self, target: str, sent: Part, *, key: str) -> Sent:
        return await self.put(target, content_of(sent), key=key)

    async def forward(self, event: Shape, target: str, *, key: str) -> Sent:
        return await self.put(target, forwarded(event), key=key)

    async def put(self, target: str, content: Mapping[str, object], *, key: str) -> Sent:
        """Send under a key; raise `Unanswered` unless it is sure that nothing was sent."""
        if await self._encryption.is_on(target):
            raise NotPossible("the room is encrypted, and Headgate does not send to encrypted rooms")
        try:
            answer = await self._server.ask(requests.send(target, content, key=key))
        except Refused as refusal:
            if refusal.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise Unanswered(f"a send failed in the homeserver: {refusal}") from refusal
            raise
        except (aiohttp.ClientError, OSError) as error:
            if never_arrived(error):
                raise
            raise Unanswered(f"no answer to a send: {error or type(error).__name__}") from error
        except NotUnderstood as error:
            raise Unanswered(str(error)) from error
        return self._remember(target, key, text(answer, "event_id"))

    async def find(self, target: str, sought: Sought, *, key: str, since: datetime) -> Sent | None:
        """Search the account's own messages: by transaction id, which servers show to the same device alone,
        else by content.
        """
        times: dict[str, datetime] = {}
        candidates: list[HistoryMessage] = []
        async for event in self._own_messages(target, since=since - CLOCK_SKEW):
            event_id = text(event, "event_id")
            times[event_id] = _time_of(event)
            if text(part(event, "unsigned"), "transaction_id") == key:
                return Sent(event_id, times[event_id])
            candidates.append(candidate_of(event))
        found = recognise(sought, candidates)
        return None if found is None else Sent(found.key, times[found.key])

    async def _own_messages(self, target: str, *, since: datetime) -> AsyncIterator[Shape]:
        only, start = filters.history(senders=[self._user_id]), ""
        for _ in range(MAX_SEARCH_PAGES):
            page = await self._server.ask(
                requests.messages(target, start=start, limit=SEARCH_PAGE, only=only)
            )
            for event in parts(page, "chunk"):
                if _time_of(event) < since:
                    return
                yield event
            if not (start := text(page, "end")):
                return

    def _remember(self, target: str, key: str, event_id: str) -> Sent:
        if not event_id:
            raise Unanswered("the homeserver answered a send without the message's id")
        before = self._sent.get((target, key))
        if before is not None and before.key == event_id:
            return before
        sent = self._sent[target, key] = Sent(event_id, self._clock.now())
        if len(self._sent) > MAX_REMEMBERED:
            self._sent.popitem(last=False)
        return sent

    async def _limit(self) -> int:
        """Return the largest upload that the server takes; 0 if it does not say."""
        if self._upload_limit is None:
            try:
                told = await self._server.ask(requests.upload_limit())
            except Refused as refusal:
                if refusal.status != HTTPStatus.NOT_FOUND:
                    raise
                told = await self._server.ask(requests.upload_limit(old=True))
            self._upload_limit = whole(told, "m.upload.size") or 0
        return self._upload_limit


def candidate_of(event: Shape) -> HistoryMessage:
    """Return what a message of the history holds, as it was sent."""
    content = part(event, "content")
    key, body = text(event, "event_id"), text(content, "body")
    if not text(content, "url"):
        return HistoryMessage(key, body)
    file_name = text(content, "filename") or body
    return HistoryMessage(key, "" if body == file_name else body, file_name)


def _time_of(event: Shape) -> datetime:
    return datetime.fromtimestamp((whole(event, "origin_server_ts") or 0) / 1000, UTC)
