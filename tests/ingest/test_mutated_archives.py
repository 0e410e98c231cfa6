"""Whatever becomes of the bytes of an archive, it ends as a listing or a named problem."""

from __future__ import annotations

import asyncio
import gzip
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_archives import SINGLE, seven_zip_of_names, store, tar_of, zip_of
from test_hostile_archives import assert_harmless

from headgate.domain.library.contents import ExtractionLimits, Problem
from headgate.ingest.contents.archives import TASKS, Archives
from headgate.ingest.sandbox.pool import Sandbox
from headgate.testing.rar_writer import write_rar

SMALL = {"a/one.txt": b"one" * 50, "a/zwei ü.txt": b"", "three.bin": bytes(range(256)) * 4}
PROBLEMS = frozenset(get_args(Problem))
LIMITS = ExtractionLimits(max_bytes=2**20)

KINDS = ["zip", "7z", "7z of names", "tar", "tar.gz", "rar5", "rar5 volumes", "rar4"]


@cache
def volumes_of(kind: str, samples: Path) -> list[bytes]:
    match kind:
        case "zip":
            return [zip_of(SMALL)]
        case "7z":
            with tempfile.TemporaryDirectory() as folder:
                return [path.read_bytes() for path in SINGLE["7z with a plain header"](Path(folder))]
        case "7z of names":
            return [seven_zip_of_names(list(SMALL))]
        case "tar":
            return [tar_of(SMALL)]
        case "tar.gz":
            return [gzip.compress(tar_of(SMALL), mtime=0)]
        case "rar5":
            return write_rar(SMALL)
        case "rar5 volumes":
            return write_rar(SMALL, volume_bytes=500)
        case _:
            return [(samples / "rar3-subdirs.rar").read_bytes()]


class Looking:
    """A sandbox for tests that are not coroutines."""

    def __init__(self, runner: asyncio.Runner, sandbox: Sandbox, folder: Path) -> None:
        self._runner = runner
        self._sandbox = sandbox
        self._archives = Archives(sandbox)
        self._folder = folder

    def check(self, volumes: list[bytes]) -> None:
        paths = store(self._folder, volumes)
        listing = self._runner.run(self._archives.list_contents(paths, name="mutated"))
        assert PROBLEMS.issuperset(listing.problems)
        assert "crashed" not in listing.problems, listing
        assert listing.entries or listing.problems or not any(volumes) or listing.format
        assert_harmless(listing)
        for entry in listing.entries[:2]:
            extracting = self._archives.extract(paths, entry.number, self._folder / "out", limits=LIMITS)
            done = self._runner.run(extracting)
            assert done.problem != "crashed", done
            assert done.problem is None or done.problem in PROBLEMS


@pytest.fixture(scope="module")
def looking() -> Iterator[Looking]:
    with asyncio.Runner() as runner, tempfile.TemporaryDirectory() as folder:
        stack = AsyncExitStack()
        sandbox = runner.run(stack.enter_async_context(Sandbox(size=1, modules=[TASKS])))
        yield Looking(runner, sandbox, Path(folder))
        runner.run(stack.aclose())


Mutation = tuple[int, int, bytes]
MUTATIONS = st.lists(
    st.tuples(
        st.integers(0, 2**20),
        st.integers(0, 8),
        st.one_of(
            st.binary(max_size=8),
            st.sampled_from(
                [b"\xff" * 4, b"\xff" * 8, bytes(8), b"PK\x01\x02", b"PK\x05\x06", b"Rar!\x1a\x07"]
            ),
        ),
    ),
    min_size=1,
    max_size=6,
)


def mutate(volumes: list[bytes], mutations: list[Mutation]) -> list[bytes]:
    """Replace some bytes by others, of which there may be more or fewer."""
    mutated = [bytearray(volume) for volume in volumes]
    for at, length, new in mutations:
        volume = mutated[at % len(mutated)]
        # Headers stand at both ends; hit them more often than the content between.
        place = at % (len(volume) + 1) if at % 3 else (len(volume) - at % 200) % (len(volume) + 1)
        volume[place : place + length] = new
    return [bytes(volume) for volume in mutated]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mutations=MUTATIONS)
def test_mutated_archives_end_in_a_listing_or_a_named_problem(
    looking: Looking, rar_samples: Path, kind: str, mutations: list[Mutation]
) -> None:
    volumes = mutate(volumes_of(kind, rar_samples), mutations)
    looking.check(volumes)
    assert volumes


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1))
def test_archives_that_are_cut_anywhere_end_in_a_listing_or_a_named_problem(
    looking: Looking, rar_samples: Path, kind: str, share: float
) -> None:
    *before, last = volumes_of(kind, rar_samples)
    looking.check([*before, last[: int(share * len(last))]])
    assert last


@pytest.mark.long
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    magic=st.sampled_from(
        [b"PK\x03\x04", b"Rar!\x1a\x07\x00", b"Rar!\x1a\x07\x01\x00", b"7z\xbc\xaf\x27\x1c", b"\x1f\x8b\x08"]
    ),
    rest=st.binary(max_size=400),
)
def test_garbage_after_a_magic_number_ends_in_a_named_problem(
    looking: Looking, magic: bytes, rest: bytes
) -> None:
    looking.check([magic + rest])
    assert magic
