"""Jobs of an exclusive account go to the process that holds it, and come back when it lets go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from bench import Bench, build_bench, make_parts

from headgate.domain.errors import AuthFailed, UserError
from headgate.intake.channels import accounts
from headgate.intake.channels.discovery import discover
from headgate.intake.channels.logins import Logins, LoginWish
from headgate.jobs.execution import SUSPECT
from headgate.jobs.kinds import Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import VirtualClock
from headgate.storage.channels.channels import list_accounts
from headgate.storage.database import Database
from headgate.storage.jobs import engine
from headgate.testing.platform.profiles import session_like

ROUTED = "select entrypoint from pgqueuer where status = 'queued' and entrypoint like '%@%'"


@pytest.fixture
async def first(database: Database, database_url: str) -> AsyncIterator[Bench]:
    bench = build_bench(database, database_url, session_like)
    bench.world.fill("packs", 20)
    await bench.follow()
    bench.parts.serve_holds()
    yield bench
    await bench.parts.links.close()
    await bench.close()


@pytest.fixture
async def second(first: Bench) -> AsyncIterator[Bench]:
    """Another process on the same database."""
    parts = make_parts(first.database, first.url, first.clock, first.world, seed=2)
    parts.serve_holds()
    bench = replace(first, parts=parts, claimer=None, _ticker=None, _connections=[])
    yield bench
    await parts.links.close()
    await bench.close()


async def routed(bench: Bench) -> list[str]:
    return sorted(row["entrypoint"] for row in await bench.rows(ROUTED))


async def settle(bench: Bench) -> int:
    """Carry out what waits for this process now, without a tick."""
    stepper, done = await bench.stepper(), 0
    while (job := await stepper.claim()) is not None:
        _, settlement = await stepper.execute(job)
        await stepper.settle(job, settlement)
        done += 1
    return done


async def answer(bench: Bench) -> None:
    """Carry out the job of a question as soon as it is there, and let its asker look."""
    done = 0
    while not done:
        done = await settle(bench)
    bench.clock.advance(1)


async def test_a_job_that_another_picks_goes_to_the_holder_at_once(first: Bench, second: Bench) -> None:
    account = await first.account()
    await first.parts.links.require(account)
    await second.tick()
    before = first.world.sessions.opened
    assert await settle(second) == 1
    assert await routed(second) == [f"fast@{account.id}"]
    assert await settle(second) == 0, "it does not come back"
    assert first.world.sessions.opened == before, "it opened nothing"
    assert await settle(first) > 0
    assert await routed(first) == []
    assert first.world.sessions.duplicated == []


async def test_everything_of_a_stream_is_read_whoever_picks_the_jobs(first: Bench, second: Bench) -> None:
    await first.parts.links.require(await first.account())
    for _ in range(60):
        await second.tick()
        if not (await settle(second) + await settle(first)):
            await first.pass_time(60)
        if (await first.stream()).message_count:
            break
    assert (await first.stream()).message_count > 0
    assert first.world.sessions.duplicated == []


async def test_what_waits_for_a_holder_goes_to_all_when_it_lets_go(first: Bench, second: Bench) -> None:
    await first.parts.links.require(await first.account())
    await second.tick()
    await settle(second)
    await first.parts.links.close()
    assert await routed(second) == []
    assert await settle(second) > 0
    assert first.world.sessions.duplicated == []


async def test_a_job_is_not_left_behind_for_a_holder_that_has_just_let_go(first: Bench) -> None:
    """The hold ends between the refusal and the routing."""
    account = await first.account()
    async with first.database.transaction() as tx:
        await enqueue(tx, [Wake("check", str(account.id))])
    job = await (await first.stepper()).claim()
    assert job is not None
    async with first.database.transaction() as tx:
        await engine.route_job(
            tx,
            job_id=job.id,
            owner=(await first.stepper()).owner,
            account_id=account.id,
            route=f"fast@{account.id}",
            plain="check",
        )
    assert [row["entrypoint"] for row in await first.rows("select entrypoint from pgqueuer")] == ["check"]


async def test_a_suspect_stays_alone_wherever_it_goes(first: Bench, second: Bench) -> None:
    account = await first.account()
    await first.parts.links.require(account)
    async with first.database.transaction() as tx:
        await enqueue(tx, [Wake("check", str(account.id))])
        await tx.raw("update pgqueuer set entrypoint = $1 returning id", [SUSPECT])
    await settle(second)
    assert await routed(second) == [f"{SUSPECT}@{account.id}"]
    job = await (await first.stepper()).claim()
    assert job is not None
    assert (await first.stepper()).pick(job).isolated
    await first.parts.links.close()
    assert [row["entrypoint"] for row in await first.rows("select entrypoint from pgqueuer")] == [SUSPECT]


async def test_a_command_asks_the_holder_what_an_account_sees(first: Bench) -> None:
    account = await first.account()
    await first.parts.links.require(account)
    command = make_parts(first.database, first.url, first.clock, first.world, seed=3)
    asking = asyncio.create_task(discover(command.links, account))
    await answer(first)
    assert [channel.key for channel in await asking] == ["packs"]
    assert await first.rows("select id from account_question") == []
    assert first.world.sessions.duplicated == []
    await command.links.close()


async def test_a_command_learns_why_the_holder_cannot_tell(first: Bench) -> None:
    account = await first.account()
    await first.parts.links.require(account)
    first.world.logout("reader")
    command = make_parts(first.database, first.url, first.clock, first.world, seed=3)
    asking = asyncio.create_task(discover(command.links, account))
    await answer(first)
    with pytest.raises(AuthFailed):
        await asking
    await command.links.close()


async def test_a_removed_account_leaves_no_job_behind_for_its_holder(first: Bench, second: Bench) -> None:
    reader = await first.account()
    await first.parts.links.require(reader)
    async with first.database.transaction() as tx:
        await enqueue(tx, [Wake("send", str(reader.id))])
    await settle(second)
    assert await routed(second) == [f"send@{reader.id}"]
    async with first.database.transaction() as tx:
        (account,) = await list_accounts(tx)
        await accounts.remove_account(tx, account, now=first.clock.now())
    assert await routed(second) == []


async def test_an_account_that_works_elsewhere_is_not_signed_in_a_second_time(
    first: Bench, tmp_path: Path
) -> None:
    await first.parts.links.require(await first.account())
    clock = VirtualClock(first.clock.now())
    command = make_parts(first.database, first.url, clock, first.world, seed=3)
    async with first.database.transaction() as tx:
        (row,) = await list_accounts(tx)
    logins = Logins(command.links, tmp_path, command.ids, clock, clock)
    signing_in = asyncio.create_task(logins.begin(LoginWish(row.platform, account=row)))
    while not signing_in.done():
        await asyncio.wait({signing_in}, timeout=0.001)
        clock.advance((clock.next_wake_s() or clock.monotonic()) - clock.monotonic())
    with pytest.raises(UserError, match="must not be open twice"):
        await signing_in
    await command.links.close()
