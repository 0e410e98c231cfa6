"""A queue runner: the engine's loop over some kinds, supervised.

When the engine's run ends (a killed connection ends it), it is built anew after a pause that grows.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

import asyncpg
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.core.buffers import HeartbeatBuffer, JobStatusLogBuffer
from pgqueuer.core.executors import EntrypointExecutor, EntrypointExecutorParameters
from pgqueuer.core.qm import QueueManager
from pgqueuer.core.tm import cancel_on_exit
from pgqueuer.domain import models, types
from pgqueuer.ports.driver import NotifyCallback

from headgate.jobs import measures
from headgate.jobs.execution import SUSPECT, Execution, Picked
from headgate.jobs.fenced import FencedQueries
from headgate.jobs.gate import Gate
from headgate.jobs.job import Claim, Settlement
from headgate.jobs.routes import runner_of
from headgate.kernel.logs import get_logger, mask_url

log = get_logger("jobs")

# asyncpg ships no types for this.
_connect = cast("Callable[..., Awaitable[Any]]", asyncpg.connect)  # pyright: ignore[reportUnknownMemberType]

FIRST_PAUSE_S = 0.2
MAX_PAUSE_S = 5.0
BATCH_SIZE = 100
POLL_S = 2.0
REPOLL_S = 0.1
"""The pause while jobs wait for a slot that another process may free."""
SWEEP_S = 0.5
GIVE_BACK_S = 2.0
SUSPECT_PAUSE_S = 30.0
"""Until a suspect that found no quiet asks again: live work must have most of the time."""

_CHANGED = (
    '{{"channel": "{channel}", "type": "table_changed_event", "operation": "update", "table": "pgqueuer",'
    ' "sent_at": "2000-01-01T00:00:00Z"}}'
)


def picked_from(job: models.Job, owner: UUID) -> Picked:
    """Read the engine's row as ours."""
    headers: dict[str, Any] = job.headers or {}
    first_tried = headers.get("first_tried_at")
    return Picked(
        claim=Claim(job_id=job.id, owner=owner),
        kind=str(headers.get("kind", job.entrypoint)),
        key=(job.payload or b"").decode(),
        attempts=job.attempts,
        crashes=int(headers.get("crashes", 0)),
        collisions=int(headers.get("collisions", 0)),
        first_tried_at=datetime.fromisoformat(first_tried) if first_tried else None,
        isolated=runner_of(job.entrypoint) == SUSPECT,
    )


class WakeableDriver(AsyncpgDriver):
    """The engine's connection, whose listeners can be told that the queue changed without a notification.

    Every flush of any runner deletes ended jobs, which concerns only a runner that waits for a slot.
    """

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self.is_starved: Callable[[], bool] = lambda: True
        self._listeners: dict[str, NotifyCallback] = {}

    async def add_listener(self, channel: str, callback: NotifyCallback) -> None:
        def hear(payload: str | bytes | bytearray) -> None:
            if self.is_starved() or json.loads(payload).get("operation") != "delete":
                callback(payload)

        await super().add_listener(channel, hear)
        self._listeners[channel] = callback

    def wake(self) -> None:
        """Make the engine's loop look at the queue."""
        for channel, callback in self._listeners.items():
            callback(_CHANGED.format(channel=channel))


@dataclass
class Engine(QueueManager):
    """The engine's loop with our dispatch: one beat for all running jobs instead of a task for each."""

    execution: Execution | None = None
    running: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])
    giving_back: bool = False
    buffer: JobStatusLogBuffer | None = None

    def flush(self) -> None:
        """Write now what the engine has buffered of ended jobs."""
        if self.buffer is not None:
            self.buffer.schedule_flush()

    @property
    def fenced(self) -> FencedQueries:
        assert isinstance(self.queries, FencedQueries)  # noqa: S101 - built by `Runner` alone
        return self.queries

    async def verify_structure(self) -> None:
        """Ask nothing: our migrations have made the engine's tables, and other versions do not start."""

    async def beat(self) -> None:
        """Keep all running jobs alive for another while."""
        if self.job_context:
            await self.queries.update_heartbeat(list(self.job_context))

    def give_back(self) -> None:
        """Cancel what runs, and return it to the queue: an attempt that ended so is none."""
        self.giving_back = True
        for task in list(self.running):
            task.cancel()

    def forget_job(self, job_id: types.JobId, context: models.Context, task: asyncio.Task[None]) -> None:
        super().forget_job(job_id, context, task)
        self.fenced.free_slot()

    async def _effective_dequeue_timeout(self, dequeue_timeout: timedelta) -> timedelta:
        queries = self.fenced
        # The engine asks whether it missed work; a suspect can wait for the next look.
        if queries.alone:
            return dequeue_timeout
        due_in_s = await queries.get_due_in_s(list(self.entrypoint_registry))
        if due_in_s is None:
            return dequeue_timeout
        if due_in_s <= 0 and queries.expect_slot():
            return timedelta(0)
        return min(dequeue_timeout, max(timedelta(seconds=due_in_s), self.min_dequeue_poll_interval))

    async def wait_for_running(self, timeout_s: float) -> None:
        """Wait until all that runs has ended, but not for ever."""
        if self.running:
            await asyncio.wait(set(self.running), timeout=timeout_s)

    async def _dispatch(
        self,
        job: models.Job,
        jbuff: JobStatusLogBuffer,
        hbuff: HeartbeatBuffer,
        heartbeat_timeout: timedelta,
    ) -> None:
        queries = self.fenced
        picked = picked_from(job, self.queue_manager_id)
        settlement = Settlement.LEAVE
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - the engine dispatches every job as a task
        self.running.add(task)
        try:
            with self.get_context(job.id).cancellation:
                settlement = await self._run(picked)
        except asyncio.CancelledError:
            # A job that a person cancelled has nothing to give back.
            if self.giving_back and self.execution is not None:
                await asyncio.shield(self.execution.release(picked))
            raise
        finally:
            self.running.discard(task)
            queries.gate.ended(queries.owner, job.id)
        if settlement is Settlement.SWEEP:
            queries.ended.append(job.id)
        elif settlement is Settlement.COMPLETE:
            self.buffer = jbuff
            queries.settlements[job.id] = settlement
            await jbuff.add((job, "successful", None))
            queries.buffered()

    async def _run(self, picked: Picked) -> Settlement:
        assert self.execution is not None  # noqa: S101 - built by `Runner` alone
        if not picked.isolated:
            return await self.execution.run(picked)
        async with self.fenced.gate.alone() as quiet:
            if quiet:
                return await self.execution.run(picked)
        return await self.execution.release(picked, delay_s=SUSPECT_PAUSE_S)


@dataclass
class Runner:
    """One loop of the engine: `fast`, `bulk`, `send`, or the one for suspects."""

    name: str
    url: str
    execution: Execution
    entrypoints: dict[str, int]
    """Entrypoints with the number of jobs at once over all workers; 0: no limit."""
    concurrency: int
    heartbeat_timeout_s: float
    gate: Gate
    shutdown_s: float = 8.0
    healthy: bool = False
    """Whether the engine runs and its connection is there."""
    _logged: bool = False
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _engine: Engine | None = None

    async def run(self) -> None:
        """Run until `stop`, whatever happens to the connection."""
        pause_s = FIRST_PAUSE_S
        self.execution.stopping.clear()
        while not self._stopping.is_set():
            started = self.execution.clock.monotonic()
            try:
                await self._run_engine()
            except asyncio.CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever ends the engine, it is built anew
                if self._stopping.is_set():
                    break
                measures.ENGINE_RESTARTS.labels(self.name).inc()
                if self.execution.clock.monotonic() - started > MAX_PAUSE_S:
                    pause_s = FIRST_PAUSE_S
                self._notify(error)
                await self._pause(pause_s)
                pause_s = min(pause_s * 2, MAX_PAUSE_S)

    def _notify(self, error: Exception) -> None:
        """Say once that the engine stopped; that it does not start either is the same news."""
        say = log.debug if self._logged else log.warning
        self._logged = True
        reason = mask_url(f"{type(error).__name__}: {error}")
        say("the engine stopped; it will be built anew", runner=self.name, reason=reason)

    async def stop(self) -> None:
        """Let running jobs finish for a while; give back what is still running then."""
        self._stopping.set()
        self.execution.stopping.set()
        engine = self._engine
        if engine is None:
            return
        engine.shutdown.set()
        await engine.wait_for_running(self.shutdown_s)
        engine.give_back()
        # Without a database nothing can be given back; the jobs' heartbeats run out instead.
        await engine.wait_for_running(GIVE_BACK_S)
        engine.give_back()

    async def _pause(self, pause_s: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), pause_s)

    async def _run_engine(self) -> None:
        connection = await _connect(
            self.url,
            timeout=10,
            command_timeout=60,
            server_settings={"application_name": f"headgate {self.name}", "jit": "off", "timezone": "UTC"},
        )
        driver = WakeableDriver(connection)
        queries = FencedQueries(
            driver,
            gate=self.gate,
            runners=[self.name],
            routes=self.execution.routes,
            alone=SUSPECT in self.entrypoints,
            most=self.concurrency or None,
            wake=driver.wake,
        )
        driver.is_starved = queries.is_starved
        unsubscribe = self.execution.routes.subscribe(driver.wake)
        try:
            engine = self._build_engine(queries)
            if self._stopping.is_set():
                return
            self.healthy, self._logged = True, False
            async with (
                cancel_on_exit(asyncio.create_task(self._keep_alive(engine, connection))),
                cancel_on_exit(asyncio.create_task(_keep_swept(queries))),
            ):
                await engine.run(
                    dequeue_timeout=timedelta(seconds=POLL_S),
                    batch_size=max(1, min(BATCH_SIZE, self.concurrency // 2)),
                    max_concurrent_tasks=max(self.concurrency, 2),
                    shutdown_on_listener_failure=True,
                    heartbeat_timeout=timedelta(seconds=self.heartbeat_timeout_s),
                    log_aggregation_interval=timedelta(0),
                )
        finally:
            self.healthy = False
            self._engine = None
            self.gate.forget(queries.owner)
            unsubscribe()
            with suppress(Exception):
                await queries.sweep_ended()
            with suppress(Exception):
                await connection.close(timeout=2)

    async def _keep_alive(self, engine: Engine, connection: Any) -> None:
        """Beat for the running jobs while the connection is there; without it, give them back.

        They get a moment to end by themselves, but not so long that others take them for dead; and the
        engine is built anew only when they have ended.
        """
        pause_s = self.heartbeat_timeout_s / 4
        while not connection.is_closed():
            await asyncio.sleep(pause_s)
            with suppress(Exception):
                await engine.beat()
        self.healthy = False
        engine.fenced.lost = True
        await asyncio.sleep(pause_s)
        engine.give_back()

    def _build_engine(self, queries: FencedQueries) -> Engine:
        engine = Engine(queries, execution=self.execution)
        engine.min_dequeue_poll_interval = timedelta(seconds=REPOLL_S)
        queries.owner = engine.queue_manager_id
        queries.running = lambda: len(engine.job_context)
        queries.flush = engine.flush
        for name, limit in self.entrypoints.items():
            parameters = EntrypointExecutorParameters(concurrency_limit=limit, func=_never_called)
            engine.register_executor(name, EntrypointExecutor(parameters))
        self._engine = engine
        return engine


async def _keep_swept(queries: FencedQueries) -> None:
    """Remove the rows of ended jobs now and then; the tick removes what is left over."""
    while True:
        await asyncio.sleep(SWEEP_S)
        with suppress(Exception):
            await queries.sweep_ended()


async def _never_called(_job: models.Job) -> None:
    raise RuntimeError("jobs go through our own dispatch")
