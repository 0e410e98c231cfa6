"""A sweep as collectors do it: every topic and every channel is searched, whether anything is new or not."""

from __future__ import annotations

from dataclasses import dataclass, field

from headgate.domain.streams.messages import Span
from headgate.testing.platform.link import SimulatedLink
from headgate.testing.platform.streams.reading import PageRequest
from headgate.testing.platform.streams.stream import END

PAGE = 100


@dataclass
class NaiveReader:
    """Remembers the last message of each topic and channel, and searches each for newer ones."""

    link: SimulatedLink
    _last: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])

    async def sweep(self, places: list[tuple[str, str]]) -> int:
        """Search each stream and topic (empty: the whole stream) once; returns how many messages are new."""
        return sum([await self._search(stream, topic) for stream, topic in places])

    async def _search(self, stream: str, topic: str) -> int:
        """Read page after page, the newest first, down to the last message that is known."""
        known = self._last.get((stream, topic), -1)
        end, found = END, 0
        while True:
            request = PageRequest(
                "documents", Span(known + 1, end), END, bookmark="", limit=PAGE, topic=topic
            )
            page = await self.link.search(stream, request)
            positions = [message.position for message in page.messages]
            found += len(positions)
            self._last[stream, topic] = max([self._last.get((stream, topic), -1), *positions])
            if len(positions) < PAGE:
                return found
            end = min(positions)
