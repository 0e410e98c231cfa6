"""Processes whose database is not there: they wait for it, and they stop without it."""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest
from proxy import proxied
from running import DEADLINE_S, environment

pytestmark = pytest.mark.long


def _hear_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@asynccontextmanager
async def command(name: str, **settings: str) -> AsyncGenerator[Process, None]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "headgate",
        name,
        stderr=PIPE,
        stdout=PIPE,
        env=environment(**settings),
        # Whoever runs the tests in the background ignores Ctrl-C, and so would its children.
        preexec_fn=_hear_ctrl_c,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def read_until(process: Process, words: str) -> None:
    """Read what a process says until it says this."""
    assert process.stderr is not None
    async with asyncio.timeout(DEADLINE_S):
        while line := (await process.stderr.readline()).decode():
            if words in line:
                return
    raise AssertionError(f"it ended without saying: {words}")


async def interrupt(process: Process) -> int:
    process.send_signal(signal.SIGINT)
    async with asyncio.timeout(DEADLINE_S):
        return await process.wait()


async def wait_for_tick(database_url: str) -> None:
    """Wait until a process holds the lease of the tick, and would have to give it back."""
    async with asyncio.timeout(DEADLINE_S), await psycopg.AsyncConnection.connect(database_url) as outside:
        while not await (await outside.execute("select name from lease where name = 'tick'")).fetchone():
            await outside.rollback()


async def test_ctrl_c_ends_a_worker_that_cannot_give_its_leases_back(
    database_url: str, tmp_path: Path
) -> None:
    async with proxied(database_url) as proxy:
        settings = {"HEADGATE_DATABASE_URL": proxy.url, "HEADGATE_DATA_DIR": str(tmp_path)}
        async with command("worker", **settings) as process:
            await read_until(process, "The workers are running")
            await wait_for_tick(database_url)
            await proxy.close()
            assert await interrupt(process) == 0


@pytest.mark.long
async def test_ctrl_c_ends_a_process_that_waits_for_its_database(database_url: str, tmp_path: Path) -> None:
    async with proxied(database_url) as proxy:
        settings = {"HEADGATE_DATABASE_URL": proxy.url, "HEADGATE_DATA_DIR": str(tmp_path)}
        async with command("up", **settings) as process:
            await read_until(process, "to create the administrator")
            await proxy.close()
            await read_until(process, "the database is away")
            assert await interrupt(process) == 0


async def test_a_worker_waits_for_a_server_that_starts_later(database_url: str, tmp_path: Path) -> None:
    async with proxied(database_url) as proxy:
        await proxy.close()
        settings = {"HEADGATE_DATABASE_URL": proxy.url, "HEADGATE_DATA_DIR": str(tmp_path)}
        async with command("worker", **settings) as process:
            await read_until(process, "the database does not answer yet")
            await proxy.open()
            await read_until(process, "The workers are running")
            assert await interrupt(process) == 0


async def test_ctrl_c_ends_the_wait_for_a_server(database_url: str, tmp_path: Path) -> None:
    async with proxied(database_url) as proxy:
        await proxy.close()
        settings = {"HEADGATE_DATABASE_URL": proxy.url, "HEADGATE_DATA_DIR": str(tmp_path)}
        async with command("web", **settings) as process:
            await read_until(process, "the database does not answer yet")
            assert await interrupt(process) == 130
