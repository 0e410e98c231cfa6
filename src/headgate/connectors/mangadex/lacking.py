"""What MangaDex does not have: messages, files, and anything to send to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Never

from headgate.connectors.protocol import MediaHandle, Part, Sent
from headgate.domain.errors import Malformed
from headgate.domain.messages import Head, Lens, LiveEvent, Message, Page, Span


class ListingsOnly:
    """Refuses every part of a link that is not about listings."""

    async def heads(self, streams: Sequence[str]) -> Mapping[str, Head]:
        _refuse("streams of messages")

    async def read(
        self, stream: str, *, lens: Lens, hole: Span, bound: int, bookmark: str, limit: int
    ) -> Page:
        _refuse("streams of messages")

    async def message(self, stream: str, key: str) -> Message | None:
        _refuse("messages")

    def listen(self) -> AsyncIterator[LiveEvent]:
        _refuse("live messages")

    def download(
        self, stream: str, *, message_key: str, attachment_key: str, offset: int = 0
    ) -> AsyncIterator[bytes]:
        _refuse("files to download")

    async def prepare(self, target: str) -> None:
        _refuse("anything to send to")

    async def upload(self, name: str, mime_type: str, content: bytes) -> MediaHandle:
        _refuse("anything to send to")

    async def send(self, target: str, part: Part, *, key: str) -> Sent:
        _refuse("anything to send to")

    async def forward(self, stream: str, *, message_key: str, target: str, key: str) -> Sent:
        _refuse("anything to send to")

    async def find_sent(self, target: str, *, key: str, since: datetime) -> Sent | None:
        _refuse("anything to send to")


def _refuse(what: str) -> Never:
    raise Malformed(f"MangaDex does not have {what}")
