"""What happens when, and whom it is told: the moving part of a world."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from headgate.testing.content.activity import LOOK_BACK_MS
from headgate.testing.platform.streams.live import Connection, Happening
from headgate.testing.platform.streams.stream import Stream

MAX_SILENCE_MS = 6 * 3_600_000
"""A connection that was not served for so long is ended, as platforms do."""


@dataclass(frozen=True, slots=True)
class _Due:
    at_ms: int
    order: int
    happening: Happening

    def __lt__(self, other: _Due) -> bool:
        return (self.at_ms, self.order) < (other.at_ms, other.order)


class Timeline:
    """Moves a world forward and tells its connections."""

    def __init__(
        self, streams: dict[str, Stream], *, now_ms: int, sees: Callable[[str, Stream], bool]
    ) -> None:
        self._streams = streams
        self._sees = sees
        self._now_ms = now_ms
        self._due: list[_Due] = []
        self._order = 0
        self.connections: list[Connection] = []

    def plan(self, happening: Happening) -> None:
        """Let something happen later."""
        self._order += 1
        heapq.heappush(self._due, _Due(happening.at_ms, self._order, happening))

    def tell(self, happening: Happening) -> None:
        """Let something happen now; nobody edits what is deleted."""
        if happening.kind == "edit" and happening.row.is_deleted(happening.at_ms):
            return
        stream = self._streams.get(happening.stream)
        for connection in self.connections:
            if stream is not None and self._sees(connection.account, stream):
                connection.accept(happening)

    def advance(self, now_ms: int) -> None:
        """Let everything happen that was to happen until now, in its order."""
        if now_ms <= self._now_ms:
            return
        before_ms, self._now_ms = self._now_ms, now_ms
        happenings = list(self._take_due(now_ms))
        if self.connections and now_ms - before_ms > MAX_SILENCE_MS:
            self.end_connections(self.connections)
        if self.connections:
            for stream in self._streams.values():
                happenings.extend(_scheduled(stream, after_ms=before_ms, until_ms=now_ms))
        for happening in sorted(happenings, key=lambda h: (h.at_ms, h.row.position)):
            self.tell(happening)

    def next_ms(self, connection: Connection) -> int | None:
        """Return when this connection should be looked at again, if time alone can tell."""
        times = [
            stream.activity.next_ms(self._now_ms)
            for stream in self._streams.values()
            if stream.activity is not None
        ]
        if self._due:
            times.append(self._due[0].at_ms)
        if (queued_ms := connection.next_ms()) is not None:
            times.append(queued_ms)
        return min(times, default=None)

    def end_connections(self, connections: Iterable[Connection]) -> None:
        for connection in list(connections):
            connection.end()
            if connection in self.connections:
                self.connections.remove(connection)

    def replay(self, connection: Connection, *, since_ms: int, limit: int) -> None:
        """Tell a connection again what has happened since a time, of each stream the newest messages only."""
        missed = [
            happening
            for stream in self._streams.values()
            if self._sees(connection.account, stream)
            for happening in _limited(_happened(stream, since_ms=since_ms, until_ms=self._now_ms), limit)
        ]
        for happening in sorted(missed, key=lambda h: (h.at_ms, h.row.position, h.kind != "gap")):
            connection.accept(happening)

    def _take_due(self, now_ms: int) -> Iterator[Happening]:
        while self._due and self._due[0].at_ms <= now_ms:
            yield heapq.heappop(self._due).happening


def _happened(stream: Stream, *, since_ms: int, until_ms: int) -> Iterator[Happening]:
    yield from _scheduled(stream, after_ms=since_ms - 1, until_ms=until_ms)
    for row in stream.posted:
        if since_ms <= row.arrived_ms <= until_ms:
            yield Happening("message", stream.key, row, row.arrived_ms)
        if row.edited_ms is not None and since_ms <= row.edited_ms <= until_ms:
            yield Happening("edit", stream.key, row, row.edited_ms)
        if row.deleted_ms is not None and since_ms <= row.deleted_ms <= until_ms:
            yield Happening("delete", stream.key, row, row.deleted_ms)


def _limited(happenings: Iterable[Happening], limit: int) -> list[Happening]:
    """Leave out all but the newest messages, and say so."""
    found = list(happenings)
    messages = sorted((h for h in found if h.kind == "message"), key=lambda h: h.row.position)
    if len(messages) <= limit:
        return found
    first = messages[-limit]
    left_out = {h.row.position for h in messages[:-limit]}
    told = [h for h in found if h.kind != "message" or h.row.position not in left_out]
    return [replace(first, kind="gap"), *told]


def _scheduled(stream: Stream, *, after_ms: int, until_ms: int) -> Iterator[Happening]:
    if stream.activity is None:
        return
    for row in stream.activity.arrived(after_ms=after_ms - LOOK_BACK_MS, until_ms=until_ms):
        if row.arrived_ms > after_ms:
            yield Happening("message", stream.key, row, row.arrived_ms)
        if row.edited_ms is not None and after_ms < row.edited_ms <= until_ms:
            yield Happening("edit", stream.key, row, row.edited_ms)
        if row.deleted_ms is not None and after_ms < row.deleted_ms <= until_ms:
            yield Happening("delete", stream.key, row, row.deleted_ms)
