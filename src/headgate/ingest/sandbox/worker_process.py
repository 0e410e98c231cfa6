"""One subprocess of the sandbox, from the side of the pool."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process, SubprocessStreamProtocol
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self, cast

from headgate.domain.errors import Transient
from headgate.ingest.sandbox.frames import BrokenFrame, Frame, encode_frame, receive_frame
from headgate.ingest.sandbox.tasks import Answer, Failed, Failure, Limits, Task

START_TIMEOUT_S = 120.0
READ_AHEAD_BYTES = 2**20
_READY_BYTES = 1024

# One thread and one arena: each more of them takes address space from the task's limit.
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PATH": os.defpath,
}

Chunks = Callable[[bytes], Awaitable[None]]


class SandboxProcess:
    """A subprocess that runs one task after another until one of them breaks it."""

    def __init__(self, process: Process, transport: asyncio.SubprocessTransport) -> None:
        self._process = process
        self._transport = transport
        self.task_count = 0
        self._broken = False

    @classmethod
    async def start(cls, modules: Sequence[str], environment: Mapping[str, str]) -> Self:
        """Start a subprocess and wait until it has loaded its modules."""
        loop = asyncio.get_running_loop()
        try:
            transport, protocol = await loop.subprocess_exec(
                lambda: SubprocessStreamProtocol(limit=READ_AHEAD_BYTES, loop=loop),
                *(sys.executable, "-P", "-s", "-B", "-m", "headgate.ingest.sandbox", *modules),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                cwd="/",
                env={**ENVIRONMENT, **environment},
                start_new_session=True,
            )
        except OSError as error:
            raise Transient(f"the sandbox cannot start a process: {error}") from error
        started = cls(Process(transport, protocol, loop), transport)
        try:
            await started._wait_until_ready()
        except BaseException:
            started.kill()
            await asyncio.shield(started.wait())
            raise
        return started

    @property
    def is_usable(self) -> bool:
        return not self._broken and self._process.returncode is None

    @property
    def pid(self) -> int:
        return self._process.pid

    async def run(
        self, task: Task, paths: Sequence[Path], parameters: Mapping[str, Any], chunks: Chunks | None
    ) -> Answer | Failed:
        """Run a task to its end; the process is killed if the task breaks a limit or is cancelled."""
        self.task_count += 1
        try:
            result = await self._exchange(_request(task, paths, parameters), task.limits, chunks)
        except TimeoutError:
            result = Failed("took_too_long", f"{task.limits.wall_s:g} s passed")
        except BrokenFrame as error:
            self.kill()
            result = Failed("crashed", str(error))
        except BaseException:
            self.kill()
            raise
        # An error that the task itself reported leaves the process sound; lost memory may not.
        if isinstance(result, Failed) and result.failure != "crashed":
            self.kill()
        return result

    def kill(self) -> None:
        """End the process and what it started."""
        self._broken = True
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def wait(self) -> None:
        """Wait until the process is gone."""
        await self._process.wait()
        # A pipe that is not read to its end would stay open.
        self._transport.close()

    async def _wait_until_ready(self) -> None:
        async with asyncio.timeout(START_TIMEOUT_S):
            frame = await self._receive(_READY_BYTES)
        if frame is None or frame.kind != "ready":
            raise Transient("a process of the sandbox did not start")

    async def _exchange(self, request: bytes, limits: Limits, chunks: Chunks | None) -> Answer | Failed:
        loop = asyncio.get_running_loop()
        left_s, left_bytes = limits.wall_s, limits.answer_bytes
        self._writer.write(request)
        while True:
            began_s = loop.time()
            async with asyncio.timeout(left_s):
                frame = await self._receive(left_bytes)
            # Only the subprocess's time counts, not that of whoever takes the chunks.
            left_s -= loop.time() - began_s
            if frame is None:
                return await self._judge_end()
            left_bytes -= len(frame.body)
            match frame.kind:
                case "chunk" if chunks is not None:
                    await chunks(frame.body)
                case "answer":
                    return Answer(frame.value, frame.body)
                case "failed":
                    return _read_failure(frame.value)
                case _:
                    raise BrokenFrame(f"a frame of kind {frame.kind}")

    async def _judge_end(self) -> Failed:
        """Tell by its exit code why a process ended in the middle of a task."""
        self._broken = True
        code = await self._process.wait()
        if code == -signal.SIGXCPU:
            return Failed("took_too_long", "the limit on CPU time was reached")
        if code == -signal.SIGKILL:
            return Failed("out_of_memory", "the system killed it")
        return Failed("crashed", f"it ended with {signal.Signals(-code).name if code < 0 else code}")

    async def _receive(self, max_bytes: int) -> Frame | None:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        return await receive_frame(self._process.stdout, max_bytes=max_bytes)

    @property
    def _writer(self) -> asyncio.StreamWriter:
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        return self._process.stdin


def _request(task: Task, paths: Sequence[Path], parameters: Mapping[str, Any]) -> bytes:
    limits = asdict(task.limits)
    del limits["wall_s"], limits["answer_bytes"]
    request = {
        "task": task.name,
        "paths": [str(path) for path in paths],
        "parameters": parameters,
        "limits": limits,
    }
    return encode_frame(Frame("task", request))


_FAILURES: tuple[Failure, ...] = ("out_of_memory", "took_too_long", "crashed")


def _read_failure(value: Any) -> Failed:
    if isinstance(value, dict):
        document = cast("dict[str, Any]", value)
        for failure in _FAILURES:
            if document.get("failure") == failure:
                return Failed(failure, str(document.get("detail", "")))
    raise BrokenFrame("a failure without a name")
