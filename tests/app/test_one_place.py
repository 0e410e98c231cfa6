"""Real workers that share an exclusive account: its session is never open in two places."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from one_place import CALLS, PLATFORM, OnePlace

from headgate.jobs.kinds import Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import RealClock
from headgate.storage.channels.channels import upsert_account
from headgate.storage.database import Database

pytestmark = pytest.mark.long

WORKER = Path(__file__).with_name("one_place.py")


@dataclass
class Crew:
    """Some workers, and the platform that they share."""

    database: Database
    url: str
    folder: Path
    platform: OnePlace
    port: int
    account_id: UUID
    workers: dict[int, subprocess.Popen[str]] = field(default_factory=dict[int, "subprocess.Popen[str]"])

    async def start(self, count: int) -> None:
        command = [sys.executable, str(WORKER), self.url, str(self.folder), str(self.port)]
        new = [await asyncio.to_thread(_start, command) for _ in range(count)]
        self.workers |= {worker.pid: worker for worker in new}
        for worker in new:
            assert worker.stdout is not None
            assert await asyncio.to_thread(worker.stdout.readline) == "ready\n"

    async def ask(self, jobs: int = 1) -> None:
        """Let the account be used, by jobs of many calls each."""
        async with self.database.transaction() as tx:
            await enqueue(tx, [Wake("hammer", f"{self.account_id}/{uuid4()}") for _ in range(jobs)])

    def signal(self, pid: int, number: signal.Signals) -> None:
        if number is signal.SIGSTOP:
            self.platform.stopped.add(pid)
        self.workers[pid].send_signal(number)

    async def see_off(self) -> None:
        for worker in self.workers.values():
            worker.kill()
            await asyncio.to_thread(worker.wait)
            if worker.stdout:
                worker.stdout.close()


def _start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.fixture
async def crew(database_url: str, database: Database, tmp_path: Path) -> AsyncIterator[Crew]:
    platform = OnePlace()
    server = await asyncio.start_server(platform.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with database.transaction() as tx:
        account_id = await upsert_account(
            tx, uuid4(), platform=PLATFORM, name="main", established=True, now=RealClock().now()
        )
    crew = Crew(database, database_url, tmp_path, platform, port, account_id)
    try:
        yield crew
    finally:
        await crew.see_off()
        server.close()


async def test_all_jobs_of_an_account_run_in_the_process_that_holds_it(crew: Crew) -> None:
    await crew.start(3)
    await crew.ask(jobs=12)
    await crew.platform.await_place(0, calls=12 * CALLS)
    assert len(crew.platform.places) == 1
    assert crew.platform.duplicates == []


async def test_a_killed_holder_is_replaced(crew: Crew) -> None:
    await crew.start(2)
    await crew.ask()
    first = await crew.platform.await_place(0, calls=CALLS // 3)
    crew.signal(first.pid, signal.SIGKILL)
    second = await crew.platform.await_place(1, calls=CALLS)
    assert second.pid != first.pid
    assert crew.platform.duplicates == []


async def test_a_stopped_holder_makes_no_call_when_it_goes_on(crew: Crew) -> None:
    """It is stopped between two calls of a job, or in one: an answer lies in its socket when it goes on."""
    await crew.start(2)
    await crew.ask()
    first = await crew.platform.await_place(0, calls=CALLS // 3)
    crew.signal(first.pid, signal.SIGSTOP)
    second = await crew.platform.await_place(1, calls=CALLS // 3)
    assert second.pid != first.pid
    crew.signal(first.pid, signal.SIGCONT)
    async with asyncio.timeout(60):
        await first.closed.wait()
    await crew.platform.await_place(1, calls=CALLS)
    assert crew.platform.duplicates == []


async def test_a_holder_that_ends_in_order_hands_over(crew: Crew) -> None:
    await crew.start(2)
    await crew.ask()
    first = await crew.platform.await_place(0, calls=CALLS)
    crew.signal(first.pid, signal.SIGTERM)
    await asyncio.to_thread(crew.workers[first.pid].wait)
    async with crew.database.transaction() as tx:
        held = await tx.raw("select holder from account_hold where holder like $1", [f"%:{first.pid}"])
    assert held == []
    await crew.ask()
    await crew.platform.await_place(1, calls=CALLS)
    assert crew.platform.duplicates == []
