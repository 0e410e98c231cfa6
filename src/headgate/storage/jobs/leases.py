"""Leases: what must be done by one at a time, wherever the workers are.

A lease is held for a while and renewed. Its holder counts the time on its own monotonic clock, from the
moment *before* it asked, and gives up a little early; the database counts from the moment it answered.
So the holder always knows that it lost the lease before anybody else can have it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import UUID

from headgate.domain.errors import Transient
from headgate.kernel.clock import Clock
from headgate.kernel.logs import get_logger
from headgate.storage.database import Database, Tx
from headgate.storage.errors import DatabaseAway
from headgate.storage.queries import load_queries

Q = load_queries(__name__)
Result = TypeVar("Result")

log = get_logger("leases")

CERTAIN_PART = 0.9
"""The part of its time for which a holder relies on a lease; the rest covers clocks that run unevenly."""

_MOMENT_S = 0.001
_RENEWED_AT = 0.5
"""When half of its time is over: statements that renew a lease in passing come before that."""
_RETRY_PART = 0.1
_RELEASE_S = 1.0
"""How long a holder tries to give a lease back; one that is not given back expires."""


class LeaseLost(Transient):
    """The lease went to somebody else, or could not be renewed in time."""


@dataclass(frozen=True)
class Lease:
    """A lease in hand; `deadline_s` is on the holder's monotonic clock."""

    name: str
    token: UUID
    holder: str
    ttl_s: float
    deadline_s: float


@dataclass(frozen=True)
class _Done:
    done: bool


async def take_lease(
    database: Database, clock: Clock, *, name: str, holder: str, token: UUID, ttl_s: float
) -> Lease | None:
    """Take a lease that is free or expired; nothing if somebody holds it."""
    async with database.autocommit() as tx:
        asked_at_s = clock.monotonic()
        taken = await tx.one(_Done, Q["take_lease"], name=name, holder=holder, token=token, ttl_s=ttl_s)
        if taken is None:
            await tx.execute(Q["shorten_lease"], name=name)
    return Lease(name, token, holder, ttl_s, _deadline_s(asked_at_s, ttl_s)) if taken else None


async def renew_lease(database: Database, clock: Clock, lease: Lease) -> Lease | None:
    """Return the lease with a later deadline; nothing if it is lost."""
    async with database.autocommit() as tx:
        asked_at_s = clock.monotonic()
        renewed = await tx.one(_Done, Q["renew_lease"], name=lease.name, token=lease.token, ttl_s=lease.ttl_s)
    if renewed is None:
        return None
    deadline_s = _deadline_s(asked_at_s, lease.ttl_s)
    return Lease(lease.name, lease.token, lease.holder, lease.ttl_s, deadline_s)


async def release_lease(database: Database, lease: Lease) -> bool:
    """Free the lease for the next one; tell whether it was still ours."""
    async with database.autocommit() as tx:
        return await tx.one(_Done, Q["release_lease"], name=lease.name, token=lease.token) is not None


def _deadline_s(asked_at_s: float, ttl_s: float) -> float:
    return asked_at_s + ttl_s * CERTAIN_PART


class LeaseKeeper:
    """Keeps a lease alive while its block runs; releases it at the end.

    It renews in the background, unless statements of the holder do so in passing. `lost` is set when another
    holder was found, or when the deadline passed without a renewal.
    """

    def __init__(self, database: Database, clock: Clock, lease: Lease) -> None:
        self._database = database
        self._clock = clock
        self._lease = lease
        self._tasks: list[asyncio.Task[None]] = []
        self.lost = asyncio.Event()

    @property
    def lease(self) -> Lease:
        return self._lease

    @property
    def held(self) -> bool:
        """Whether the lease is ours right now; cheap enough to ask before each call."""
        return not self.lost.is_set() and self._clock.monotonic() < self._lease.deadline_s

    async def __aenter__(self) -> Self:
        self.start()
        return self

    def start(self) -> None:
        """Begin to renew it."""
        self._tasks = [
            asyncio.create_task(self._renew(), name=f"renew lease {self._lease.name}"),
            asyncio.create_task(self._watch_deadline(), name=f"watch lease {self._lease.name}"),
        ]

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()
        if self.held:
            with contextlib.suppress(DatabaseAway, TimeoutError):
                async with self._clock.timeout(_RELEASE_S):
                    await release_lease(self._database, self._lease)

    def renewed(self, asked_at_s: float) -> None:
        """Note that a statement which was sent at this time has renewed the lease."""
        self._prolong(_deadline_s(asked_at_s, self._lease.ttl_s))

    async def release_with(self, tx: Tx) -> None:
        """Free the lease when this transaction commits, so that the jobs it wakes find it free."""
        await self.stop()
        await tx.execute(Q["release_lease"], name=self._lease.name, token=self._lease.token)

    async def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Carry out the work under the lease; when it is lost, cancel the work and raise `LeaseLost`."""
        working = asyncio.create_task(work, name=f"work under lease {self._lease.name}")
        losing = asyncio.create_task(self.lost.wait())
        try:
            await asyncio.wait({working, losing}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise LeaseLost(f"the lease {self._lease.name!r} was lost")
            return working.result()
        finally:
            await _cancel(losing)
            await _cancel(working)

    async def _renew(self) -> None:
        ttl_s = self._lease.ttl_s
        while not self.lost.is_set():
            due_s = self._lease.deadline_s - ttl_s * (CERTAIN_PART - _RENEWED_AT)
            left_s = due_s - self._clock.monotonic()
            if left_s > _MOMENT_S:
                await self._clock.sleep(left_s)
                continue
            try:
                renewed = await self._renew_once()
            except DatabaseAway:
                # The deadline decides; until then the next try may succeed.
                await self._clock.sleep(ttl_s * _RETRY_PART)
                continue
            if renewed is None:
                self.lose("another holder has it")
            else:
                self._prolong(renewed.deadline_s)

    async def _watch_deadline(self) -> None:
        while not self.lost.is_set():
            left_s = self._lease.deadline_s - self._clock.monotonic()
            if left_s <= 0:
                self.lose("it was not renewed in time")
            else:
                await self._clock.sleep(left_s)

    def _prolong(self, deadline_s: float) -> None:
        self._lease = replace(self._lease, deadline_s=max(self._lease.deadline_s, deadline_s))

    async def stop(self) -> None:
        """Renew it no more."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            await _cancel(task)

    async def _renew_once(self) -> Lease | None:
        return await renew_lease(self._database, self._clock, self._lease)

    def lose(self, reason: str) -> None:
        """Rely on it no more."""
        if not self.lost.is_set():
            self.lost.set()
            log.warning("lost a lease", lease=self._lease.name, reason=reason)


async def _cancel(task: asyncio.Task[Any]) -> None:
    """Cancel a task and wait until it has ended, whatever it ends with."""
    task.cancel()
    await asyncio.wait({task})
