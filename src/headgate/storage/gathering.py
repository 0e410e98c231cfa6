"""Gathering: questions that many ask at the same moment are put to the database as one.

Whoever asks while an answer is on its way shares the next one, so nobody gets an answer that is older than
the question. If the shared question fails each is put alone, so that one caller's error is never another's. A
question is called off when all who share it are cancelled.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from headgate.storage.errors import DatabaseAway

Question = TypeVar("Question")
Reply = TypeVar("Reply")

MAX = 50
"""Questions that are put together at most, which bounds what a failure repeats."""
AT_ONCE = 2
"""Shared questions on their way at once."""


@dataclass
class Gatherer(Generic[Question, Reply]):
    """Puts questions together; `put` answers them in their order."""

    put: Callable[[Sequence[Question]], Awaitable[Sequence[Reply]]]
    at_once: int = AT_ONCE
    _waiting: deque[tuple[Question, asyncio.Future[Reply]]] = field(default_factory=deque[Any])
    _askers: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def ask(self, question: Question) -> Reply:
        """Return the reply to a question, which is put together with those of others."""
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, reply))
        # One that has ended is in the set a moment longer: who comes then must not wait for it.
        if sum(not asker.done() for asker in self._askers) < self.at_once:
            asker = asyncio.create_task(self._ask_waiting())
            self._askers.add(asker)
            asker.add_done_callback(self._askers.discard)
        return await reply

    async def _ask_waiting(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(MAX, len(self._waiting)))]
            batch = [entry for entry in batch if not entry[1].cancelled()]
            if batch:
                await self._ask_batch(batch)

    async def _ask_batch(self, batch: list[tuple[Question, asyncio.Future[Reply]]]) -> None:
        try:
            replies = await self._put_while_wanted(batch)
        except Exception as error:  # noqa: BLE001 - handed to the caller whose error it is
            if len(batch) > 1 and not isinstance(error, DatabaseAway):
                for entry in batch:
                    await self._ask_batch([entry])
                return
            for _, waiting in batch:
                if not waiting.done():
                    waiting.set_exception(error)
        else:
            for (_, waiting), reply in zip(batch, replies or (), strict=replies is not None):
                if not waiting.done():
                    waiting.set_result(reply)

    async def _put_while_wanted(
        self, batch: list[tuple[Question, asyncio.Future[Reply]]]
    ) -> Sequence[Reply] | None:
        """Put a question, and call it off when all who wait for its answer are cancelled."""
        asker = cast("asyncio.Task[None]", asyncio.current_task())
        under_way, called_off = True, False

        def call_off(_: asyncio.Future[Reply]) -> None:
            nonlocal called_off
            if under_way and all(reply.cancelled() for _, reply in batch):
                called_off = asker.cancel()

        for _, reply in batch:
            reply.add_done_callback(call_off)
        try:
            return await self.put([question for question, _ in batch])
        except asyncio.CancelledError:
            if not called_off or asker.uncancel():
                raise
            return None
        finally:
            under_way = False
