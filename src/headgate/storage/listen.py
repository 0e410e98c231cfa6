"""One LISTEN connection for the whole process.

A notice is a hint, never the truth: while the connection is away notices are lost, so after each
reconnect every subscriber is told to look for itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import psycopg
from psycopg import sql

from headgate.kernel.clock import Clock
from headgate.kernel.logs import get_logger
from headgate.storage.database import FIRST_PAUSE_S, MAX_PAUSE_S, Connection, connect

log = get_logger("listen")

Callback = Callable[[str | None], None]
"""Gets a notice's payload, or None: notices may have been lost, look for yourself."""

_PROBE_S = 20.0


class Listener:
    """Hears the channels that were subscribed to before it was started."""

    def __init__(self, url: str, clock: Clock) -> None:
        self._url = url
        self._clock = clock
        self._callbacks: dict[str, list[Callback]] = {}
        self._task: asyncio.Task[None] | None = None
        self._listening = asyncio.Event()

    def subscribe(self, channel: str, callback: Callback) -> None:
        """Call back for each notice of a channel; the callback must not block."""
        if self._task is not None:
            raise RuntimeError("subscribe before the listener is started")
        self._callbacks.setdefault(channel, []).append(callback)

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="listener")

    async def stop(self) -> None:
        if self._task is None:
            return
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._task = None

    async def wait_until_listening(self) -> None:
        await self._listening.wait()

    async def _run(self) -> None:
        pause_s = FIRST_PAUSE_S
        away = False
        while True:
            try:
                connection = await connect(self._url, name="headgate listen")
                async with connection:
                    await self._listen(connection)
                    if away:
                        log.info("listening to the database again")
                    pause_s, away = FIRST_PAUSE_S, False
                    await self._hear(connection)
            except (psycopg.OperationalError, TimeoutError) as error:
                if not away:
                    log.warning("cannot listen to the database; trying again", reason=str(error).strip())
                away = True
            self._listening.clear()
            await self._clock.sleep(pause_s)
            pause_s = min(pause_s * 2, MAX_PAUSE_S)

    async def _listen(self, connection: Connection) -> None:
        for channel in self._callbacks:
            await connection.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
        self._listening.set()
        for channel in self._callbacks:
            self._notify(channel, None)

    async def _hear(self, connection: Connection) -> None:
        while True:
            async for notice in connection.notifies(timeout=_PROBE_S):
                self._notify(notice.channel, notice.payload)
            # A connection that died without a word looks like a quiet one until something is asked of it.
            async with asyncio.timeout(_PROBE_S):
                await connection.execute("select 1")

    def _notify(self, channel: str, payload: str | None) -> None:
        for callback in self._callbacks.get(channel, ()):
            try:
                callback(payload)
            except Exception:
                log.exception("a subscriber failed", channel=channel)
