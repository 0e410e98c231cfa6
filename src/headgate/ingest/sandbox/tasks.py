"""Functions that run in the sandbox, their limits, and how they end.

A function is written and registered in a module that only the subprocess imports:

    @sandboxed
    def render(paths: Paths, parameters: Parameters) -> Answer: ...

The caller names it, without importing that module:

    RENDER = Task("headgate.ingest.pictures.stl:render", Limits(memory_bytes=2 * 2**30))
    result = await sandbox.run(RENDER, [path], {"width": 512})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

Paths = Sequence[Path]
Parameters = Mapping[str, Any]
"""What JSON can say."""

Failure = Literal["out_of_memory", "took_too_long", "crashed"]


@dataclass(frozen=True)
class Limits:
    """What one task may use."""

    memory_bytes: int = 768 * 2**20
    """Address space of the whole process; a bare one with the readers of archives takes about 100 MiB."""
    cpu_s: int = 30
    wall_s: float = 60.0
    """Enforced from outside, by a kill."""
    file_bytes: int = 0
    """How large a file it may write; 0 means that it can write none."""
    open_files: int = 256
    answer_bytes: int = 256 * 2**20
    """How much it may answer, all chunks of a stream included."""


@dataclass(frozen=True)
class Task:
    """A registered function, as `module:function`, and its limits."""

    name: str
    limits: Limits = Limits()

    @property
    def module(self) -> str:
        return self.name.partition(":")[0]


@dataclass(frozen=True)
class Answer:
    """What a function returns: a value that JSON can say, and bytes (a picture)."""

    value: Any = None
    body: bytes = b""


@dataclass(frozen=True)
class Failed:
    """A task that did not answer; it says nothing about later ones."""

    failure: Failure
    detail: str = ""


SandboxedFunction = Callable[[Paths, Parameters], Answer]

_registered: dict[str, SandboxedFunction] = {}


def sandboxed(function: SandboxedFunction) -> SandboxedFunction:
    """Register a function of a module as a task of the sandbox."""
    _registered[f"{function.__module__}:{function.__qualname__}"] = function
    return function


def find_function(name: str) -> SandboxedFunction:
    """Return a registered function, importing its module; in the subprocess only."""
    import_module(name.partition(":")[0])
    return _registered[name]
