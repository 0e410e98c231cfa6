"""The engine's loop, one step at a time, for the simulator: the same queries, the same execution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from pgqueuer.adapters.drivers.psycopg import PsycopgDriver
from pgqueuer.domain import models, types
from pgqueuer.ports.repository import EntrypointExecutionParameter

from headgate.jobs.execution import SUSPECT, Execution, Picked
from headgate.jobs.fenced import FencedQueries
from headgate.jobs.job import Settlement
from headgate.jobs.runner import picked_from
from headgate.storage.database import Connection

ClaimedJob = models.Job


@dataclass
class Stepper:
    """One runner whose steps somebody else takes: claim, execute, settle, beat."""

    execution: Execution
    connection: Connection
    owner: UUID
    heartbeat_timeout_s: float
    kinds: Sequence[str] | None = None
    """The names of the kinds that it takes; all if nothing is said."""
    _running: set[int] = field(default_factory=set[int])

    def __post_init__(self) -> None:
        kinds = [kind for kind in self.execution.kinds if self.kinds is None or kind.name in self.kinds]
        names = [SUSPECT, *(kind.name for kind in kinds)]
        self._queries = FencedQueries(
            PsycopgDriver(self.connection),
            owner=self.owner,
            runners=sorted({SUSPECT, *(kind.runner for kind in kinds)}),
            routes=self.execution.routes,
        )
        self._entrypoints = {
            types.QueueEntrypoint(name): EntrypointExecutionParameter(concurrency_limit=0) for name in names
        }

    async def claim(self) -> ClaimedJob | None:
        """Claim the next job, if there is one."""
        jobs = await self._queries.dequeue(
            batch_size=1,
            entrypoints=self._entrypoints,
            queue_manager_id=types.QueueManagerId(self.owner),
            global_concurrency_limit=None,
            heartbeat_timeout=timedelta(seconds=self.heartbeat_timeout_s),
        )
        return jobs[0] if jobs else None

    def pick(self, job: ClaimedJob) -> Picked:
        """Read a claimed row as ours."""
        return picked_from(job, self.owner)

    async def execute(self, job: ClaimedJob) -> tuple[Picked, Settlement]:
        """Carry out a claimed job."""
        picked = self.pick(job)
        self._running.add(job.id)
        try:
            return picked, await self.execution.run(picked)
        finally:
            self._running.discard(job.id)

    async def settle(self, job: ClaimedJob, settlement: Settlement) -> None:
        """Do what the buffered flush does."""
        self._queries.settlements[job.id] = settlement
        await self._queries.log_jobs([(job, "successful", None)])

    @property
    def busy(self) -> bool:
        return bool(self._running)

    async def beat(self) -> None:
        """Keep the running jobs alive."""
        await self._queries.update_heartbeat([types.JobId(job_id) for job_id in self._running])
