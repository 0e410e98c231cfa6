"""The engine's queries, with the owner checked wherever a job is ended or kept alive.

PgQueuer ends jobs by id alone: without this, a worker that was thought dead would complete or retry a
job that another worker has taken over since.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from pgqueuer.adapters.persistence.composer import ComposedQuery
from pgqueuer.adapters.persistence.qb import QueryQueueBuilder
from pgqueuer.adapters.persistence.queries import Queries
from pgqueuer.domain import models, types
from pgqueuer.ports.repository import EntrypointExecutionParameter

from headgate.jobs.gate import Gate
from headgate.jobs.job import Settlement
from headgate.jobs.routes import JobRoutes

GATHER_S = 0.01
FULL_S = 0.1
SUSPECTS_S = 1.0
UNLIMITED = EntrypointExecutionParameter(concurrency_limit=0)

# A job whose row is locked is just ending, perhaps with others: to wait for it could be to wait in a circle.
_BEAT = """
update pgqueuer set heartbeat = now()
where id in (
    select id from pgqueuer
    where id = any($1::bigint[]) and queue_manager_id = $2 and status = 'picked'
    for update skip locked
)
"""

_FLUSH = """
with ended as (
    delete from pgqueuer
    where (id = any($1::bigint[]) and queue_manager_id = $3 and status = 'picked')
       or (id = any($2::bigint[]) and status = 'successful')
    returning id, headgate_job_kind(headers, entrypoint) as kind, priority
)
insert into pgqueuer_log (job_id, status, entrypoint, priority)
select id, 'successful', kind, priority from ended
"""

_DUE_IN = """
select case when exists (
    select from pgqueuer where entrypoint = any($1) and status = 'queued' and execute_after <= now()
) then 0 else (
    select extract(epoch from execute_after - now())::float8 from pgqueuer
    where entrypoint = any($1) and status = 'queued' order by execute_after limit 1
) end as due_in_s
"""

_CLAIM = "SET status = 'picked',"
_CLAIMANT = re.compile(r"\bqueue_manager_id = (\$\d+)")
_CLAIM_COUNTING_CRASHES = """SET status = 'picked',
                    headers = CASE WHEN status = 'picked' AND queue_manager_id IS DISTINCT FROM {claimant}
                        THEN coalesce(headers, '{{}}'::jsonb)
                        || jsonb_build_object('crashes', coalesce((headers ->> 'crashes')::int, 0) + 1)
                        ELSE headers END,"""


@dataclass
class CountingBuilder(QueryQueueBuilder):
    """Makes the engine's claim count: who claims a job that another has picked follows a crash.

    A runner that claims its own job has only been late with a heartbeat; it still runs the job.
    """

    counting_sql: dict[str, str] = field(default_factory=dict[str, str])

    def build_dequeue_query(self, **options: Any) -> ComposedQuery:
        query = super().build_dequeue_query(**options)
        if query.sql not in self.counting_sql:
            self.counting_sql[query.sql] = counting_crashes(query.sql)
        return ComposedQuery(sql=self.counting_sql[query.sql], args=query.args)


def counting_crashes(sql: str) -> str:
    """Return the dequeue statement with the count in it."""
    claimants = set(_CLAIMANT.findall(sql))
    if sql.count(_CLAIM) != 1 or len(claimants) != 1:
        raise RuntimeError("the engine's dequeue statement is not the one that this was written for")
    return sql.replace(_CLAIM, _CLAIM_COUNTING_CRASHES.format(claimant=claimants.pop()))


@dataclass
class FencedQueries(Queries):
    """The engine's repository for one runner."""

    qbq: QueryQueueBuilder = field(default_factory=CountingBuilder)
    owner: UUID | None = None
    gate: Gate = field(default_factory=Gate)
    runners: Sequence[str] = ()
    """Whose routed jobs it claims."""
    routes: JobRoutes = field(default_factory=JobRoutes)
    alone: bool = False
    """This runner's jobs go through the gate one by one, instead of being counted by it."""
    most: int | None = None
    """Jobs that this runner holds at once; the engine knows no limit below two."""
    lost: bool = False
    """The connection is gone for good."""
    running: Callable[[], int] = field(default=lambda: 0)
    settlements: dict[int, Settlement] = field(default_factory=dict[int, Settlement])
    freed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set whenever a slot may have become free."""
    wake: Callable[[], None] = field(default=lambda: None)
    """Ends the wait of the engine's loop, which then claims."""
    flush: Callable[[], None] = field(default=lambda: None)
    """Flushes the engine's buffer of ended jobs now."""
    ended: list[int] = field(default_factory=list[int])
    """Jobs that were completed with their effects; they hold no slot, so their rows can go many at a time."""
    _starved: bool = False
    _checked_s: float = float("-inf")
    _flushing: int = 0

    async def dequeue(
        self,
        batch_size: int,
        entrypoints: dict[types.QueueEntrypoint, EntrypointExecutionParameter],
        queue_manager_id: types.QueueManagerId,
        global_concurrency_limit: int | None,
        heartbeat_timeout: timedelta,
    ) -> list[models.Job]:
        self.freed.clear()
        self._starved = False
        if self.alone and not self._is_check_due():
            return []
        limit = min(filter(None, (self.most, global_concurrency_limit)), default=None)
        if not await self._gather_room(batch_size, limit):
            return []
        if not self.alone and not self.gate.begin_claim():
            return []
        jobs: list[models.Job] = []
        try:
            jobs = await super().dequeue(
                batch_size,
                entrypoints | dict.fromkeys(self._routed(), UNLIMITED)
                if self.routes.accounts
                else entrypoints,
                queue_manager_id,
                # A second suspect that waits its turn would be counted as there at the first one's crash.
                1 if self.alone else limit,
                heartbeat_timeout,
            )
        finally:
            if not self.alone:
                self.gate.end_claim(self.owner, [job.id for job in jobs])
        return jobs

    def _is_check_due(self) -> bool:
        """Suspects are rare, and every change of the queue wakes their runner: look now and then only."""
        now_s = asyncio.get_running_loop().time()
        if now_s - self._checked_s < SUSPECTS_S:
            return False
        self._checked_s = now_s
        return True

    async def _gather_room(self, batch_size: int, limit: int | None) -> bool:
        """Near the limit, gather slots for a moment: one claim for many jobs, and none in vain."""
        if limit is None or limit - self._held() >= batch_size:
            return True
        with suppress(TimeoutError):
            async with asyncio.timeout(FULL_S):
                while self._held() >= limit:
                    self._flush_completed()
                    await self._next_freed()
        with suppress(TimeoutError):
            async with asyncio.timeout(GATHER_S):
                while limit - self._held() < batch_size:
                    await self._next_freed()
        return self._held() < limit

    async def _next_freed(self) -> None:
        self.freed.clear()
        await self.freed.wait()

    async def get_due_in_s(self, entrypoints: list[types.QueueEntrypoint]) -> float | None:
        """Return in how many seconds the next queued job may be claimed; nothing if none is queued."""
        (row,) = await self.driver.fetch(_DUE_IN, [*entrypoints, *self._routed()])
        due_in_s = row["due_in_s"]
        return None if due_in_s is None else cast("float", due_in_s)

    def _routed(self) -> list[types.QueueEntrypoint]:
        return [types.QueueEntrypoint(name) for runner in self.runners for name in self.routes.names(runner)]

    def is_starved(self) -> bool:
        """Tell whether queued jobs wait for a slot."""
        return self._starved

    def expect_slot(self) -> bool:
        """Jobs are queued for which no slot was free: claim as soon as one is. True if one is by now.

        The engine's own answer is to ask again after a pause, which caps a kind's rate at its limit a pause.
        """
        self._starved = True
        self._flush_completed()
        return self.freed.is_set()

    def free_slot(self) -> None:
        """Note that a slot may have become free."""
        self.freed.set()
        if self._starved:
            self._starved = False
            self.wake()

    def buffered(self) -> None:
        """Note that an ended job waits for the flush; its slot is not free before."""
        if self._starved:
            self._flush_completed()

    def _flush_completed(self) -> None:
        if Settlement.COMPLETE in self.settlements.values():
            self.flush()

    def _held(self) -> int:
        """Return how many rows count against the limit: one that waits to be completed is ours still."""
        waiting = sum(settlement is Settlement.COMPLETE for settlement in self.settlements.values())
        return self.running() + waiting + self._flushing

    async def update_heartbeat(self, job_ids: list[types.JobId]) -> None:
        await self.driver.execute(_BEAT, list(set(job_ids)), self.owner)

    async def log_jobs(
        self, job_status: list[tuple[models.Job, types.JOB_STATUS, models.TracebackRecord | None]]
    ) -> None:
        """Complete what had no effects and remove what was completed with them; leave the rest alone."""
        settled = [(job.id, self.settlements.pop(job.id, Settlement.LEAVE)) for job, _, _ in job_status]
        complete = [job_id for job_id, settlement in settled if settlement is Settlement.COMPLETE]
        self.ended += [job_id for job_id, settlement in settled if settlement is Settlement.SWEEP]
        try:
            await self._remove(complete)
        except BaseException:
            self.settlements.update(dict.fromkeys(complete, Settlement.COMPLETE))
            raise

    async def sweep_ended(self) -> None:
        """Remove the rows of jobs that were completed with their effects."""
        await self._remove([])

    async def _remove(self, complete: Sequence[int]) -> None:
        # What a lost connection leaves is swept by the tick, or picked again.
        if self.lost or not (complete or self.ended):
            return
        sweep, self.ended = self.ended, []
        self._flushing += len(complete)
        try:
            await self.driver.execute(_FLUSH, list(complete), sweep, self.owner)
        except BaseException:
            self.ended += sweep
            raise
        finally:
            self._flushing -= len(complete)
        self.free_slot()

    async def retry_job(self, job: models.Job, delay: timedelta, traceback_record: Any) -> None:
        """Refuse: our execution retries by itself, in one fenced transaction."""
        raise RuntimeError("a handler must not ask the engine for a retry")
