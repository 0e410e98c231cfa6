"""Fixtures of the ingest tests: a sandbox, archives of real tools, and RAR samples."""

from __future__ import annotations

import tarfile
from collections.abc import AsyncIterator
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
def rar_samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real RAR archives, made with RAR 1.5 to 5: those that `rarfile` 4.5 is tested with, and its licence."""
    folder = tmp_path_factory.mktemp("rar")
    with tarfile.open(Path(__file__).with_name("rar_samples.tar.xz")) as samples:
        samples.extractall(folder, filter="data")
    return folder
