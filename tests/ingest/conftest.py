"""Fixtures of the ingest tests: a sandbox, archives of real tools, and RAR samples."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator
from importlib.metadata import version
from pathlib import Path

import pytest
import pytest_asyncio

from headgate.ingest.contents.archives import TASKS, Archives
from headgate.ingest.sandbox.pool import Sandbox


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    """One subprocess that knows archives and the drills beside this file."""
    folder = str(Path(__file__).parent)
    async with Sandbox(size=1, modules=[TASKS], environment={"PYTHONPATH": folder}) as sandbox:
        yield sandbox


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def archives() -> AsyncIterator[Archives]:
    """One subprocess for all archives of a module: none of them may leave a trace in it."""
    async with Sandbox(size=1, modules=[TASKS]) as sandbox:
        yield Archives(sandbox)


@pytest.fixture(scope="session")
def rar_samples() -> Path:
    """Real RAR archives: those that the source of `rarfile` is tested with, kept in the user's cache."""
    wanted = f"rarfile-{version('rarfile')}"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headgate-tests"
    cache.mkdir(parents=True, exist_ok=True)
    samples = cache / wanted / "test" / "files"
    with (cache / f"{wanted}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not samples.is_dir():
            _download(wanted.replace("-", "=="), cache)
            with tarfile.open(cache / f"{wanted}.tar.gz") as source:
                source.extractall(cache, filter="data")
    return samples


def _download(requirement: str, folder: Path) -> None:
    options = ["--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, requirement],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
