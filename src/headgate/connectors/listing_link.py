"""The base class of links whose platform has listings alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime

from headgate.connectors.protocol import FoundChannel, MediaHandle, OutgoingFile, Part, Sent
from headgate.domain.errors import Malformed
from headgate.domain.listings.listings import Listed, Swept
from headgate.domain.reminders.recognition import Sought
from headgate.domain.streams.messages import Head, Lens, LiveEvent, Message, Page, Span


class ListingLink:
    """A link without streams, files and sends; a connector overrides what its platform has.

    The manifest claims none of the parts that are refused here, so a call of one is a mistake of ours: trying
    again will not help.
    """

    platform = "this platform"

    async def discover(self) -> Sequence[FoundChannel]:
        """Return nothing: without a login no channel is anybody's own."""
        return ()

    async def list(self, listing: str, cursor: Mapping[str, str]) -> Listed:
        raise self._lacks("listings")

    async def sweep(self, site: str, cursor: Mapping[str, str]) -> Swept:
        raise self._lacks("bulk answers for a whole site")

    async def find(self, query: str) -> Sequence[FoundChannel]:
        raise self._lacks("a search")

    async def heads(self, streams: Sequence[str]) -> Mapping[str, Head]:
        raise self._lacks("streams")

    async def read(
        self, stream: str, *, lens: Lens, hole: Span, bound: int, bookmark: str, limit: int
    ) -> Page:
        raise self._lacks("streams")

    async def message(self, stream: str, key: str) -> Message | None:
        raise self._lacks("messages")

    def listen(self) -> AsyncIterator[LiveEvent]:
        raise self._lacks("live events")

    def download(
        self, stream: str, *, message_key: str, attachment_key: str, offset: int = 0
    ) -> AsyncIterator[bytes]:
        raise self._lacks("files")

    async def prepare(self, target: str) -> None:
        raise self._lacks("targets to send to")

    async def upload(self, file: OutgoingFile) -> MediaHandle:
        raise self._lacks("uploads")

    async def send(self, target: str, part: Part, *, key: str) -> Sent:
        raise self._lacks("targets to send to")

    async def forward(self, stream: str, *, message_key: str, target: str, key: str) -> Sent:
        raise self._lacks("targets to send to")

    async def find_sent(self, target: str, sought: Sought, *, key: str, since: datetime) -> Sent | None:
        raise self._lacks("targets to send to")

    async def close(self) -> None:
        """Close nothing: a link that keeps connections overrides this."""

    def _lacks(self, part: str) -> Malformed:
        return Malformed(f"{self.platform} has no {part}")
