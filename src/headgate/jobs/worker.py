"""A worker: a runner for each sort of work, so that none starves another, and one more for suspects."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from headgate.jobs.execution import SUSPECT, Execution
from headgate.jobs.gate import Gate
from headgate.jobs.kinds import RunnerName
from headgate.jobs.runner import Runner
from headgate.kernel.settings import JobsSettings


@dataclass
class Worker:
    """All runners of a process."""

    runners: list[Runner]

    @property
    def healthy(self) -> bool:
        return all(runner.healthy for runner in self.runners)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for runner in self.runners:
                group.create_task(runner.run(), name=f"runner {runner.name}")

    async def stop(self) -> None:
        await asyncio.gather(*(runner.stop() for runner in self.runners))


def build_worker(url: str, execution: Execution, settings: JobsSettings) -> Worker:
    """Return a worker for all kinds that the execution knows."""
    gate = Gate()
    execution.crowded = lambda: gate.closed

    def runner(name: str, entrypoints: dict[str, int], concurrency: int) -> Runner:
        return Runner(
            name=name,
            url=url,
            execution=execution,
            entrypoints=entrypoints,
            concurrency=concurrency,
            heartbeat_timeout_s=settings.heartbeat_timeout_s,
            gate=gate,
            shutdown_s=settings.shutdown_s,
        )

    def limits(name: RunnerName) -> dict[str, int]:
        return {kind.name: kind.concurrency for kind in execution.kinds.of_runner(name)}

    sends, polls, transfers = limits("send"), limits("poll"), limits("transfer")
    inspections = limits("inspect")
    candidates = [
        runner("fast", limits("fast"), settings.fast_concurrency),
        runner("bulk", limits("bulk"), settings.bulk_concurrency),
        # One worker alone must be able to send for as many accounts as the deployment allows.
        runner("send", sends, sum(sends.values())),
        # A poll mostly waits for its host; those that do must leave the short work alone. Lanes keep the pace
        # of hosts over all workers, so the limit is this worker's own: such a claim costs a fifth.
        runner("poll", dict.fromkeys(polls, 0), sum(polls.values())),
        # Downloads last; slots bound those of an account over all workers.
        runner("transfer", dict.fromkeys(transfers, 0), sum(transfers.values())),
        # To look into archives can take minutes each, most of them waiting for the sandbox.
        runner("inspect", inspections, sum(inspections.values())),
        runner(SUSPECT, {SUSPECT: 0}, 2),
    ]
    return Worker([candidate for candidate in candidates if candidate.entrypoints])
