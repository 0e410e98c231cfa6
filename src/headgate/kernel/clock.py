"""Two times, kept apart on purpose.

*Product time* (`now`) is what the business rules see: due times, windows, ages. A demo runs it
faster and a test sets it by hand. *Real time* (`monotonic`, `sleep`) is for leases, heartbeats and
waits, which protect real resources whatever the product believes the date to be.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any


class Clock(ABC):
    """The only way to ask for the time or to wait for it."""

    @abstractmethod
    def now(self) -> datetime:
        """Return the product time, aware, in UTC."""

    @abstractmethod
    def monotonic(self) -> float:
        """Return real seconds that never go back."""

    @abstractmethod
    async def sleep(self, real_s: float) -> None:
        """Wait for real seconds."""

    @abstractmethod
    def real_s_until(self, at: datetime) -> float:
        """Return how many real seconds lie between now and a product time, never below zero."""

    @property
    def speed(self) -> float:
        """How many seconds of product time pass in a real one."""
        return 1.0

    def timeout(self, real_s: float) -> AbstractAsyncContextManager[object]:
        """Raise `TimeoutError` if the block takes longer than so many real seconds."""
        return self._timeout(real_s)

    async def wait(self, tasks: Iterable[asyncio.Task[Any]], real_s: float) -> None:
        """Wait until all tasks are done, for so many real seconds at most; they go on all the same."""
        with suppress(TimeoutError):
            async with self.timeout(real_s):
                await asyncio.wait(tasks)

    @asynccontextmanager
    async def _timeout(self, real_s: float) -> AsyncGenerator[None, None]:
        async with asyncio.timeout(None) as limit:
            bell = asyncio.ensure_future(self._ring(limit, real_s))
            try:
                yield
            finally:
                bell.cancel()

    async def _ring(self, limit: asyncio.Timeout, real_s: float) -> None:
        await self.sleep(real_s)
        limit.reschedule(asyncio.get_running_loop().time())


class RealClock(Clock):
    """Product time is the time of day."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, real_s: float) -> None:
        await asyncio.sleep(max(0.0, real_s))

    def real_s_until(self, at: datetime) -> float:
        return max(0.0, (at - self.now()).total_seconds())

    def timeout(self, real_s: float) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(real_s)

    async def wait(self, tasks: Iterable[asyncio.Task[Any]], real_s: float) -> None:
        await asyncio.wait(tasks, timeout=real_s)


class ScaledClock(RealClock):
    """Product time runs `scale` times as fast, from an anchor that restarts share."""

    def __init__(self, *, real_anchor: datetime, product_anchor: datetime, scale: float) -> None:
        if scale <= 0:
            raise ValueError("the scale of a clock must be above zero")
        self._real_anchor = real_anchor
        self._product_anchor = product_anchor
        self._scale = scale

    def now(self) -> datetime:
        elapsed = datetime.now(UTC) - self._real_anchor
        return self._product_anchor + elapsed * self._scale

    def real_s_until(self, at: datetime) -> float:
        return super().real_s_until(at) / self._scale

    @property
    def speed(self) -> float:
        return self._scale


class VirtualClock(Clock):
    """Both times stand still until somebody moves them."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._elapsed_s = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed_s)

    def monotonic(self) -> float:
        return self._elapsed_s

    async def sleep(self, real_s: float) -> None:
        if real_s <= 0:
            await asyncio.sleep(0)
            return
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed_s + real_s, next(self._order), future))
        await future

    def real_s_until(self, at: datetime) -> float:
        return max(0.0, (at - self.now()).total_seconds())

    def next_wake_s(self) -> float | None:
        """Return when the first sleeper wants to wake, in elapsed seconds."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def advance(self, seconds: float) -> None:
        """Move the time and wake everybody whose moment has come, in order."""
        if seconds < 0:
            raise ValueError("time does not go back")
        target = self._elapsed_s + seconds
        while self._sleepers and self._sleepers[0][0] <= target:
            wake_s, _, future = heapq.heappop(self._sleepers)
            self._elapsed_s = max(self._elapsed_s, wake_s)
            if not future.done():
                future.set_result(None)
        self._elapsed_s = target


def utc_from_timestamp(seconds: float) -> datetime:
    """Return the aware UTC time of a Unix timestamp."""
    return datetime.fromtimestamp(seconds, UTC)
