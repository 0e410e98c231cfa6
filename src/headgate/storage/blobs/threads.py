"""Threads for blocking work on files and stores: bounded, and apart from those of others."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
Result = TypeVar("Result")

MAX_TOGETHER = 64
"""Short calls that one thread makes one after the other."""


class Threads:
    """A small pool of threads that coroutines wait for."""

    def __init__(self, name: str, *, size: int) -> None:
        self.size = size
        self._pool = ThreadPoolExecutor(size, thread_name_prefix=name)
        self._short: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()
        self._making_short = False

    def start(self, work: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[Result]:
        """Begin the work; the future of a call that is under way cannot stop it."""
        return asyncio.get_running_loop().run_in_executor(self._pool, lambda: work(*args, **kwargs))

    def start_short(
        self, work: Callable[P, Result], *args: P.args, **kwargs: P.kwargs
    ) -> asyncio.Future[Result]:
        """Begin a short call, together with others that wait: to wake a thread takes longer than the call."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._short.append((lambda: work(*args, **kwargs), future))
        if not self._making_short:
            self._make_short()
        return future

    async def run(self, work: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
        """Do the work; a cancelled caller still waits for its end, so that no file is used after it."""
        return await finish(self.start(work, *args, **kwargs))

    async def run_short(self, work: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
        """Make a short call, together with others that wait."""
        return await finish(self.start_short(work, *args, **kwargs))

    def close(self) -> None:
        self._pool.shutdown(wait=False)

    def _make_short(self) -> None:
        """Make the short calls that wait, and then those that have come meanwhile."""
        batch = [self._short.popleft() for _ in range(min(MAX_TOGETHER, len(self._short)))]
        self._making_short = True
        making = self.start(_call_each, [call for call, _ in batch])

        def hand_out(made: asyncio.Future[list[Any]]) -> None:
            self._making_short = False
            for (_, future), answer in zip(batch, made.result(), strict=True):
                _answer(future, answer)
            if self._short:
                self._make_short()

        making.add_done_callback(hand_out)


class InlineThreads(Threads):
    """No threads: the work is done at once, for simulations that must go the same way every time."""

    def start(self, work: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[Result]:
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        _answer(future, _call(lambda: work(*args, **kwargs)))
        return future

    def start_short(
        self, work: Callable[P, Result], *args: P.args, **kwargs: P.kwargs
    ) -> asyncio.Future[Result]:
        return self.start(work, *args, **kwargs)


class _Raised:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def _call_each(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    return [_call(call) for call in calls]


def _call(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except BaseException as error:  # noqa: BLE001 - handed to the caller whose error it is
        return _Raised(error)


def _answer(future: asyncio.Future[Any], answer: Any) -> None:
    if future.cancelled():
        return
    if isinstance(answer, _Raised):
        future.set_exception(answer.error)
    else:
        future.set_result(answer)


async def finish(future: asyncio.Future[Result]) -> Result:
    """Wait for the end of a call also when the caller is cancelled; then tell the caller."""
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
