"""Group commit: many small transactions that end at the same moment share one.

Each caller's statements are atomic, as if alone: they commit together with those of others, and if the
shared transaction fails they are run again alone, so that one caller's error is never another's.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from headgate.storage.database import Database, Statement
from headgate.storage.errors import DatabaseAway

MAX = 50
"""Callers that share a transaction at most, which bounds what a failure repeats."""
AT_ONCE = 2
"""Shared transactions under way at once: one commits while the next is being sent."""

Waiting = tuple[Sequence[Statement], "asyncio.Future[None]"]


@dataclass
class GroupCommit:
    """Writes statements whose answers are not needed."""

    database: Database
    _waiting: deque[Waiting] = field(default_factory=deque[Waiting])
    _writers: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def write(self, statements: Sequence[Statement]) -> None:
        """Run the statements as one transaction; return when it is committed."""
        committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((statements, committed))
        # One that has ended is in the set a moment longer: who comes then must not wait for it.
        if sum(not writer.done() for writer in self._writers) < AT_ONCE:
            writer = asyncio.create_task(self._write_waiting())
            self._writers.add(writer)
            writer.add_done_callback(self._writers.discard)
        await committed

    async def _write_waiting(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(MAX, len(self._waiting)))]
            batch = [entry for entry in batch if not entry[1].cancelled()]
            if batch:
                await self._write_batch(batch)

    async def _write_batch(self, batch: list[Waiting]) -> None:
        try:
            await self.database.run_together([statement for one, _ in batch for statement in one])
        except Exception as error:  # noqa: BLE001 - handed to the caller whose error it is
            if len(batch) == 1 or isinstance(error, DatabaseAway):
                _notify(batch, error)
            else:
                for entry in batch:
                    await self._write_batch([entry])
        else:
            _notify(batch, None)


def _notify(batch: list[Waiting], error: Exception | None) -> None:
    for _, committed in batch:
        if committed.done():
            continue
        if error is None:
            committed.set_result(None)
        else:
            committed.set_exception(error)
