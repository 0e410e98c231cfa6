"""The library `reader` on the feeds of a benchmark, in a process of its own; prints its rates as JSON.

Run as a module with the number of workers; the addresses come on standard input, a line each.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from headgate.domain.errors import UserError

WORKERS = 20


@dataclass(frozen=True)
class ReaderRates:
    """Feeds a second, and how many entries there are in the end."""

    first_per_s: float
    idle_per_s: float
    entries: int


async def measure_reader(urls: Sequence[str], *, rounds: int) -> ReaderRates:
    """Measure first and unchanged updates of the same feeds."""
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
        str(rounds),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await process.communicate("\n".join(urls).encode())
    return ReaderRates(**json.loads(printed))


def main() -> None:
    urls = sys.stdin.read().split()
    make_reader: Any = import_module("reader").make_reader
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder:
        reader = make_reader(str(Path(folder) / "reader.sqlite"))
        for url in urls:
            reader.add_feed(url)
        seconds = [_update(reader, len(urls)) for _ in range(1 + int(sys.argv[2]))]
        rates = {
            "first_per_s": len(urls) / seconds[0],
            "idle_per_s": len(urls) / min(seconds[1:]),
            "entries": reader.get_entry_counts().total,
        }
    sys.stdout.write(json.dumps(rates))


def _update(reader: Any, feeds: int) -> float:
    began_s = perf_counter()
    updated = sum(1 for _ in reader.update_feeds_iter(workers=int(sys.argv[1]), scheduled=False))
    if updated != feeds:
        raise RuntimeError(f"reader has updated {updated} of {feeds} feeds")
    return perf_counter() - began_s


if __name__ == "__main__":
    main()
