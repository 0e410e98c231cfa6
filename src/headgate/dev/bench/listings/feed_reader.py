"""The library `reader` on the feeds of a benchmark, in a process of its own.

Run as a module with the number of workers. The addresses come on standard input as one line of JSON. Each
line `update` after it is answered with the seconds that an update took, `count` with the number of entries.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from headgate.domain.errors import UserError

WORKERS = 20


@dataclass(frozen=True)
class OtherReader:
    """The other process."""

    process: asyncio.subprocess.Process

    async def update(self) -> float:
        """Update all feeds once; return the seconds that it took."""
        return float(await self._ask("update"))

    async def count(self) -> int:
        """Return how many entries there are."""
        return int(await self._ask("count"))

    async def _ask(self, question: str) -> str:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None  # noqa: S101 - asked for below
        assert stdout is not None  # noqa: S101 - asked for below
        stdin.write(f"{question}\n".encode())
        await stdin.drain()
        answer = (await stdout.readline()).decode()
        if not answer:
            raise RuntimeError("the library `reader` has ended before it answered")
        return answer


@asynccontextmanager
async def open_reader(urls: Sequence[str]) -> AsyncGenerator[OtherReader, None]:
    """Run the library on some feeds, none of which it has read yet."""
    if find_spec("reader") is None:
        raise UserError(
            "The library `reader`, which feeds are measured against, is not installed.",
            remedy="Install the tools for development with `make setup`.",
        )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        __name__,
        str(WORKERS),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None  # noqa: S101 - asked for above
    try:
        process.stdin.write(f"{json.dumps(list(urls))}\n".encode())
        yield OtherReader(process)
    finally:
        process.stdin.close()
        await process.wait()


def main() -> None:
    urls: list[str] = json.loads(sys.stdin.readline())
    make_reader: Any = import_module("reader").make_reader
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder:
        reader = make_reader(str(Path(folder) / "reader.sqlite"))
        for url in urls:
            reader.add_feed(url)
        for line in sys.stdin:
            is_update = line.strip() == "update"
            answer = _update(reader, len(urls)) if is_update else reader.get_entry_counts().total
            sys.stdout.write(f"{answer}\n")
            sys.stdout.flush()


def _update(reader: Any, feeds: int) -> float:
    began_s = perf_counter()
    updated = sum(1 for _ in reader.update_feeds_iter(workers=int(sys.argv[1]), scheduled=False))
    if updated != feeds:
        raise RuntimeError(f"reader has updated {updated} of {feeds} feeds")
    return perf_counter() - began_s


if __name__ == "__main__":
    main()
