"""The pool: warm subprocesses that run one task each, are replaced when one breaks, and end with it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from headgate.domain.errors import Transient
from headgate.ingest.sandbox.tasks import Answer, Failed, Task
from headgate.ingest.sandbox.worker_process import Chunks, SandboxProcess

DEFAULT_SIZE = 2
TASKS_PER_PROCESS = 1_000
"""A library that leaks does so for this many tasks at most."""


class Sandbox:
    """Runs registered functions in subprocesses with limits; however a task ends, the pool goes on.

    `modules` are loaded by each subprocess at its start, so that the first task finds them warm.
    """

    def __init__(
        self,
        *,
        size: int = DEFAULT_SIZE,
        modules: Sequence[str] = (),
        tasks_per_process: int = TASKS_PER_PROCESS,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._size = size
        self._modules = tuple(modules)
        self._tasks_per_process = tasks_per_process
        self._environment = dict(environment or {})
        self._slots = asyncio.Semaphore(size)
        self._idle: list[SandboxProcess] = []
        self._alive: set[SandboxProcess] = set()
        self._is_closed = False

    async def __aenter__(self) -> Self:
        try:
            await asyncio.gather(*(self._start_idle() for _ in range(self._size)))
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def pids(self) -> frozenset[int]:
        """The subprocesses that are alive."""
        return frozenset(one.pid for one in self._alive if one.is_usable)

    async def run(
        self,
        task: Task,
        paths: Sequence[Path],
        parameters: Mapping[str, Any] | None = None,
        *,
        chunks: Chunks | None = None,
    ) -> Answer | Failed:
        """Run a task when a subprocess is free; cancelling it kills that subprocess.

        Chunks that the task sends before its answer are awaited one by one. Raises `Transient` only when no
        subprocess can be started or the pool is closed: that is the machine's trouble, not the task's.
        """
        async with self._slots:
            process = await self._take()
            try:
                result = await process.run(task, paths, parameters or {}, chunks)
            finally:
                await self._put_back(process)
            if self._is_closed and isinstance(result, Failed):
                raise Transient("the sandbox was closed")
            return result

    async def close(self) -> None:
        """Kill all subprocesses and wait until they are gone."""
        self._is_closed = True
        self._idle.clear()
        processes = list(self._alive)
        for process in processes:
            process.kill()
        for process in processes:
            await self._bury(process)

    async def _take(self) -> SandboxProcess:
        while self._idle:
            process = self._idle.pop()
            if process.is_usable:
                return process
            await self._bury(process)
        return await self._start()

    async def _put_back(self, process: SandboxProcess) -> None:
        if process.task_count >= self._tasks_per_process or self._is_closed:
            process.kill()
        if process.is_usable:
            self._idle.append(process)
        else:
            await self._bury(process)

    async def _start(self) -> SandboxProcess:
        if self._is_closed:
            raise Transient("the sandbox is closed")
        process = await SandboxProcess.start(self._modules, self._environment)
        self._alive.add(process)
        if self._is_closed:
            process.kill()
        return process

    async def _start_idle(self) -> None:
        self._idle.append(await self._start())

    async def _bury(self, process: SandboxProcess) -> None:
        """Wait for the end of a killed process, also when the caller is cancelled meanwhile."""
        await asyncio.shield(self._bury_now(process))

    async def _bury_now(self, process: SandboxProcess) -> None:
        await process.wait()
        self._alive.discard(process)
