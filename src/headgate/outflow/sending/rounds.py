"""Rounds that are written at the same moment share a statement and a commit, whatever accounts they are of.

Each is atomic as if alone: if the shared statement fails, they are written one by one, so that one account's
error is never another's.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from uuid import UUID

from headgate.jobs.job import Job
from headgate.kernel.clock import Clock
from headgate.kernel.metrics import counter
from headgate.storage.database import Database, Tx
from headgate.storage.errors import DatabaseAway
from headgate.storage.sending.sending import NewRound, Round, write_rounds

MAX = 8
"""Rounds that share a statement at most; a statement alone costs as much as four messages in it."""
AT_ONCE = 2
"""Shared statements under way at once: one account whose rows are locked does not hold up all others."""

MESSAGES = counter(
    "messages",
    "Messages of runs by what came of the call: sent, failed, uncertain, or planned again.",
    ("result",),
)
# Looking a label up costs as much as the rest of a message's bookkeeping.
message_of = cache(MESSAGES.labels)

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
        # A finished writer stays in the set for a moment; do not count on it.
        if sum(not writer.done() for writer in self._writers) < AT_ONCE:
            writer = asyncio.create_task(self._write_waiting())
            self._writers.add(writer)
            writer.add_done_callback(self._writers.discard)
        return await written

    async def _write_waiting(self) -> None:
        """Write until none is waiting, on one connection that has the statement prepared."""
        while batch := self._take_batch():
            try:
                async with self.database.autocommit() as tx:
                    while batch:
                        await self._write_batch(tx, batch)
                        batch = self._take_batch()
            except asyncio.CancelledError:
                # Release the waiters, or they would wait forever.
                for _, written in (*batch, *self._waiting):
                    written.cancel()
                raise
            except Exception as error:  # noqa: BLE001 - handed to the sender whose error it is
                await self._write_apart(batch, error)

    def _take_batch(self) -> list[Waiting]:
        """Take the next rounds, in one order for all, so that no two statements wait for each other."""
        batch: list[Waiting] = []
        while self._waiting and len(batch) < MAX:
            entry = self._waiting.popleft()
            if not entry[1].cancelled():
                batch.append(entry)
        return sorted(batch, key=lambda entry: entry[0].lease)

    async def _write_batch(self, tx: Tx, batch: list[Waiting]) -> None:
        rounds = await write_rounds(tx, [new for new, _ in batch], ttl_s=self.ttl_s, now=self.clock.now())
        for (new, written), result in zip(batch, rounds, strict=True):
            for one in new.results if result.held else ():
                message_of(one.state).inc()
            if not written.done():
                written.set_result(result)

    async def _write_apart(self, batch: list[Waiting], error: Exception) -> None:
        """Write the rounds of a statement that failed one by one; the error of a lone one is its own."""
        if len(batch) == 1 or isinstance(error, DatabaseAway):
            _fail(batch, error)
            return
        for place, entry in enumerate(batch):
            try:
                async with self.database.autocommit() as tx:
                    await self._write_batch(tx, [entry])
            except asyncio.CancelledError:
                for _, written in (*batch[place:], *self._waiting):
                    written.cancel()
                raise
            except Exception as own:  # noqa: BLE001 - as above
                _fail([entry], own)


@dataclass(frozen=True)
class JobRounds:
    """Writes the rounds of one job; results are the job's progress."""

    writer: RoundWriter
    job: Job[UUID]

    async def write(self, new: NewRound) -> Round:
        """Write a round; return when it is committed."""
        written = await self.writer.write(new)
        if written.held and new.results:
            # The round is written either way; a lost connection shows at the next one.
            with suppress(DatabaseAway):
                await self.job.progressed()
        return written


def _fail(batch: list[Waiting], error: Exception) -> None:
    for _, written in batch:
        if not written.done():
            written.set_exception(error)
