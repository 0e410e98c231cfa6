"""Rules in memory: asked for once, never older than the transaction that uses them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import pytest
from judging_bench import START, JudgingBench, Q, open_bench

from headgate.domain.streams.filters import Candidate
from headgate.domain.streams.rules import ChannelRules
from headgate.domain.streams.schedule_knobs import IntakeKnobs
from headgate.intake.channels.rules import FRESH_S, RulesCache
from headgate.storage.channels import intake_settings
from headgate.storage.database import Database

ZIP = Candidate(file_name="a.zip")


@pytest.fixture
async def bench(database: Database, database_url: str) -> AsyncIterator[JudgingBench]:
    bench = await open_bench(database, database_url)
    yield bench
    await bench.connection.close()


async def _get(bench: JudgingBench, channel_id: UUID) -> ChannelRules:
    async with bench.database.transaction() as tx:
        return await bench.rules.get(tx, channel_id)


async def test_rules_are_built_once_and_again_after_a_change(bench: JudgingBench) -> None:
    channel = await bench.add_channel()
    before = await _get(bench, channel)
    assert await _get(bench, channel) is before
    await bench.set(channel, extensions=["rar"], every_nth=2)
    after = await _get(bench, channel)
    assert after.judge(ZIP).verdict == "extension"
    assert after.schedule == IntakeKnobs(every_nth=2)


async def test_the_deployment_says_what_no_layer_says(bench: JudgingBench) -> None:
    channel = await bench.add_channel()
    cache = RulesCache(IntakeKnobs(often_s=90), bench.clock)
    async with bench.database.transaction() as tx:
        assert (await cache.get(tx, channel)).schedule.often_s == 90


async def test_a_channel_that_is_not_there_any_more_is_off(bench: JudgingBench) -> None:
    channel, gone = await bench.add_channel(), uuid4()
    async with bench.database.transaction() as tx:
        rules = await bench.rules.get_many(tx, [channel, gone])
    assert {each: rules[each].enabled for each in (channel, gone)} == {channel: True, gone: False}


async def test_a_field_that_is_not_understood_does_not_stop_a_channel(bench: JudgingBench) -> None:
    channel = await bench.add_channel()
    await bench.set(channel, extensions=["rar"], colour="red")
    rules = await _get(bench, channel)
    assert rules.judge(ZIP).verdict == "extension"


async def test_rules_hold_until_the_transaction_ends(bench: JudgingBench) -> None:
    channel = await bench.add_channel()
    async with bench.database.transaction() as tx:
        before = await bench.rules.get(tx, channel)
        changing = asyncio.create_task(bench.set(channel, extensions=["rar"]))
        await bench.until_somebody_waits()
        assert await bench.rules.get(tx, channel) is before
    await changing
    assert await _get(bench, channel) != before


async def test_a_peek_is_seconds_old_at_most(bench: JudgingBench) -> None:
    channel = await bench.add_channel()
    before = (await bench.rules.peek_many(bench.database, [channel]))[channel]
    await bench.set(channel, extensions=["rar"])
    bench.clock.advance(FRESH_S - 1)
    assert (await bench.rules.peek_many(bench.database, [channel]))[channel] is before
    bench.clock.advance(1)
    assert (await bench.rules.peek_many(bench.database, [channel]))[channel] != before


@pytest.mark.parametrize("lost", [False, True], ids=["a notice", "notices were lost"])
async def test_a_notice_makes_the_next_peek_look(bench: JudgingBench, *, lost: bool) -> None:
    channel = await bench.add_channel()
    before = (await bench.rules.peek_many(bench.database, [channel]))[channel]
    await bench.set(channel, extensions=["rar"])
    bench.rules.hear(None if lost else str(await bench.value("version")))
    assert (await bench.rules.peek_many(bench.database, [channel]))[channel] != before


async def test_a_parents_change_reaches_its_channels(bench: JudgingBench) -> None:
    guild = await bench.add_channel(kind="parent")
    channel = await bench.add_channel(parent=guild)
    await bench.set(guild, extensions=["rar"])
    assert (await _get(bench, channel)).judge(ZIP).verdict == "extension"
    async with bench.database.transaction() as tx:
        await intake_settings.switch_channel(tx, guild, enabled=False, now=START)
    assert not (await _get(bench, channel)).enabled


async def test_a_channel_that_gets_another_parent_is_judged_by_that_ones_settings(
    bench: JudgingBench,
) -> None:
    guild, channel = await bench.add_channel(kind="parent"), await bench.add_channel()
    await bench.set(guild, extensions=["rar"])
    await bench.see(channel, ZIP)
    async with bench.database.transaction() as tx:
        await intake_settings.lock_settings(tx)
        await tx.execute(Q["move"], channel_id=channel, parent=guild)
        await intake_settings.announce_change(tx, channel, now=START)
    await bench.judge()
    assert await bench.column("verdicts", channel_id=channel) == ["a.zip extension"]
