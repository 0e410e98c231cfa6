"""Threads for blocking work on files and stores: bounded, and apart from those of others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
Result = TypeVar("Result")


class Threads:
    """A small pool of threads that coroutines wait for."""

    def __init__(self, name: str, *, size: int) -> None:
        self.size = size
        self._pool = ThreadPoolExecutor(size, thread_name_prefix=name)

    def start(self, work: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[Result]:
        """Begin the work; the future of a call that is under way cannot stop it."""
        return asyncio.get_running_loop().run_in_executor(self._pool, lambda: work(*args, **kwargs))

    async def run(self, work: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
        """Do the work; a cancelled caller still waits for its end, so that no file is used after it."""
        future = self.start(work, *args, **kwargs)
        cancelled: asyncio.CancelledError | None = None
        while not future.done():
            try:
                await asyncio.wait({future})
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            future.exception()
            raise cancelled
        return future.result()

    def close(self) -> None:
        self._pool.shutdown(wait=False)
