"""How many downloads run at once: of a process by its own limit, of an account over all processes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from bench import make_parts
from fetch_bench import FetchBench, named, open_fetch_bench

from headgate.app.parts import Parts
from headgate.domain.streams.messages import LiveEvent
from headgate.intake.streams.live import LiveIntake
from headgate.jobs.worker import build_worker
from headgate.storage.database import Database

FILES = 12
BYTES = 2_000_000
"""Large enough that each file is a download of its own."""
DEADLINE_S = 20.0


@dataclass
class Downloads:
    """Holds every download at its beginning until it is let go."""

    running: int = 0
    peak: int = 0
    begun: int = 0
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _free: int = 0

    async def hold(self, point: str) -> None:
        if point != "download.began":
            return
        async with self._changed:
            self.begun += 1
            self.running += 1
            self.peak = max(self.peak, self.running)
            self._changed.notify_all()
            await self._changed.wait_for(lambda: self._free > 0)
            self._free -= 1
            self.running -= 1
            self._changed.notify_all()

    async def until_begun(self, count: int) -> None:
        async with asyncio.timeout(DEADLINE_S), self._changed:
            await self._changed.wait_for(lambda: self.begun >= count)

    async def let_go(self) -> None:
        async with self._changed:
            self._free += 1
            self._changed.notify_all()


async def post(bench: FetchBench, accounts: Sequence[str]) -> None:
    """Post files in a channel of each account, which hears of them."""
    parts = bench.parts
    for account in accounts:
        bench.world.add_stream(f"of-{account}", members={account})
        await bench.follow(account)
        reader = await bench.account(account)
        manifest = parts.links.manifest(reader.platform)
        live = LiveIntake(reader, manifest, bench.database, bench.clock, parts.ids, parts.rules)
        for number in range(FILES // len(accounts)):
            file = named(f"{account}-{number}.bin", BYTES)
            message = bench.world.post(f"of-{account}", files=[file])
            live.take(LiveEvent("message", f"of-{account}", message))
        await live.flush()


@asynccontextmanager
async def working(bench: FetchBench, *processes: Parts) -> AsyncGenerator[None, None]:
    async with AsyncExitStack() as stack:
        for parts in processes:
            worker = build_worker(bench.url, parts.execution, parts.settings.jobs)
            task = asyncio.create_task(worker.run())
            stack.push_async_callback(asyncio.wait_for, task, DEADLINE_S)
            stack.push_async_callback(worker.stop)
        yield


async def claimed(bench: FetchBench) -> list[int]:
    """Return how many downloads each process has claimed."""
    rows = await bench.rows(
        "select queue_manager_id from pgqueuer where entrypoint = 'fetch' and status = 'picked'"
    )
    return sorted(Counter(row["queue_manager_id"] for row in rows).values())


async def live_jobs(bench: FetchBench) -> int:
    rows = await bench.rows("select count(*) as jobs from live_job where dedupe_key like 'fetch:%'")
    return rows[0]["jobs"]


@pytest.mark.parametrize("at_once", [1, 3])
async def test_a_process_runs_no_more_downloads_than_its_setting(
    database: Database, database_url: str, tmp_path: Path, at_once: int
) -> None:
    environment = {"HEADGATE_FILES_DOWNLOADS_AT_ONCE": str(at_once)}
    async with open_fetch_bench(database, database_url, tmp_path, environment=environment) as bench:
        await post(bench, ["ann", "ben", "cid"])
        downloads = Downloads()
        bench.world.on_point = downloads.hold
        await bench.tick()
        assert await live_jobs(bench) == 6
        async with working(bench, bench.parts):
            await downloads.until_begun(at_once)
            for begun in range(at_once + 1, FILES + 1):
                assert await claimed(bench) == [at_once]
                await downloads.let_go()
                await downloads.until_begun(begun)
            for _ in range(at_once):
                await downloads.let_go()
        assert downloads.peak == at_once


async def test_an_account_downloads_no_more_than_its_setting_over_all_processes(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    async with open_fetch_bench(database, database_url, tmp_path) as bench:
        await post(bench, ["ann"])
        other = make_parts(
            database, database_url, bench.clock, bench.world, seed=2, data_dir=tmp_path / "other"
        )
        await other.files.store.check()
        downloads = Downloads()
        bench.world.on_point = downloads.hold
        per_account = bench.parts.settings.files.downloads_per_account
        async with working(bench, bench.parts, other):
            for parts in (bench.parts, other):
                await parts.tick().tick(bench.clock.now())
            await downloads.until_begun(per_account)
            for begun in range(per_account + 1, FILES + 1):
                for parts in (bench.parts, other):
                    await parts.tick().tick(bench.clock.now())
                # There is no job for a further one, so nobody can begin it.
                assert await live_jobs(bench) <= per_account
                await downloads.let_go()
                await downloads.until_begun(begun)
            for _ in range(per_account):
                await downloads.let_go()
        assert downloads.peak == per_account
        await other.files.close()
