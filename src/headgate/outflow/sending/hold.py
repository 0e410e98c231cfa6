"""The one sender of an account: waking it, and its lease, which rounds renew in passing."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from headgate.jobs.kinds import Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.storage.database import Database, Tx
from headgate.storage.jobs.leases import CERTAIN_PART, Lease, LeaseLost, renew_lease

T = TypeVar("T")

SEND = "send"
"""The kind of job that wakes a sender."""
LEASE_S = 10.0


@dataclass
class SenderLease:
    """A lease in hand; before each call its deadline is looked at."""

    database: Database
    clock: Clock
    lease: Lease
    deadline_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.deadline_s = self.lease.deadline_s

    @property
    def sure(self) -> bool:
        """Whether nobody else can have the lease right now."""
        return self.clock.monotonic() < self.deadline_s

    def renewed(self, asked_at_s: float) -> None:
        """Note that a statement which was sent at a time has renewed the lease."""
        self.deadline_s = asked_at_s + LEASE_S * CERTAIN_PART

    async def keep(self) -> bool:
        """Renew the lease if it is about to end; false if it is another's."""
        if self.deadline_s - self.clock.monotonic() > LEASE_S / 2:
            return True
        renewed = await renew_lease(self.database, self.clock, self.lease)
        if renewed is None:
            return False
        self.deadline_s = renewed.deadline_s
        return True

    async def keep_through(self, work: Coroutine[Any, Any, T]) -> T:
        """Carry out slow work and keep the lease meanwhile; without it the work ends with `LeaseLost`."""
        working = asyncio.ensure_future(work)
        try:
            while not working.done():
                bell = asyncio.ensure_future(self.clock.sleep(LEASE_S / 4))
                try:
                    await asyncio.wait({working, bell}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    bell.cancel()
                if not working.done() and not await self.keep():
                    raise LeaseLost(f"the lease {self.lease.name!r} has another holder")
            return working.result()
        finally:
            if not working.done():
                working.cancel()
                await asyncio.wait({working})


async def wake_sender(tx: Tx, account_id: UUID) -> None:
    """Wake the one sender of an account; new and continuing runs have the same rank, so that none waits."""
    await enqueue(tx, [Wake(SEND, str(account_id))])
