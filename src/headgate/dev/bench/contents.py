"""Looking inside archives: the pool of subprocesses, beside the libraries' own listing in one warm process.

Both list the same archives and take turns, so that whatever else the machine does falls on both; the median
of the rounds counts.
"""

from __future__ import annotations

import asyncio
import io
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, cast

from headgate.cli.output import progress_bar
from headgate.dev.bench.measuring import Figure, Report, rate_line
from headgate.ingest.contents.archives import TASKS, Archives
from headgate.ingest.sandbox.pool import DEFAULT_SIZE, Sandbox
from headgate.testing.rar_writer import write_rar

MIN_RATIO = 0.5
FORMATS = ("zip", "rar", "7z", "tar.gz")
_MAX_DISTINCT = 10
"""How many different archives of a format are made; the others are copies."""


@dataclass(frozen=True)
class ContentSizes:
    """How much is measured."""

    archives: int = 1_000
    entries: int = 200
    rounds: int = 3


@dataclass
class _Rates:
    ours: list[float] = field(default_factory=list[float])
    floor: list[float] = field(default_factory=list[float])
    entries: int = 0
    problems: int = 0


async def measure_contents(sizes: ContentSizes) -> Report:
    """List archives of all kinds, with the pool and with the libraries alone."""
    rates = _Rates()
    with (
        TemporaryDirectory(prefix="headgate-bench-") as folder,
        progress_bar("Listing", total=2 * sizes.rounds + 1) as advance,
    ):
        paths = _make_archives(Path(folder), sizes)
        async with Sandbox(modules=[TASKS]) as sandbox:
            archives = Archives(sandbox)
            await _list_with_the_pool(archives, paths[: len(FORMATS)])
            _list_with_the_libraries(paths[: len(FORMATS)])
            advance(1)
            for _ in range(sizes.rounds):
                rates.ours.append(await _timed_pool(archives, paths, rates))
                advance(1)
                rates.floor.append(_timed_libraries(paths))
                advance(1)
    return _report(sizes, rates)


async def _timed_pool(archives: Archives, paths: Sequence[Path], rates: _Rates) -> float:
    began_s = perf_counter()
    rates.entries, rates.problems = await _list_with_the_pool(archives, paths)
    return len(paths) / (perf_counter() - began_s)


async def _list_with_the_pool(archives: Archives, paths: Sequence[Path]) -> tuple[int, int]:
    """Return how many entries and problems all listings have."""
    counts = [0, 0]
    waiting = iter(paths)

    async def list_some() -> None:
        for path in waiting:
            listing = await archives.list_contents([path], name=path.name)
            counts[0] += len(listing.entries)
            counts[1] += len(listing.problems)

    await asyncio.gather(*(list_some() for _ in range(2 * DEFAULT_SIZE)))
    return counts[0], counts[1]


def _timed_libraries(paths: Sequence[Path]) -> float:
    began_s = perf_counter()
    _list_with_the_libraries(paths)
    return len(paths) / (perf_counter() - began_s)


def _list_with_the_libraries(paths: Sequence[Path]) -> None:
    for path in paths:
        _LIBRARIES[path.name.partition(".")[2]](path)


def _list_zip(path: Path) -> list[Any]:
    with zipfile.ZipFile(path) as archive:
        return [(one.filename, one.file_size, one.compress_size, one.CRC) for one in archive.infolist()]


def _list_rar(path: Path) -> list[Any]:
    import rarfile

    with cast("Any", rarfile).RarFile(path) as archive:
        return [(one.filename, one.file_size, one.compress_size, one.CRC) for one in archive.infolist()]


def _list_7z(path: Path) -> list[Any]:
    import py7zr

    with py7zr.SevenZipFile(path) as archive:
        return [(one.filename, one.uncompressed, one.compressed, one.crc32) for one in archive.list()]


def _list_tar(path: Path) -> list[Any]:
    with tarfile.open(path) as archive:
        return [(one.name, one.size, one.mtime) for one in archive]


_LIBRARIES: dict[str, Callable[[Path], list[Any]]] = {
    "zip": _list_zip,
    "rar": _list_rar,
    "7z": _list_7z,
    "tar.gz": _list_tar,
}


def _make_archives(folder: Path, sizes: ContentSizes) -> list[Path]:
    """Write archives of all formats in turn; each is a file of its own."""
    made: dict[tuple[str, int], bytes] = {}
    paths: list[Path] = []
    for number in range(sizes.archives):
        kind = FORMATS[number % len(FORMATS)]
        variant = number // len(FORMATS) % _MAX_DISTINCT
        if (kind, variant) not in made:
            files = {
                f"models/set {variant}/part_{n:04}.stl": b"solid %d\n" % n * 5 for n in range(sizes.entries)
            }
            made[kind, variant] = _WRITERS[kind](files)
        path = folder / f"{number:05}.{kind}"
        path.write_bytes(made[kind, variant])
        paths.append(path)
    return paths


def _write_zip(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _write_7z(files: dict[str, bytes]) -> bytes:
    import py7zr

    buffer = io.BytesIO()
    with py7zr.SevenZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writef(io.BytesIO(content), name)
    return buffer.getvalue()


def _write_tar(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


_WRITERS: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    "zip": _write_zip,
    "rar": lambda files: write_rar(files)[0],
    "7z": _write_7z,
    "tar.gz": _write_tar,
}


def _report(sizes: ContentSizes, rates: _Rates) -> Report:
    ours, floor = median(rates.ours), median(rates.floor)
    expected = sizes.archives * sizes.entries
    values = {
        "archives_per_s": ours,
        "floor_archives_per_s": floor,
        "ratio": ours / floor,
        "entries": rates.entries,
        "expected_entries": expected,
        "problems": rates.problems,
        "archives": sizes.archives,
        "entries_per_archive": sizes.entries,
        "rounds": sizes.rounds,
        "processes": DEFAULT_SIZE,
    }
    lines = [
        rate_line("archives listed", per_s=ours, floor_per_s=floor, least_ratio=MIN_RATIO),
        Figure(
            "entries found",
            f"{rates.entries:,}",
            floor=f"{expected:,} written",
            bound="all",
            ok=rates.entries == expected and not rates.problems,
        ),
    ]
    title = f"Looking inside {sizes.archives:,} archives of {sizes.entries} entries"
    note = "The floor is the libraries' own listing of the same archives, in one warm process without limits."
    return Report("contents", title, values, lines, [note])
