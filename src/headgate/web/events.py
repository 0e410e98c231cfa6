"""Server-sent events: one stream per page of a signed-in person, fed by one LISTEN of the process.

An event only says that something of a kind changed; the page asks for what it shows. So events of one
kind that pile up are one event, and what waits for a slow page can never grow.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
from collections.abc import AsyncGenerator
from typing import NamedTuple
from uuid import UUID

from fastapi import HTTPException

from headgate.access.sessions import SESSION_EVENT
from headgate.kernel import metrics
from headgate.kernel.clock import Clock
from headgate.kernel.randomness import secret_token
from headgate.storage.access import user_sessions
from headgate.storage.errors import DatabaseAway
from headgate.storage.events import Event
from headgate.web.callers import Caller
from headgate.web.download_progress import DownloadProgress
from headgate.web.parts import Site

REFRESH = "refresh"
"""Something may have been missed: look at everything again."""
SIGNED_OUT = "signed_out"
FETCH = "fetch"

HEARTBEAT_S = 15.0
GAP_S = 1.0
"""A page is told at most once in this time, however much happens."""
_STREAMS_PER_USER = 32
_KINDS_AT_ONCE = 64
_KIND = re.compile(r"^[a-z][a-z0-9_.]{0,39}$")

_STREAMS = metrics.gauge("web_streams", "Open event streams.")


class PendingEvent(NamedTuple):
    """A kind, and the details of one event of it; events without details are one."""

    kind: str
    shown: str = ""


class Client:
    """One open stream and what it has yet to be told of: kinds, each with what is to be shown at once."""

    def __init__(self, user_id: UUID) -> None:
        self.user_id = user_id
        self._pending: dict[PendingEvent, None] = {}
        self._wake = asyncio.Event()

    def offer(self, kind: str, shown: str = "") -> None:
        if len(self._pending) >= _KINDS_AT_ONCE:
            self._pending = {PendingEvent(REFRESH): None, PendingEvent(SESSION_EVENT): None}
        self._pending[PendingEvent(kind, shown)] = None
        self._wake.set()

    def wake(self) -> None:
        self._wake.set()

    async def take(self, *, patience_s: float) -> list[PendingEvent]:
        """Return all that waits, or nothing when patience ends or the stream is to end."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._wake.wait()
        self._wake.clear()
        pending, self._pending = list(self._pending), {}
        return pending


class EventHub:
    """Hands the notices of the database to the streams of this process."""

    def __init__(
        self, *, heartbeat_s: float = HEARTBEAT_S, gap_s: float = GAP_S, clock: Clock | None = None
    ) -> None:
        self.heartbeat_s = heartbeat_s
        self.downloads = DownloadProgress(clock)
        self._gap_s = gap_s
        self._clients: set[Client] = set()
        self._closing = asyncio.Event()
        self._id = secret_token(6)
        self._heard = 0

    @property
    def mark(self) -> str:
        """Where the events of this process stand; different after each one, and in each process."""
        return f"{self._id}.{self._heard}"

    @property
    def closing(self) -> bool:
        return self._closing.is_set()

    @property
    def streams(self) -> int:
        return len(self._clients)

    def hear(self, payload: str | None) -> None:
        """Take a notice; None means that notices may have been lost."""
        event = Event(REFRESH) if payload is None else Event.parse(payload)
        if event is None or not _KIND.match(event.kind):
            return
        self._heard += 1
        if event.kind == FETCH:
            # Pages ask how far downloads are: one event for all of them will do.
            self.downloads.note(event.details)
            event = Event(FETCH)
        for client in self._clients:
            if event.audience in (None, client.user_id):
                client.offer(event.kind, json.dumps(dict(event.details)) if event.details else "")

    def check_room(self, user_id: UUID) -> None:
        """Refuse one more stream of a user who has many."""
        if sum(client.user_id == user_id for client in self._clients) >= _STREAMS_PER_USER:
            raise HTTPException(429, "Too many open pages.", {"retry-after": "30"})

    def join(self, user_id: UUID) -> Client:
        client = Client(user_id)
        self._clients.add(client)
        _STREAMS.set(len(self._clients))
        return client

    def leave(self, client: Client) -> None:
        self._clients.discard(client)
        _STREAMS.set(len(self._clients))

    def close(self) -> None:
        """End all streams; a server that stops would wait for them for ever."""
        self._closing.set()
        for client in self._clients:
            client.wake()

    async def pause(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._gap_s):
                await self._closing.wait()


async def stream_events(site: Site, caller: Caller, *, since: str) -> AsyncGenerator[str, None]:
    """Yield the text of one person's stream until the sign-in, the page or the process ends.

    `since` is the hub's mark from before the page was read. If it has moved on, the page refreshes:
    it was written, hidden or disconnected when something happened.
    """
    numbers = itertools.count(1)
    client = site.hub.join(caller.user_id)
    try:
        yield "retry: 2000\n\n"
        if since != site.hub.mark:
            client.offer(REFRESH)
        while not site.hub.closing:
            pending = await client.take(patience_s=site.hub.heartbeat_s)
            doubted = not pending or any(one.kind == SESSION_EVENT for one in pending)
            if doubted and not await _is_signed_in(site, caller):
                yield _event(PendingEvent(SIGNED_OUT), next(numbers))
                return
            yield (
                "".join(_event(one, next(numbers)) for one in pending if one.kind != SESSION_EVENT)
                or ": \n\n"
            )
            await site.hub.pause()
    finally:
        site.hub.leave(client)


def _event(pending: PendingEvent, number: int) -> str:
    return f"event: {pending.kind}\nid: {number}\ndata: {pending.shown or pending.kind}\n\n"


async def _is_signed_in(site: Site, caller: Caller) -> bool:
    if caller.session_id is None:
        return False
    try:
        async with site.transaction() as tx:
            return await user_sessions.is_session_open(tx, caller.session_id, now=site.parts.real_clock.now())
    except DatabaseAway:
        # Nothing is told while nothing can be known; the next heartbeat asks again.
        return True
