"""A scan that a person asked for waits for a look at its head, and is not forgotten if the look gives up."""

from __future__ import annotations

from bench import Bench

from headgate.intake.channels.requests import ask_scan, enable
from headgate.intake.streams.head_checks import AccountRows
from headgate.jobs.execution import REST
from headgate.storage.channels.requests import ScanWish


async def ask(bench: Bench) -> None:
    stream = await bench.stream()
    async with bench.database.transaction() as tx:
        await ask_scan(tx, stream.id, ScanWish(), ids=bench.parts.ids, now=bench.clock.now())


async def give_up_looking(bench: Bench) -> None:
    """What a dead letter of the look does, after crashes."""
    account = await bench.account()
    async with bench.database.transaction() as tx:
        await tx.raw("delete from pgqueuer")
        now = bench.clock.now()
        await AccountRows().postpone(tx, account.id, until=now + REST, now=now)
    assert (await bench.stream()).due_at == now + REST


async def test_a_replayed_look_finds_the_scan_that_waits_for_it(bench: Bench) -> None:
    bench.world.fill("packs", 10)
    await bench.follow()
    await ask(bench)
    await give_up_looking(bench)
    account = await bench.account()
    async with bench.database.transaction() as tx:
        await AccountRows().reopen(tx, account.id, now=bench.clock.now())
    await bench.work()
    assert await bench.column("sightings") == bench.places()


async def test_asking_again_has_the_head_fetched_again(bench: Bench) -> None:
    bench.world.fill("packs", 10)
    await bench.follow()
    await ask(bench)
    await give_up_looking(bench)
    await ask(bench)
    await bench.work()
    assert await bench.column("sightings") == bench.places()


async def test_switching_on_what_is_on_does_not_hold_a_scan_back(bench: Bench) -> None:
    bench.world.fill("packs", 10)
    await bench.follow()
    await ask(bench)
    stream = await bench.stream()
    async with bench.database.transaction() as tx:
        await tx.raw("delete from pgqueuer")
        await enable(tx, stream.id, now=bench.clock.now())
    await bench.work()
    assert await bench.column("sightings") == bench.places()
