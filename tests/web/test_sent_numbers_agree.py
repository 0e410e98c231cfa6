"""What is said of sending is the same in all places, in the middle of a run and after it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import uuid4

import pytest
from bench import Bench, build_bench
from figures import Places
from sent_figures import GROUPS, SENT
from webworld import WebWorld

from headgate.connectors.protocol import DedupeWindow
from headgate.domain.reminders.windows import Window
from headgate.outflow.sending import controls
from headgate.outflow.sending.pace import PaceWish, change_pace
from headgate.storage.channels.channels import list_accounts
from headgate.testing import PRESETS
from headgate.testing.platform.errors import SimTimeout
from headgate.testing.simulator.sending.plan import plan_runs

UNSURE = PRESETS["plain"].but(dedupe=DedupeWindow("none"))
"""A platform that takes the same message twice: one without an answer stays uncertain."""
SETTLED = timedelta(hours=1)

pytestmark = pytest.mark.usefixtures("settings_of_commands")


@pytest.fixture
async def sending(database_url: str, world: WebWorld) -> AsyncIterator[Bench]:
    """The product on the database of the pages, with nine groups that its account is to write to."""
    bench = build_bench(world.database, database_url, UNSURE)
    for number in range(9):
        bench.world.add_group(f"group-{number}", title=f"Group {number}")
    await bench.do(
        lambda tx: plan_runs(
            tx,
            bench.world,
            ("Dear {group}", "Goodbye"),
            window=Window(0, 1440),
            ids=bench.parts.ids,
            now=bench.clock.now(),
        )
    )
    yield bench
    await bench.close()


async def send(bench: Bench, *, cap: int) -> None:
    """Let the account send so many messages in all."""
    (account,) = await bench.do(list_accounts)
    wish, now = PaceWish(daily_cap=cap), bench.clock.now()
    await bench.do(lambda tx: change_pace(tx, account, wish, bench.parts.links.plans_of, now=now))
    await pass_time(bench, seconds=60)


async def pass_time(bench: Bench, *, seconds: float) -> None:
    for _ in range(3):
        await bench.pass_time(seconds)
        await flow(bench)


async def flow(bench: Bench) -> None:
    """Do what is due, and let time go by while somebody waits for it."""
    task = asyncio.create_task(bench.work())
    while not task.done():
        await asyncio.wait([task], timeout=0.02)
        bench.clock.advance(0.2)
    await task


async def settle(bench: Bench) -> None:
    """Let so much time pass that no call can be under way any more."""
    await bench.rows("update part set sending_at = sending_at - $1::interval", SETTLED)
    await pass_time(bench, seconds=SETTLED.total_seconds())


async def test_what_was_sent_is_the_same_number_everywhere(world: WebWorld, sending: Bench) -> None:
    bench = sending
    (names,) = await bench.rows("select id run, account_id account, reminder_id reminder from run")
    async with world.signed_in() as client:
        places = Places(client, world.database, bench.clock, names)
        await places.begin()
        await send(bench, cap=5)
        told = await places.compare(SENT)
        assert (told["messages sent"], told["state of the run"]) == (5, "waiting")
        for key in ("group-7", "group-8"):
            bench.world.groups[key].members = set()
        bench.fail_next("send.after_effect", SimTimeout("send"))
        await send(bench, cap=13)
        told = await places.compare(SENT)
        assert told["messages of the account in 24 hours"] == 13
        await bench.do(lambda tx: controls.cancel(tx, names["run"], now=bench.clock.now()))
        await settle(bench)
        told = await places.compare(SENT)
        assert told["state of the run"] == "cancelled"
        assert set(told["deliveries by state"]) == {"sent", "failed", "skipped", "uncertain"}
        # The message without an answer arrived, which nobody here can know.
        assert told["messages sent"] + 1 == len(bench.world.log.sends())


async def test_a_reminder_that_cannot_send_has_as_many_groups_everywhere(
    world: WebWorld, sending: Bench
) -> None:
    (names,) = await sending.rows("select id reminder from reminder")
    await sending.rows("delete from run")
    await sending.rows("insert into target_list (id, name, created_at) values ($1, 'all', now())", uuid4())
    await sending.rows(
        "insert into target_list_member select l.id, t.id, row_number() over ()::int"
        " from target_list l, target t where t.key <> 'group-8'"
    )
    await sending.rows("insert into reminder_list select m.id, l.id from reminder m, target_list l")
    await sending.rows(
        "delete from reminder_target where target_id in (select target_id from target_list_member)"
    )
    await sending.rows("update reminder set account_id = null")
    async with world.signed_in() as client:
        places = Places(client, world.database, sending.clock, names)
        assert await places.compare(GROUPS) == {"groups of the reminder": 9}
