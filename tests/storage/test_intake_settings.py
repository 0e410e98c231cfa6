"""Layers of settings as they are stored, and what each change of them sets going."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from headgate.storage.channels import intake_settings
from headgate.storage.database import Database, Tx, connect
from headgate.storage.queries import QueryFile

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)

Q = QueryFile(
    "settings tests",
    """
-- name: add
insert into channel (id, platform, key, kind, title, parent_id, created_at)
values (%(id)s, 'simulated', %(id)s::text, %(kind)s, 'A channel', %(parent)s, %(now)s)

-- name: add_stream
insert into stream (channel_id, due_at) values (%(id)s, %(due_at)s)

-- name: add_scan
insert into scan (id, channel_id, trigger, reason, queued_at)
values (gen_random_uuid(), %(id)s, 'person', 'asked', %(now)s)

-- name: add_topic
insert into topic (channel_id, key, title, created_at) values (%(id)s, %(key)s, 'A topic', %(now)s)

-- name: armed
select channel_id from judging where due_at = %(now)s

-- name: progress
update judging set judged = 5, changed = 3

-- name: rearmed
select wake_seq || ' ' || judged || ' ' || changed from judging

-- name: stream
select wake_seq || ' ' || woken || ' ' || coalesce((due_at = %(now)s)::text, 'parked') from stream
where channel_id = %(id)s
""",
)


async def _add(tx: Tx, *, kind: str = "stream", parent: UUID | None = None) -> UUID:
    channel_id = uuid4()
    await tx.execute(Q["add"], id=channel_id, kind=kind, parent=parent, now=NOW)
    return channel_id


async def _layers(tx: Tx, channel_id: UUID) -> intake_settings.Layers:
    (layers,) = await intake_settings.list_layers(tx, [channel_id])
    return layers


async def _armed(tx: Tx, now: datetime = NOW) -> set[UUID]:
    return set(await tx.column(Q["armed"], now=now))


async def test_the_layers_of_a_channel_come_from_the_outermost_inwards(database: Database) -> None:
    async with database.transaction() as tx:
        guild = await _add(tx, kind="parent")
        channel = await _add(tx, parent=guild)
        thread = await _add(tx, parent=channel)
        await intake_settings.set_everything(tx, {"bots": False}, now=NOW)
        for number, each in enumerate((guild, channel, thread), start=1):
            await intake_settings.set_channel(tx, each, {"every_nth": number}, now=NOW)
        layers = await _layers(tx, thread)
    assert layers.layers == [{"bots": False}, {"every_nth": 1}, {"every_nth": 2}, {"every_nth": 3}]
    assert (layers.enabled, layers.topics) == (True, [])


async def test_many_channels_are_read_at_once_and_unknown_ones_left_out(database: Database) -> None:
    async with database.transaction() as tx:
        known = [await _add(tx) for _ in range(3)]
        layers = await intake_settings.list_layers(tx, [*known, uuid4()])
    assert {each.channel_id for each in layers} == set(known)
    assert [each.layers for each in layers] == [[{}, {}]] * 3


async def test_of_topics_only_those_that_differ_are_read(database: Database) -> None:
    async with database.transaction() as tx:
        channel = await _add(tx)
        for key in ("off", "plain", "set"):
            await tx.execute(Q["add_topic"], id=channel, key=key, now=NOW)
        assert await intake_settings.switch_topic(tx, channel, "off", enabled=False, now=NOW)
        assert await intake_settings.set_topic(tx, channel, "set", {"bots": False}, now=NOW)
        layers = await _layers(tx, channel)
        own = await intake_settings.get_topic(tx, channel, "set")
    assert [tuple(topic) for topic in layers.topics] == [("off", False, {}), ("set", True, {"bots": False})]
    assert own == intake_settings.Layer(enabled=True, settings={"bots": False})


@pytest.mark.parametrize("switched", [0, 1, 2])
async def test_a_channel_is_off_if_anything_that_it_is_in_is_off(database: Database, switched: int) -> None:
    async with database.transaction() as tx:
        guild = await _add(tx, kind="parent")
        channel = await _add(tx, parent=guild)
        thread = await _add(tx, parent=channel)
        line = [guild, channel, thread]
        assert await intake_settings.switch_channel(tx, line[switched], enabled=False, now=NOW)
        assert [(await _layers(tx, each)).enabled for each in line] == [n < switched for n in range(3)]
        own = await intake_settings.get_channel(tx, line[switched])
    assert own == intake_settings.Layer(enabled=False, settings={})


async def test_a_change_arms_what_it_concerns_and_nothing_else(database: Database) -> None:
    async with database.transaction() as tx:
        guild = await _add(tx, kind="parent")
        child, other = await _add(tx, parent=guild), await _add(tx)
        thread = await _add(tx, parent=child)
        await intake_settings.set_channel(tx, guild, {"bots": False}, now=NOW)
        assert await _armed(tx) == {child, thread}
        await intake_settings.set_channel(tx, thread, {"bots": True}, now=LATER)
        assert await _armed(tx, LATER) == {thread}
        await intake_settings.set_everything(tx, {"bots": False}, now=NOW)
        assert await _armed(tx) == {child, thread, other}


async def test_a_change_during_judging_starts_it_anew(database: Database) -> None:
    async with database.transaction() as tx:
        channel = await _add(tx)
        await intake_settings.set_channel(tx, channel, {"bots": False}, now=NOW)
        await tx.execute(Q["progress"])
        await intake_settings.set_channel(tx, channel, {"bots": True}, now=LATER)
        assert await tx.column(Q["rearmed"]) == ["1 0 0"]


async def test_each_change_raises_the_version_and_none_leaves_it(database: Database) -> None:
    async with database.transaction() as tx:
        channel = await _add(tx)
        first = await intake_settings.hold_settings(tx)
        assert await intake_settings.set_channel(tx, channel, {"bots": False}, now=NOW)
        assert not await intake_settings.set_channel(tx, channel, {"bots": False}, now=NOW)
        assert not await intake_settings.set_channel(tx, uuid4(), {"bots": False}, now=NOW)
        assert not await intake_settings.switch_channel(tx, channel, enabled=True, now=NOW)
        assert not await intake_settings.set_topic(tx, channel, "none", {"bots": False}, now=NOW)
        assert not await intake_settings.switch_topic(tx, channel, "none", enabled=False, now=NOW)
        assert not await intake_settings.set_everything(tx, {}, now=NOW)
        assert await intake_settings.get_everything(tx) == {}
        assert await intake_settings.hold_settings(tx) == first + 1


async def test_a_change_is_told_with_its_version_when_it_commits(
    database: Database, database_url: str
) -> None:
    listener = await connect(database_url)
    async with listener:
        await listener.execute(f"listen {intake_settings.CHANNEL}".encode())
        async with database.transaction() as tx:
            await intake_settings.set_everything(tx, {"bots": False}, now=NOW)
            version = await intake_settings.hold_settings(tx)
        heard = [notice.payload async for notice in listener.notifies(timeout=30, stop_after=1)]
    assert heard == [str(version)]


async def _stream(tx: Tx, channel_id: UUID) -> Sequence[Any]:
    return await tx.value(Q["stream"], id=channel_id, now=NOW)


@pytest.mark.parametrize(
    ("due_at", "expected"), [(None, "1 true parked"), (LATER, "1 true true")], ids=["under way", "due later"]
)
async def test_a_switch_wakes_the_streams_that_it_concerns(
    database: Database, due_at: datetime | None, expected: str
) -> None:
    async with database.transaction() as tx:
        guild = await _add(tx, kind="parent")
        child, other = await _add(tx, parent=guild), await _add(tx)
        for each in (child, other):
            await tx.execute(Q["add_stream"], id=each, due_at=due_at)
        untouched = await _stream(tx, other)
        await intake_settings.switch_channel(tx, guild, enabled=False, now=NOW)
        assert await _stream(tx, child) == expected
        assert await _stream(tx, other) == untouched


async def test_a_switch_leaves_the_due_time_to_a_scan_that_is_under_way(database: Database) -> None:
    async with database.transaction() as tx:
        channel = await _add(tx)
        await tx.execute(Q["add_stream"], id=channel, due_at=None)
        await tx.execute(Q["add_scan"], id=channel, now=NOW)
        await intake_settings.switch_channel(tx, channel, enabled=False, now=NOW)
        assert await _stream(tx, channel) == "1 true parked"
