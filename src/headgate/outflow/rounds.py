"""Rounds that are written at the same moment share a statement and a commit, whatever accounts they are of.

Each is atomic as if alone: if the shared statement fails, they are written one by one, so that one account's
error is never another's.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from headgate.kernel.clock import Clock
from headgate.storage.database import Database, DatabaseAway
from headgate.storage.sending import NewRound, Round, write_rounds

MOST = 4
"""Rounds that share a statement at most: more would wait for each other on one connection."""
AT_ONCE = 2
"""Shared statements under way at once: one commits while the next is being sent."""

Waiting = tuple[NewRound, "asyncio.Future[Round]"]


@dataclass
class RoundWriter:
    """Writes the rounds of all senders of a process."""

    database: Database
    clock: Clock
    ttl_s: float
    _waiting: deque[Waiting] = field(default_factory=deque[Waiting])
    _writers: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def write(self, new: NewRound) -> Round:
        """Write a round; return when it is committed."""
        written: asyncio.Future[Round] = asyncio.get_running_loop().create_future()
        self._waiting.append((new, written))
        if len(self._writers) < AT_ONCE:
            writer = asyncio.create_task(self._write_waiting())
            self._writers.add(writer)
            writer.add_done_callback(self._writers.discard)
        return await written

    async def _write_waiting(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(MOST, len(self._waiting)))]
            batch = [entry for entry in batch if not entry[1].cancelled()]
            if batch:
                # All in one order, so that two shared statements cannot wait for each other.
                await self._write_batch(sorted(batch, key=lambda entry: entry[0].lease))

    async def _write_batch(self, batch: list[Waiting]) -> None:
        try:
            async with self.database.autocommit() as tx:
                rounds = await write_rounds(
                    tx, [new for new, _ in batch], ttl_s=self.ttl_s, now=self.clock.now()
                )
        except asyncio.CancelledError:
            # Whoever waits must not wait for ever.
            for _, written in (*batch, *self._waiting):
                written.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - handed to the sender whose error it is
            if len(batch) == 1 or isinstance(error, DatabaseAway):
                _fail(batch, error)
            else:
                for entry in batch:
                    await self._write_batch([entry])
        else:
            for (_, written), result in zip(batch, rounds, strict=True):
                if not written.done():
                    written.set_result(result)


def _fail(batch: list[Waiting], error: Exception) -> None:
    for _, written in batch:
        if not written.done():
            written.set_exception(error)
