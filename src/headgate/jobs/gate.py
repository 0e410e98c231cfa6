"""Lets a suspect run alone: no other job is claimed or runs meanwhile, if the others end soon enough."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from uuid import UUID

PATIENCE_S = 5.0
"""How long live work is held at most for the sake of a suspect that has not begun."""


class Gate:
    """Counts what the ordinary runners of a worker claim and run, and can close to them."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self.patience_s = patience_s
        self._claiming = 0
        self._running: set[tuple[UUID | None, int]] = set()
        self._closed = False
        self._alone = asyncio.Lock()
        self._quiet = asyncio.Event()
        self._quiet.set()

    @property
    def closed(self) -> bool:
        """Whether a suspect runs, or waits for the others to end."""
        return self._closed

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
    async def alone(self) -> AsyncGenerator[bool, None]:
        """Close the gate and give whether all others have ended; a long one is not waited for."""
        async with self._alone:
            self._closed = True
            try:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._quiet.wait(), self.patience_s)
                yield self._quiet.is_set()
            finally:
                self._closed = False
