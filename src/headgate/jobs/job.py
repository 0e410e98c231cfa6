"""A job as its handler sees it, and the one transaction that ends it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar
from uuid import UUID

from headgate.storage.database import Database, Statement, Tx
from headgate.storage.group_commit import GroupCommit
from headgate.storage.jobs import engine

K = TypeVar("K")


class Settlement(Enum):
    """What the engine's buffered flush still has to do for a job that ended."""

    COMPLETE = "complete"
    """The handler had no effects: complete it together with others."""
    SWEEP = "sweep"
    """It was completed with its effects: only its row is left to remove."""
    LEAVE = "leave"
    """It was released, retried, buried or lost: do not touch it."""


@dataclass(frozen=True)
class Claim:
    """Proof of ownership: this job, picked by this runner."""

    job_id: int
    owner: UUID

    def completion(self) -> Statement:
        return engine.completion(job_id=self.job_id, owner=self.owner)


@dataclass
class Job(Generic[K]):
    """One wake-up under way."""

    claim: Claim
    kind: str
    key: K
    raw_key: str
    attempt: int
    crashes: int
    database: Database
    writer: GroupCommit
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the worker is asked to stop; a job that takes long should then come to an end."""
    crowded: Callable[[], bool] = lambda: False
    """Whether another job waits to run alone; one that takes long should then make room."""
    settlement: Settlement = Settlement.COMPLETE
    outcome: str = "done"
    """What the metrics call it; a handler that ends a job without success says so here."""

    @asynccontextmanager
    async def finish(self) -> AsyncGenerator[Tx, None]:
        """Open the last transaction: the job's completion and all its effects, or neither.

        The fence comes first: a worker that lost its job raises `LostJob` and changes nothing. A successor
        under the same key may be enqueued in this transaction.
        """
        async with finish_together([self]) as tx:
            yield tx

    async def finish_with(self, *effects: Statement) -> None:
        """End the job with effects that need no answers: the same as `finish`, in one round trip."""
        self.begin_end()
        with engine.fenced():
            await self.writer.write((self.claim.completion(), *effects))
        self.settlement = Settlement.SWEEP

    async def progressed(self) -> None:
        """Note that the work got on: what crashed before does not count against the job any more."""
        if self.crashes == 0:
            return
        async with self.database.autocommit() as tx:
            await engine.forget_crashes(tx, job_id=self.claim.job_id, owner=self.claim.owner)
        self.crashes = 0

    def begin_end(self) -> None:
        """Leave the job to the transaction that ends it; a job is finished once."""
        if self.settlement is not Settlement.COMPLETE:
            raise RuntimeError(f"the job {self.kind}:{self.raw_key} was finished before")
        self.settlement = Settlement.LEAVE


@asynccontextmanager
async def finish_together(jobs: Sequence[Job[Any]]) -> AsyncGenerator[Tx, None]:
    """Open the last transaction of several jobs: the completion and effects of all of them, or none.

    If it fails, each of several can still be finished alone, so that one job's error is never another's.
    """
    for job in jobs:
        job.begin_end()
    try:
        async with jobs[0].database.transaction() as tx:
            tx.repeatable = len(jobs) > 1
            with engine.fenced():
                await tx.run_all([job.claim.completion() for job in jobs])
            yield tx
    except BaseException:
        if len(jobs) > 1:
            _reopen(jobs)
        raise
    for job in jobs:
        job.settlement = Settlement.SWEEP


def _reopen(jobs: Sequence[Job[Any]]) -> None:
    for job in jobs:
        job.settlement = Settlement.COMPLETE
