"""Our statements on the engine's tables: the fence, retries, cancellation, sweeping, looking.

The engine ends jobs by id alone; every statement here that ends one checks its owner too.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

import psycopg
from pgqueuer.adapters.persistence.qb import QueryQueueBuilder
from psycopg.types.json import Jsonb

from headgate.domain.errors import HeadgateError
from headgate.storage.database import Statement, Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

_LOST = "HG001"


@dataclass(frozen=True)
class QueueDepth:
    """How many jobs of a kind are in a state, and how long the oldest has waited."""

    kind: str
    entrypoint: str
    status: str
    depth: int
    oldest_s: float


@dataclass(frozen=True)
class QueuedJob:
    """A job that is queued, running or held."""

    id: int
    kind: str
    key: str
    status: str
    priority: int
    attempts: int
    crashes: int
    created_at: datetime
    not_before_at: datetime
    owner: UUID | None


@dataclass(frozen=True)
class EndedJob:
    """A job that ended not long ago."""

    id: int
    kind: str
    status: str
    ended_at: datetime


@dataclass(frozen=True)
class EndedJobs:
    """How many jobs of a kind ended in one way not long ago."""

    kind: str
    status: str
    jobs: int


@dataclass(frozen=True)
class HeldJob:
    """A job that the engine parked by itself."""

    id: int
    kind: str
    key: str
    attempts: int
    first_tried_at: datetime | None


@dataclass(frozen=True)
class LogLine:
    """One event in the life of a job."""

    status: str
    at: datetime
    traceback: dict[str, Any] | None


async def enqueue_jobs(
    tx: Tx, *, kinds: Sequence[str], keys: Sequence[str], priorities: Sequence[int]
) -> int:
    """Enqueue wake-ups in the caller's transaction; a key that has a job already keeps it.

    A job that is queued already takes the higher priority of the two wishes.
    """
    dedupe_keys = [f"{kind}:{key}" for kind, key in zip(kinds, keys, strict=True)]
    rows = await tx.raw(
        QueryQueueBuilder().build_enqueue_query("skip"),
        (
            list(priorities),
            list(kinds),
            [key.encode() for key in keys],
            [timedelta(0)] * len(keys),
            dedupe_keys,
            [f'{{"kind": "{kind}"}}' for kind in kinds],
        ),
    )
    if len(rows) < len(keys) and any(priorities):
        await tx.execute(Q["raise_priorities"], dedupe_keys=dedupe_keys, priorities=list(priorities))
    return len(rows)


async def end_delay(tx: Tx, dedupe_key: str) -> None:
    """Let a queued job run now that waits for its next try."""
    await tx.execute(Q["end_delay"], dedupe_key=dedupe_key)


async def count_queued(tx: Tx, kinds: Sequence[str], *, most: int) -> list[int]:
    """Return how many jobs of each kind wait, at most `most`."""
    return await tx.column(Q["count_queued"], kinds=list(kinds), most=most)


class LostJob(HeadgateError):
    """Another worker owns the job now; nothing that this one did at the end counts."""


def completion(*, job_id: int, owner: UUID) -> Statement:
    """The statement that completes a job, or fails together with everything sent along with it."""
    return Statement(Q["complete_jobs"], {"job_id": job_id, "owner": owner})


@contextmanager
def fenced() -> Generator[None, None, None]:
    """Turn the fence's refusal into `LostJob`."""
    try:
        yield
    except psycopg.Error as error:
        if error.sqlstate == _LOST:
            raise LostJob(str(error.diag.message_primary)) from error
        raise


async def release_job(
    tx: Tx,
    *,
    job_id: int,
    owner: UUID,
    delay_s: float = 0.0,
    counted: Literal["crashes", "collisions"] | None = None,
) -> bool:
    """Give a job back without counting an attempt, if it is still ours."""
    touched = await tx.execute(Q["release_job"], job_id=job_id, owner=owner, delay_s=delay_s, counted=counted)
    return touched == 1


async def forget_crashes(tx: Tx, *, job_id: int, owner: UUID) -> bool:
    """Count the crashes of a job that is still ours from 0 on."""
    return await tx.execute(Q["forget_crashes"], job_id=job_id, owner=owner) == 1


async def get_server_uptime_s(tx: Tx) -> float:
    """Return for how long the server has run."""
    return await tx.value(Q["get_server_uptime_s"])


async def retry_job(
    tx: Tx, *, job_id: int, owner: UUID, delay_s: float, failure: dict[str, Any], now: datetime
) -> bool:
    """Give a job back after a failed attempt, if it is still ours."""
    touched = await tx.execute(
        Q["retry_job"], job_id=job_id, owner=owner, delay_s=delay_s, failure=Jsonb(failure), now=now
    )
    return touched == 1


async def isolate_job(tx: Tx, *, job_id: int, owner: UUID) -> bool:
    """Send a job to where it runs alone, if it is still ours."""
    return await tx.execute(Q["isolate_job"], job_id=job_id, owner=owner) == 1


async def route_job(tx: Tx, *, job_id: int, owner: UUID, account_id: UUID, route: str, plain: str) -> bool:
    """Give a job to the process that holds an account, or to all if none does, if it is still ours."""
    touched = await tx.execute(
        Q["route_job"], job_id=job_id, owner=owner, account_id=account_id, route=route, plain=plain
    )
    return touched == 1


async def unroute_jobs(tx: Tx, account_id: UUID) -> int:
    """Give what waits for the holder of an account to all workers."""
    return await tx.execute(Q["unroute_jobs"], account_id=account_id)


async def has_waiting(tx: Tx, *, priority: int) -> bool:
    """Tell whether jobs of at least this priority wait for a slot."""
    return await tx.value(Q["has_waiting"], priority=priority)


async def cancel_jobs(tx: Tx, dedupe_keys: Sequence[str]) -> int:
    """Cancel queued and running jobs; running ones are told to stop when the transaction commits."""
    job_ids = await tx.column(Q["cancel_jobs"], dedupe_keys=list(dedupe_keys))
    if job_ids:
        await tx.execute(Q["notify_cancelled"], job_ids=job_ids)
    return len(job_ids)


async def sweep_ended(tx: Tx) -> int:
    return await tx.execute(Q["sweep_ended"])


async def list_held(tx: Tx) -> list[HeldJob]:
    return await tx.all(HeldJob, Q["list_held"])


async def delete_job(tx: Tx, job_id: int) -> None:
    await tx.execute(Q["delete_job"], job_id=job_id)


async def age_priorities(tx: Tx, *, after_s: float) -> int:
    return await tx.execute(Q["age_priorities"], after_s=after_s)


async def queue_depths(tx: Tx) -> list[QueueDepth]:
    return await tx.all(QueueDepth, Q["queue_depths"])


async def list_jobs(tx: Tx, *, kind: str | None, limit: int) -> list[QueuedJob]:
    return await tx.all(QueuedJob, Q["list_jobs"], kind=kind, limit=limit)


async def get_job(tx: Tx, job_id: int) -> QueuedJob | None:
    return await tx.one(QueuedJob, Q["get_job"], job_id=job_id)


async def count_completed(tx: Tx) -> list[EndedJobs]:
    return await tx.all(EndedJobs, Q["count_completed"])


async def list_completed(tx: Tx, *, kind: str | None, limit: int) -> list[EndedJob]:
    return await tx.all(EndedJob, Q["list_completed"], kind=kind, limit=limit)


async def list_job_log(tx: Tx, job_id: int) -> list[LogLine]:
    return await tx.all(LogLine, Q["list_job_log"], job_id=job_id)


async def prune_log(tx: Tx, *, keep: int, keep_s: int) -> int:
    return await tx.execute(Q["prune_log"], keep=keep, keep_s=keep_s)


async def count_stale_jobs(tx: Tx, *, silent_s: float) -> int:
    """Return how many jobs belong to a worker that has given no sign of life for so long."""
    return await tx.value(Q["count_stale"], silent_s=silent_s)
