"""A connection to the simulated platform where nobody sees its positions, as on Matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from headgate.connectors.protocol import Memory
from headgate.domain.streams.messages import UNPLACED, Head, LiveEvent, Message, Page
from headgate.testing.platform.link import SimulatedLink
from headgate.testing.platform.platform_state import PlatformState
from headgate.testing.platform.sessions import Session
from headgate.testing.platform.streams.live import Connection, Delivery
from headgate.testing.platform.streams.reading import (
    PageRequest,
    allotted_head_of,
    allotted_page_of,
    make_bookmark,
)
from headgate.testing.platform.streams.stream import Stream

_SYNC = "sync"
"""Up to when a listener has heard everything, in milliseconds."""


class AllottedLink(SimulatedLink):
    """Tells messages by key; a listener goes on where the last one ended, and hears of what it missed."""

    def __init__(
        self, world: PlatformState, account: str, memory: Memory, session: Session | None = None
    ) -> None:
        super().__init__(world, account, session)
        self._memory = memory
        self._unsure: list[str] = []
        """Streams of which something may have been missed, nobody knows since when."""

    def _head(self, stream: Stream) -> Head:
        return allotted_head_of(self._world, self._account, stream)

    def _page(self, stream: Stream, request: PageRequest) -> Page:
        return allotted_page_of(self._world, self._account, stream, request)

    def _message(self, stream: str, key: str) -> Message | None:
        message = super()._message(stream, key)
        return None if message is None else replace(message, position=UNPLACED)

    def _connect(self) -> Connection:
        connection = super()._connect()
        since = self._memory.values.get(_SYNC)
        if since is None or self._strikes("lost_sync"):
            self._unsure = [s.key for s in self._world.streams.values() if self._sees(s)]
        else:
            limit = self._world.profile.timeline_limit
            self._world.timeline.replay(connection, since_ms=int(since), limit=limit)
        return connection

    def _sees(self, stream: Stream) -> bool:
        return self._world.sees(self._account.name, stream)

    def _take_events(self, connection: Connection) -> Iterator[LiveEvent]:
        unsure, self._unsure = self._unsure, []
        events = [LiveEvent("gap", stream=key) for key in unsure]
        events += super()._take_events(connection)
        yield from events
        if events and not connection.ended:
            yield LiveEvent("mark", memory={_SYNC: str(self._world.now_ms)})

    def _tell_event(self, connection: Connection, delivery: Delivery) -> LiveEvent:
        happening = delivery.happening
        stream = self._world.stream(happening.stream)
        bookmark = make_bookmark(self._world, stream, happening.row.position)
        if happening.kind == "gap":
            return LiveEvent("gap", stream=stream.key, bookmark=bookmark)
        event = super()._tell_event(connection, delivery)
        message = None if event.message is None else replace(event.message, position=UNPLACED)
        return replace(event, message=message, proven=None, bookmark=bookmark)
