"""Hears what a link tells live, for tests."""

from __future__ import annotations

import asyncio

from headgate.connectors.protocol import Link
from headgate.domain.streams.messages import LiveEvent

_TURNS = 12


class LinkListener:
    """Collects the events of one connection, from `start` until it ends or `stop`."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._task: asyncio.Task[None] | None = None
        self.events: list[LiveEvent] = []
        self.error: Exception | None = None

    async def start(self) -> None:
        """Connect, and return when the connection stands."""
        self._task = asyncio.create_task(self._collect())
        await self.catch_up()

    async def catch_up(self) -> None:
        """Let everything arrive that can arrive at this moment of a virtual clock."""
        for _ in range(_TURNS):
            await asyncio.sleep(0)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def ended(self) -> bool:
        return self._task is not None and self._task.done()

    def keys(self, kind: str = "message") -> list[str]:
        return [event.key for event in self.events if event.kind == kind]

    async def _collect(self) -> None:
        try:
            async for event in self._link.listen():
                self.events.append(event)
        except Exception as error:  # noqa: BLE001 - kept for whoever asks why the connection ended
            self.error = error
