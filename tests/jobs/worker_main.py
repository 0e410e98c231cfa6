"""A worker in a process of its own, to be killed by tests: worker_main.py <url> <name> [hang] [default]."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from lab import Lab, effect, finish_with_effect

from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind
from headgate.jobs.worker import build_worker
from headgate.kernel.clock import RealClock
from headgate.kernel.settings import JobsSettings
from headgate.storage.database import Database


async def main(url: str, name: str, *, hang: bool, default: bool) -> None:
    database = Database(url, RealClock(), name=name)
    await database.open()
    lab = Lab(url, database)
    if default:
        lab.settings = JobsSettings()

    async def hang_or_finish(job: Job[str]) -> None:
        if hang:
            async with database.transaction() as tx:
                await tx.run(effect(f"began {job.key}", name))
            await asyncio.Event().wait()
        async with job.finish() as tx:
            await tx.run(effect(job.key, name))

    async def die(job: Job[str]) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    kinds = [
        Kind("hang", str, hang_or_finish),
        Kind("die", str, die),
        Kind("effect", str, finish_with_effect),
    ]
    worker = build_worker(url, lab.execution(*kinds), lab.settings)
    asyncio.get_running_loop().add_signal_handler(
        signal.SIGTERM, lambda: asyncio.ensure_future(worker.stop())
    )
    await worker.run()
    await database.close()


if __name__ == "__main__":
    asyncio.run(
        main(sys.argv[1], sys.argv[2], hang="hang" in sys.argv[3:], default="default" in sys.argv[3:])
    )
