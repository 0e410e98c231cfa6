"""Kinds of jobs, and the wake-ups that name them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, Protocol, TypeVar

from headgate.domain.retry import RetryPolicy
from headgate.jobs.job import Job
from headgate.storage.database import Tx

K = TypeVar("K")
RowKey_contra = TypeVar("RowKey_contra", contravariant=True)
RunnerName = Literal["fast", "bulk", "send", "poll", "transfer", "inspect"]
Handler = Callable[[Job[K]], Awaitable[None]]


class WorkRows(Protocol[RowKey_contra]):
    """The rows that hold the work of a kind; a job only says which of them to look at."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> Sequence[str | Wake]:
        """Return the keys of due rows that have no job, the longest due first.

        Where their priorities differ from the kind's, whole wake-ups.
        """
        ...

    async def postpone(self, tx: Tx, key: RowKey_contra, *, until: datetime, now: datetime) -> None:
        """Make a row due later, because its job became a dead letter; never take its due time away."""
        ...

    async def reopen(self, tx: Tx, key: RowKey_contra, *, now: datetime) -> None:
        """Make a resting row due, because its dead letter was replayed or pruned."""
        ...


@dataclass(frozen=True)
class Kind(Generic[K]):
    """A kind of job: what its key is, who carries it out, and how."""

    name: str
    parse_key: Callable[[str], K]
    handle: Handler[K]
    rows: WorkRows[K] | None = None
    runner: RunnerName = "fast"
    priority: int = 0
    retry: RetryPolicy | None = None
    """Another policy than the deployment's."""
    concurrency: int = 0
    """Jobs of this kind at once over all workers; of polls and transfers, in each worker.

    0: as many as the runners take.
    """


@dataclass(frozen=True)
class Wake:
    """A wish that a kind of job looks at a key."""

    kind: str
    key: str
    priority: int = 0

    @property
    def dedupe_key(self) -> str:
        return f"{self.kind}:{self.key}"


class Kinds:
    """All kinds that a worker knows."""

    def __init__(self, kinds: Iterable[Kind[Any]] = ()) -> None:
        self._kinds: dict[str, Kind[Any]] = {}
        for kind in kinds:
            self.add(kind)

    def add(self, kind: Kind[Any]) -> None:
        if kind.name in self._kinds:
            raise ValueError(f"the kind {kind.name!r} is there already")
        self._kinds[kind.name] = kind

    def get(self, name: str) -> Kind[Any] | None:
        return self._kinds.get(name)

    def of_runner(self, runner: RunnerName) -> list[Kind[Any]]:
        return [kind for kind in self if kind.runner == runner]

    def __iter__(self) -> Iterator[Kind[Any]]:
        return iter(self._kinds.values())
