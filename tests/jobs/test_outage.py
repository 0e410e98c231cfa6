"""PostgreSQL goes away under load and comes back: nothing is lost, nothing is doubled."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest
import structlog
from lab import TABLES, Lab, effect, eventually

from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import RealClock
from headgate.storage.database import Database
from headgate.storage.embedded import EmbeddedServer
from headgate.storage.embedded.postmaster import read_postmaster
from headgate.storage.jobs.engine import sweep_ended
from headgate.storage.migrate import migrate

CHAINS = 20
LINKS = 100
BEFORE_THE_OUTAGE = 200
OUTAGE_S = 20.0


class Outage:
    """A server that can be torn away and brought back."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._servers: list[EmbeddedServer] = []

    def start(self) -> str:
        server = EmbeddedServer(self._folder)
        self._servers.append(server)
        return server.start()

    async def tear_away(self) -> None:
        """Stop at once, without goodbyes to anybody (`pg_ctl stop -m immediate`)."""
        server = self._servers[0]
        postmaster = read_postmaster(next(self._folder.rglob("postmaster.pid")))
        assert postmaster is not None
        os.kill(postmaster.pid, signal.SIGQUIT)

        async def gone() -> bool:
            return not server.is_running()

        await eventually(gone, "no process of the server is left")

    def stop(self) -> None:
        for server in self._servers:
            server.stop()


@pytest.fixture
async def outage(tmp_path: Path) -> AsyncIterator[Outage]:
    outage = Outage(tmp_path)
    yield outage
    await asyncio.to_thread(outage.stop)


@pytest.mark.long
# It stops a server of its own, the embedded one, whatever the others run on.
@pytest.mark.once
async def test_twenty_seconds_without_the_database_lose_nothing(outage: Outage) -> None:
    url = await asyncio.to_thread(outage.start)
    await migrate(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(TABLES)
    database = Database(url, RealClock())
    await database.open()
    lab = Lab(url, database)
    in_the_middle = asyncio.Event()
    done = Counter[str]()

    async def link(job: Job[str]) -> None:
        chain, _, number = job.key.partition(":")
        async with job.finish() as tx:
            await tx.run(effect(job.key))
            if int(number) < LINKS:
                await enqueue(tx, [Wake("link", f"{chain}:{int(number) + 1}")])
        done[chain] += 1
        if done.total() >= BEFORE_THE_OUTAGE:
            in_the_middle.set()

    expected = sorted(f"{chain}:{number}" for chain in range(CHAINS) for number in range(1, LINKS + 1))
    with structlog.testing.capture_logs() as logged:
        await lab.enqueue(*(Wake("link", f"{chain}:1") for chain in range(CHAINS)))
        async with lab.worker(Kind("link", str, link)) as worker:
            await in_the_middle.wait()
            await outage.tear_away()
            done_before = done.total()

            async def noticed() -> bool:
                return database.away and not worker.healthy

            await eventually(noticed, "the worker knows that the database is away")
            # The one real wait of the suite: that work outlasts it is the point.
            await asyncio.sleep(OUTAGE_S)
            assert database.away
            await asyncio.to_thread(outage.start)

            async def all_done() -> bool:
                return len(await lab.effects()) >= len(expected)

            await eventually(all_done, "the work went on by itself")
            effects = await lab.effects()

            async def drained() -> bool:
                async with database.transaction() as tx:
                    await sweep_ended(tx)
                return await lab.rows() == []

            await eventually(drained, "no job is left")
    await database.close()
    assert done_before < len(expected)
    assert sorted(effects) == expected
    events = [line["event"] for line in logged]
    assert events.count("the database is away; waiting for it") == 1
    assert events.count("the database is back") == 1
    assert [line for line in logged if line["log_level"] == "error"] == []
    stops = [line for line in logged if line["event"].startswith("the engine stopped")]
    told = Counter(line["runner"] for line in stops if line["log_level"] == "warning")
    assert set(told.values()) == {1}, "each runner says once that it stopped"


async def test_a_lost_connection_gives_running_jobs_back(lab: Lab) -> None:
    starts: list[int] = []

    async def hang_at_first(job: Job[str]) -> None:
        starts.append(job.crashes)
        if len(starts) == 1:
            cut_connections(lab.url)
            await asyncio.Event().wait()
        async with job.finish() as tx:
            await tx.run(effect(job.key))

    await lab.enqueue(Wake("hang", "a"))
    async with lab.worker(Kind("hang", str, hang_at_first)):

        async def done() -> bool:
            return await lab.effects() == ["a"]

        await eventually(done, "the job was given back and done")
    assert starts == [0, 0], "a lost connection is no crash"


def cut_connections(url: str) -> None:
    """End the connections of all runners, as a server's administrator would."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name like 'headgate %' and datname = current_database()"
        )
