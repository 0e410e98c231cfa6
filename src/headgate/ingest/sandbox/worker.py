"""The subprocess of the sandbox: takes tasks from stdin, one at a time, and answers on what was stdout."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from headgate.ingest.sandbox.frames import Frame, encode_frame, read_frame
from headgate.ingest.sandbox.restrictions import restrict_for_life, restrict_for_task
from headgate.ingest.sandbox.tasks import find_function

MAX_DETAIL_LENGTH = 500

_output: IO[bytes] | None = None


def main(modules: Iterable[str]) -> None:
    """Answer tasks until the pool closes the pipe."""
    global _output
    restrict_for_life()
    tasks, _output = _take_streams()
    for module in modules:
        import_module(module)
    # What is loaded now stays for life; the collector need not go through it again.
    gc.collect()
    gc.freeze()
    _write(encode_frame(Frame("ready")))
    while (frame := read_frame(tasks)) is not None:
        _write(_run(frame.value))


def send_chunk(chunk: bytes) -> None:
    """Send a piece of a result before the answer; waits while the reader is slower."""
    _write(encode_frame(Frame("chunk", None, chunk)))


def _take_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Keep both streams to ourselves: what a library prints must not end up between frames."""
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.close(nothing)
    return sys.stdin.buffer, output


def _run(request: dict[str, Any]) -> bytes:
    """Return the frame that a task ends with; whatever it raises is its outcome."""
    try:
        function = find_function(request["task"])
        restrict_for_task(**request["limits"])
        answer = function([Path(path) for path in request["paths"]], request["parameters"])
        return encode_frame(Frame("answer", answer.value, answer.body))
    except MemoryError:
        return _failed("out_of_memory", "MemoryError")
    except Exception as error:  # noqa: BLE001
        return _failed("crashed", f"{type(error).__name__}: {error}")


def _failed(failure: str, detail: str) -> bytes:
    return encode_frame(Frame("failed", {"failure": failure, "detail": detail[:MAX_DETAIL_LENGTH]}))


def _write(encoded: bytes) -> None:
    rest = memoryview(encoded)
    while rest and _output is not None:
        rest = rest[_output.write(rest) or 0 :]
