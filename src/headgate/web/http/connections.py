"""Bounds on connections: deadlines for a request's headers and body, and how many may be open.

Uvicorn ends connections that are idle after an answer, and nothing else: one that sends half a request would
stay open for ever, and enough of them would leave no room for anybody.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle


@dataclass
class ConnectionBounds:
    """What clients are given, and who has not yet sent a whole request."""

    headers_s: float = 15.0
    body_s: float = 120.0
    max_connections: int = 1000
    unfinished: dict[BoundedProtocol, None] = field(default_factory=dict[Any, None], repr=False)
    """The one that waits longest first."""


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 within bounds; made by `bounded`."""

    bounds: ConnectionBounds
    _phase: tuple[str, object] = ("", None)
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as in the class above
        super().connection_made(transport)
        if len(self.connections) > self.bounds.max_connections and not self._make_room():
            transport.abort()
            return
        self._watch()

    def handle_events(self) -> None:
        super().handle_events()
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._enter(("gone", None), None)
        super().connection_lost(exc)

    def end(self) -> None:
        """End the connection, without another word."""
        self._enter(("gone", None), None)
        self.transport.abort()

    def _make_room(self) -> bool:
        """End the connection that has taken longest over a request; false if all of them are at work."""
        oldest = next(iter(self.bounds.unfinished), None)
        if oldest is not None:
            oldest.end()
        return oldest is not None

    def _watch(self) -> None:
        """Start the deadline of what the client has to send next; more of the same does not prolong it."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is None or cycle.response_complete:
            self._enter(("headers", cycle), self.bounds.headers_s)
        elif cycle.more_body:
            self._enter(("body", cycle), self.bounds.body_s)
        else:
            self._enter(("answer", cycle), None)

    def _enter(self, phase: tuple[str, object], seconds: float | None) -> None:
        if phase == self._phase or self._phase[0] == "gone":
            return
        self._phase = phase
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self.bounds.unfinished.pop(self, None)
        if seconds is not None:
            self.bounds.unfinished[self] = None
            self._deadline = self.loop.call_later(seconds, self.end)


def bounded(bounds: ConnectionBounds) -> type[BoundedProtocol]:
    """Return the protocol with these bounds, for one server."""
    return type("Bounded", (BoundedProtocol,), {"bounds": bounds})
