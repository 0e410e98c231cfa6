"""Streams and scans that nothing would ever continue are found; those that wait for a person are not."""

from __future__ import annotations

import pytest
from bench import Bench

from headgate.intake.channels.requests import disable
from headgate.storage.vitals import count_forgotten


async def forgotten(bench: Bench) -> dict[str, int]:
    async with bench.database.transaction() as tx:
        return {one.what: one.rows for one in await count_forgotten(tx) if one.rows}


async def test_a_stream_that_rests_or_is_switched_off_is_not_forgotten(bench: Bench) -> None:
    bench.world.fill("packs", 10)
    await bench.follow()
    assert await forgotten(bench) == {}
    await bench.work()
    assert await forgotten(bench) == {}
    stream = await bench.stream()
    async with bench.database.transaction() as tx:
        await disable(tx, stream.id, now=bench.clock.now())
    assert await forgotten(bench) == {}


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("update stream set due_at = null", {"streams": 1}),
        ("update cron set due_at = null where kind = 'retention'", {"recurring jobs": 1}),
    ],
)
async def test_work_without_a_due_time_or_a_job_is_found(
    bench: Bench, damage: str, found: dict[str, int]
) -> None:
    bench.world.fill("packs", 10)
    await bench.follow()
    await bench.work()
    async with bench.database.transaction() as tx:
        await tx.raw(
            "insert into cron (kind, key, schedule, due_at) values ('retention', 'all', '* * * * *', $1)"
            " on conflict do nothing",
            [bench.clock.now()],
        )
        await tx.raw("delete from pgqueuer")
        await tx.raw(damage)
    assert await forgotten(bench) == found
