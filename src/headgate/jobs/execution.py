"""Carries out one job: hand it to its handler, then settle it by what came of it.

Every way out ends in one fenced transaction, or leaves the row to be picked again: done with its effects,
done without any, to be tried again, to wait, or dead. Nothing here belongs to the engine's library, so that
the simulator steps the same code.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from headgate.domain.errors import (
    AccountTrouble,
    HeadgateError,
    HeldElsewhere,
    Malformed,
    WorkError,
    error_class,
)
from headgate.domain.retry import JITTER, RetryPolicy, judge_failure
from headgate.jobs import measures
from headgate.jobs.job import Claim, Job, Settlement
from headgate.jobs.kinds import Kind, Kinds
from headgate.jobs.routes import JobRoutes, route_of
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.logs import get_logger
from headgate.kernel.randomness import Randomness
from headgate.storage.database import Database, Tx
from headgate.storage.errors import Collided, DatabaseAway
from headgate.storage.group_commit import GroupCommit
from headgate.storage.jobs import engine
from headgate.storage.jobs.dead_letters import DeadLetter, bury
from headgate.storage.jobs.engine import LostJob

log = get_logger("jobs")

SUSPECT = "suspect"
SUSPECT_AFTER_CRASHES = 2
COLLISIONS = RetryPolicy(first_delay_s=1.0, longest_delay_s=60.0)
"""Pauses after collisions and time-outs of the database, which are no attempts."""
REST = timedelta(minutes=30)
"""How long after its job gave up work is retried, even if no one handles the dead letter."""


class Crashed(WorkError):
    """The job was under way each time that its worker died."""

    retryable = False


@dataclass(frozen=True)
class Picked:
    """A job row that a runner has claimed."""

    claim: Claim
    kind: str
    key: str
    attempts: int
    crashes: int
    collisions: int
    first_tried_at: datetime | None
    """Product time at which its first attempt failed."""
    isolated: bool


@dataclass
class Execution:
    """What carrying out jobs needs."""

    kinds: Kinds
    database: Database
    clock: Clock
    randomness: Randomness
    ids: Ids
    max_crashes: int = 5
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the process is asked to stop: who can end early does."""
    crowded: Callable[[], bool] = lambda: False
    """Whether a suspect waits for all others to end."""
    routes: JobRoutes = field(default_factory=JobRoutes)

    def __post_init__(self) -> None:
        self._writer = GroupCommit(self.database)

    async def run(self, picked: Picked) -> Settlement:
        """Carry out a claimed job and say what is left to do with its row."""
        kind = self.kinds.get(picked.kind)
        if picked.crashes >= self.max_crashes:
            error = Crashed(
                f"its worker or its database connection died {picked.crashes} times while it was under way"
            )
            return await self._bury(picked, kind, error)
        if picked.crashes >= SUSPECT_AFTER_CRASHES and not picked.isolated:
            log.warning("a job was there at several crashes; it will run alone", **_names(picked))
            async with self.database.transaction() as tx:
                await engine.isolate_job(tx, job_id=picked.claim.job_id, owner=picked.claim.owner)
            return Settlement.LEAVE
        if kind is None:
            return await self._bury(picked, None, Malformed(f"no worker knows the kind {picked.kind!r}"))
        return await self._handle(picked, kind)

    async def _handle(self, picked: Picked, kind: Kind[Any]) -> Settlement:
        job: Job[Any] | None = None
        started = self.clock.monotonic()
        try:
            job = self._job(picked, kind)
            await kind.handle(job)
        except LostJob:
            outcome, settlement = "lost", Settlement.LEAVE
            log.info("a job was taken over by another worker", **_names(picked))
        except DatabaseAway as error:
            outcome, settlement = "away", await self._lose(picked, error, since_s=started)
        except AccountTrouble:
            # The account is suspended: its work waits for it, or has gone to another one.
            outcome, settlement = "failed", Settlement.COMPLETE
        except HeldElsewhere as error:
            outcome, settlement = "routed", await self._route(picked, kind, error.account_id)
        except Collided as error:
            outcome, settlement = "collided", await self._give_way(picked, error)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is judged, counted and kept
            outcome, settlement = await self._fail(picked, kind, error)
        else:
            outcome, settlement = job.outcome, job.settlement
        measures.seconds_of(kind.name).observe(self.clock.monotonic() - started)
        measures.ended_of(kind.name, outcome).inc()
        return settlement

    def _job(self, picked: Picked, kind: Kind[Any]) -> Job[Any]:
        try:
            key = kind.parse_key(picked.key)
        except ValueError as error:
            raise Malformed(f"{picked.key!r} is not a key of the kind {picked.kind!r}: {error}") from error
        return Job(
            claim=picked.claim,
            kind=picked.kind,
            key=key,
            raw_key=picked.key,
            attempt=picked.attempts + 1,
            crashes=picked.crashes,
            database=self.database,
            writer=self._writer,
            stopping=self.stopping,
            crowded=self.crowded,
        )

    async def _fail(self, picked: Picked, kind: Kind[Any], error: Exception) -> tuple[str, Settlement]:
        attempt = picked.attempts + 1
        verdict = judge_failure(error, attempt=attempt, policy=kind.retry or self.retry)
        if verdict.action == "wait":
            return "waiting", await self.release(picked, delay_s=verdict.delay_s)
        measures.JOB_ERRORS.labels(kind.name, error_class(error)).inc()
        if verdict.action == "die":
            return "dead", await self._bury(picked, kind, error)
        delay_s = self._jittered(verdict.delay_s)
        log.warning(
            "a job failed; it will be tried again",
            **_names(picked),
            attempt=attempt,
            delay_s=round(delay_s, 1),
            error=_sentence(error),
        )
        failure = {"error_class": error_class(error), "message": _sentence(error), "stack": _stack(error)}
        async with self.database.transaction() as tx:
            await engine.retry_job(
                tx,
                job_id=picked.claim.job_id,
                owner=picked.claim.owner,
                delay_s=delay_s,
                failure=failure,
                now=self.clock.now(),
            )
        return "retried", Settlement.LEAVE

    async def _lose(self, picked: Picked, error: DatabaseAway, *, since_s: float) -> Settlement:
        """Give back a job whose database connection was lost.

        A restart of the server is not the job's fault. If the server runs on, the job may be what kills its
        connections: that counts as a crash, and the pause before the next try grows.
        """
        async with self.database.transaction() as tx:
            up_s = await engine.get_server_uptime_s(tx)
            innocent = up_s < self.clock.monotonic() - since_s
            delay_s = 0.0 if innocent else self._jittered(self.retry.delay_s(picked.crashes + 1))
            await engine.release_job(
                tx,
                job_id=picked.claim.job_id,
                owner=picked.claim.owner,
                delay_s=delay_s,
                counted=None if innocent else "crashes",
            )
        log.warning("a job lost its database connection", **_names(picked), error=_sentence(error))
        return Settlement.LEAVE

    async def _route(self, picked: Picked, kind: Kind[Any], account_id: UUID) -> Settlement:
        """Hand a job to the process that holds its account; that wakes it."""
        async with self.database.transaction() as tx:
            await engine.route_job(
                tx,
                job_id=picked.claim.job_id,
                owner=picked.claim.owner,
                account_id=account_id,
                route=route_of(SUSPECT if picked.isolated else kind.runner, account_id),
                plain=SUSPECT if picked.isolated else kind.name,
            )
        return Settlement.LEAVE

    async def _give_way(self, picked: Picked, error: Collided) -> Settlement:
        """Give back a job that collided with others: no attempt of its own failed."""
        delay_s = self._jittered(COLLISIONS.delay_s(picked.collisions + 1))
        log.info("a job gave way to another change", **_names(picked), error=_sentence(error))
        async with self.database.transaction() as tx:
            await engine.release_job(
                tx,
                job_id=picked.claim.job_id,
                owner=picked.claim.owner,
                delay_s=delay_s,
                counted="collisions",
            )
        return Settlement.LEAVE

    def _jittered(self, delay_s: float) -> float:
        return self.randomness.jittered(delay_s, part=JITTER)

    async def _bury(self, picked: Picked, kind: Kind[Any] | None, error: Exception) -> Settlement:
        log.error("a job gave up", **_names(picked), error=_sentence(error))
        try:
            async with self.database.transaction() as tx:
                with engine.fenced():
                    await tx.run(picked.claim.completion())
                await bury_job(tx, picked, kind, error, now=self.clock.now(), letter_id=self.ids.new())
        except LostJob:
            return Settlement.LEAVE
        return Settlement.SWEEP

    async def release(self, picked: Picked, *, delay_s: float = 0.0) -> Settlement:
        """Give a job back without counting an attempt, if it is still ours."""
        async with self.database.transaction() as tx:
            await engine.release_job(
                tx, job_id=picked.claim.job_id, owner=picked.claim.owner, delay_s=delay_s
            )
        return Settlement.LEAVE


async def bury_job(
    tx: Tx, picked: Picked, kind: Kind[Any] | None, error: Exception, *, now: datetime, letter_id: UUID
) -> None:
    """Write the dead letter and let its work rest for a while."""
    await bury(
        tx,
        DeadLetter(
            id=letter_id,
            kind=picked.kind,
            key=picked.key,
            error_class=error_class(error),
            message=_sentence(error),
            stack=_stack(error),
            attempts=picked.attempts + 1,
            crashes=picked.crashes,
            first_tried_at=picked.first_tried_at or now,
            died_at=now,
        ),
    )
    if kind is None or kind.rows is None:
        return
    try:
        key = kind.parse_key(picked.key)
    except ValueError:
        return
    await kind.rows.postpone(tx, key, until=now + REST, now=now)


def _names(picked: Picked) -> dict[str, Any]:
    return {"kind": picked.kind, "key": picked.key}


def _sentence(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    return text if isinstance(error, HeadgateError) else f"{type(error).__name__}: {text}"


def _stack(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-20_000:]
