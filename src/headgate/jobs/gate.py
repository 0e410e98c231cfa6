"""Lets a suspect run alone: nobody else claims or runs while it does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from uuid import UUID


class Gate:
    """Counts what the ordinary runners of a worker claim and run, and can close to them."""

    def __init__(self) -> None:
        self._claiming = 0
        self._running: set[tuple[UUID | None, int]] = set()
        self._closed = False
        self._alone = asyncio.Lock()
        self._quiet = asyncio.Event()
        self._quiet.set()

    def begin_claim(self) -> bool:
        """Ask whether a runner may claim jobs now; if so `end_claim` must follow."""
        if self._closed:
            return False
        self._claiming += 1
        self._quiet.clear()
        return True

    def end_claim(self, owner: UUID | None, job_ids: Iterable[int]) -> None:
        self._claiming -= 1
        self._running.update((owner, job_id) for job_id in job_ids)
        self._note()

    def ended(self, owner: UUID | None, job_id: int) -> None:
        """One of the claimed jobs ended."""
        self._running.discard((owner, job_id))
        self._note()

    def forget(self, owner: UUID | None) -> None:
        """A runner is gone, with whatever it had claimed and not begun."""
        self._running = {(who, job_id) for who, job_id in self._running if who != owner}
        self._note()

    def _note(self) -> None:
        if self._claiming == 0 and not self._running:
            self._quiet.set()

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None, None]:
        """Close the gate, wait until all others have ended, and open it afterwards."""
        async with self._alone:
            self._closed = True
            try:
                await self._quiet.wait()
                yield
            finally:
                self._closed = False
