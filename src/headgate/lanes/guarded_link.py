"""The link of an exclusive account: every call looks first whether this process still holds the account."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from headgate.connectors.protocol import FoundChannel, Link, MediaHandle, OutgoingFile, Part, Sent
from headgate.domain.listings.listings import Listed, Swept
from headgate.domain.reminders.recognition import Sought
from headgate.domain.streams.messages import Head, Lens, LiveEvent, Message, Page, Span
from headgate.lanes.holds import Hold

Step = TypeVar("Step")


class GuardedLink(Link):
    """Passes calls on while the hold lasts, and cuts off those under way when it ends."""

    def __init__(self, link: Link, hold: Hold) -> None:
        self._link = link
        self._hold = hold

    async def discover(self) -> Sequence[FoundChannel]:
        return await self._hold.call(self._link.discover)

    async def heads(self, streams: Sequence[str]) -> Mapping[str, Head]:
        return await self._hold.call(lambda: self._link.heads(streams))

    async def read(
        self, stream: str, *, lens: Lens, hole: Span, bound: int, bookmark: str, limit: int
    ) -> Page:
        return await self._hold.call(
            lambda: self._link.read(stream, lens=lens, hole=hole, bound=bound, bookmark=bookmark, limit=limit)
        )

    async def message(self, stream: str, key: str) -> Message | None:
        return await self._hold.call(lambda: self._link.message(stream, key))

    def listen(self) -> AsyncIterator[LiveEvent]:
        return self._steps(self._link.listen())

    async def list(self, listing: str, cursor: Mapping[str, str]) -> Listed:
        return await self._hold.call(lambda: self._link.list(listing, cursor))

    async def sweep(self, site: str, cursor: Mapping[str, str]) -> Swept:
        return await self._hold.call(lambda: self._link.sweep(site, cursor))

    async def find(self, query: str) -> Sequence[FoundChannel]:
        return await self._hold.call(lambda: self._link.find(query))

    def download(
        self, stream: str, *, message_key: str, attachment_key: str, offset: int = 0
    ) -> AsyncIterator[bytes]:
        chunks = self._link.download(
            stream, message_key=message_key, attachment_key=attachment_key, offset=offset
        )
        return self._steps(chunks)

    async def prepare(self, target: str) -> None:
        await self._hold.call(lambda: self._link.prepare(target))

    async def upload(self, file: OutgoingFile) -> MediaHandle:
        return await self._hold.call(lambda: self._link.upload(self.guarded(file)))

    def guarded(self, file: OutgoingFile) -> OutgoingFile:
        """Return a file whose chunks end with the hold: one upload is many requests to a platform."""
        return replace(file, read=lambda: self._chunks(file))

    async def send(self, target: str, part: Part, *, key: str) -> Sent:
        return await self._hold.call(lambda: self._link.send(target, part, key=key), sends=True)

    async def forward(self, stream: str, *, message_key: str, target: str, key: str) -> Sent:
        return await self._hold.call(
            lambda: self._link.forward(stream, message_key=message_key, target=target, key=key), sends=True
        )

    async def find_sent(self, target: str, sought: Sought, *, key: str, since: datetime) -> Sent | None:
        return await self._hold.call(lambda: self._link.find_sent(target, sought, key=key, since=since))

    async def close(self) -> None:
        await self._link.close()

    async def _chunks(self, file: OutgoingFile) -> AsyncGenerator[bytes, None]:
        async for chunk in file.read():
            self._hold.check()
            yield chunk
        self._hold.check()

    async def _steps(self, steps: AsyncIterator[Step]) -> AsyncGenerator[Step, None]:
        try:
            while True:
                try:
                    step = await self._hold.call(lambda: anext(steps))
                except StopAsyncIteration:
                    return
                yield step
        finally:
            if isinstance(steps, AsyncGenerator):
                await steps.aclose()
