"""Listening to Discord: what a session proves, and what ends it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from discord_stage import Stage

from headgate.connectors.protocol import Link
from headgate.domain.errors import AuthFailed
from headgate.domain.streams.messages import LiveEvent, Span

pytestmark = [pytest.mark.once, pytest.mark.long]


class Ear:
    """What a listener has heard."""

    def __init__(self) -> None:
        self.events: list[LiveEvent] = []
        self.error: Exception | None = None

    def of(self, kind: str, stream: str = "") -> list[LiveEvent]:
        return [one for one in self.events if one.kind == kind and stream in ("", one.stream)]

    def keys(self, stream: str) -> list[str]:
        return [one.message_key for one in self.of("message", stream)]

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(10):
            while not condition():  # noqa: ASYNC110 - the condition is about the other side
                await asyncio.sleep(0.02)


@pytest.fixture
async def link(discord_stage: Stage) -> AsyncIterator[Link]:
    link = await discord_stage.open()
    yield link
    await link.close()


@asynccontextmanager
async def listening(stage: Stage, link: Link) -> AsyncGenerator[Ear]:
    ear, sessions = Ear(), stage.edge.sessions
    before = sessions.identified

    async def listen() -> None:
        try:
            async for event in link.listen():
                ear.events.append(event)
        except Exception as error:  # noqa: BLE001 - what ends it is what some tests are about
            ear.error = error

    task = asyncio.create_task(listen())
    begun = asyncio.create_task(sessions.until_identified(before + 1))
    await asyncio.wait({task, begun}, timeout=10, return_when=asyncio.FIRST_COMPLETED)
    begun.cancel()
    try:
        yield ear
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_resumed_session_goes_on_proving(discord_stage: Stage, link: Link) -> None:
    stage = discord_stage
    channel = await stage.make_channel()
    async with listening(stage, link) as ear:
        first = await stage.post(channel, "before")
        await ear.until(lambda: first in ear.keys(channel))
        stage.edge.sessions.drop()
        missed = await stage.post(channel, "while the connection is broken")
        await ear.until(lambda: stage.edge.sessions.resumed)
        last = await stage.post(channel, "after")
        await ear.until(lambda: last in ear.keys(channel))
    assert ear.keys(channel) == [first, missed, last]
    assert [one.proven for one in ear.of("message", channel)] == [
        Span(int(first), int(first) + 1),
        Span(int(first) + 1, int(missed) + 1),
        Span(int(missed) + 1, int(last) + 1),
    ]
    assert stage.edge.sessions.identified == 1


async def test_a_session_that_cannot_be_resumed_ends_the_listening(discord_stage: Stage, link: Link) -> None:
    stage = discord_stage
    channel = await stage.make_channel()
    async with listening(stage, link) as ear:
        key = await stage.post(channel, "before")
        await ear.until(lambda: ear.keys(channel) == [key])
        stage.edge.sessions.drop(resumable=False)
        await ear.until(lambda: ear.of("disconnect"))
    assert ear.error is None


async def test_a_number_that_is_left_out_ends_what_is_proven(discord_stage: Stage, link: Link) -> None:
    stage = discord_stage
    channel = await stage.make_channel()
    async with listening(stage, link) as ear:
        first = await stage.post(channel, "first")
        await ear.until(lambda: ear.keys(channel) == [first])
        for session in stage.edge.sessions.open.values():
            session.swallow = 1
        lost = await stage.post(channel, "never told")
        last = await stage.post(channel, "last")
        await ear.until(lambda: last in ear.keys(channel))
    assert lost not in ear.keys(channel)
    assert ear.of("message", channel)[-1].proven == Span(int(last), int(last) + 1)


async def test_a_payload_that_makes_no_sense_does_not_end_the_listening(
    discord_stage: Stage, link: Link
) -> None:
    stage = discord_stage
    channel = await stage.make_channel()
    async with listening(stage, link) as ear:
        (session,) = stage.edge.sessions.open.values()
        await session.tell("MESSAGE_CREATE", ["not", "an", "object"])
        await session.tell("GUILD_CREATE", {"id": 5})
        broken = {"id": "77", "channel_id": channel, "guild_id": stage.guild["id"], "attachments": 5}
        await session.tell("MESSAGE_CREATE", broken)
        assert session.client is not None
        await session.client.send_str("{not json")
        key = await stage.post(channel, "still there")
        await ear.until(lambda: key in ear.keys(channel))
    unreadable = next(one for one in ear.events if one.key == "77")
    assert unreadable.kind == "message"
    assert unreadable.message is None
    assert ear.error is None


async def test_new_renamed_and_deleted_channels_have_channels_listed_again(
    discord_stage: Stage, link: Link
) -> None:
    stage = discord_stage
    channel = await stage.make_channel()
    async with listening(stage, link) as ear:
        await stage.make_channel("brand-new")
        await ear.until(lambda: len(ear.of("channels")) == 1)
        await stage.call("PATCH", f"/channels/{channel}", {"name": "renamed"})
        await ear.until(lambda: len(ear.of("channels")) == 2)
        await stage.make_thread(channel)
        await ear.until(lambda: len(ear.of("channels")) == 3)
        await stage.call("DELETE", f"/channels/{channel}")
        await ear.until(lambda: len(ear.of("channels")) == 4)
    assert all(event == LiveEvent("channels") for event in ear.of("channels"))


async def test_bulk_deletions_name_each_message(discord_stage: Stage, link: Link) -> None:
    stage = discord_stage
    channel = await stage.make_channel()
    keys = [await stage.post(channel, f"number {n}") for n in range(3)]
    async with listening(stage, link) as ear:
        (session,) = stage.edge.sessions.open.values()
        await session.tell("MESSAGE_DELETE_BULK", {"ids": keys, "channel_id": channel})
        await ear.until(lambda: len(ear.of("delete", channel)) == 3)
    assert [one.key for one in ear.of("delete", channel)] == keys


async def test_changed_rights_end_what_is_proven(discord_stage: Stage, link: Link) -> None:
    stage = discord_stage
    channel = await stage.make_channel()
    async with listening(stage, link) as ear:
        first = await stage.post(channel, "first")
        await ear.until(lambda: ear.keys(channel) == [first])
        await stage.call("POST", f"/guilds/{stage.guild['id']}/roles", {"name": "new role"})
        second = await stage.post(channel, "second")
        await ear.until(lambda: second in ear.keys(channel))
    assert ear.of("message", channel)[-1].proven == Span(int(second), int(second) + 1)


async def test_messages_in_threads_are_heard_as_streams_of_their_own(
    discord_stage: Stage, link: Link
) -> None:
    stage = discord_stage
    thread = await stage.make_thread(await stage.make_channel())
    async with listening(stage, link) as ear:
        key = await stage.post(thread, "in the thread", token=stage.bot_token)
        await ear.until(lambda: ear.keys(thread))
    assert ear.keys(thread) == [key]


async def test_heads_come_from_the_gateway_while_it_listens(discord_stage: Stage, link: Link) -> None:
    stage = discord_stage
    channels = [await stage.make_channel() for _ in range(5)]
    old = [await stage.post(channel, "old") for channel in channels]
    async with listening(stage, link) as ear:
        await ear.until(lambda: stage.edge.sessions.open)
        new = await stage.post(channels[0], "new")
        await ear.until(lambda: ear.keys(channels[0]) == [new])
        before = len(stage.edge.calls)
        heads = await link.heads(channels)
        assert len(stage.edge.calls) == before
    assert [str(heads[channel].position) for channel in channels] == [new, *old[1:]]


async def test_a_thread_that_the_gateway_did_not_tell_is_asked_for_once(
    discord_stage: Stage, link: Link
) -> None:
    stage = discord_stage
    thread = await stage.make_thread(await stage.make_channel())
    stage.edge.translation.archived.add(thread)
    first = await stage.post(thread, "before", token=stage.bot_token)
    async with listening(stage, link) as ear:
        await taken_in(stage, ear)
        before = len(stage.edge.calls)
        assert await positions(link, thread) == [first]
        assert stage.edge.calls[before:] == [("GET", f"/api/v9/channels/{thread}")]
        second = await stage.post(thread, "now", token=stage.bot_token)
        await ear.until(lambda: second in ear.keys(thread))
        before = len(stage.edge.calls)
        assert await positions(link, thread) == [second]
        assert len(stage.edge.calls) == before


async def test_threads_have_their_heads_from_the_gateway(discord_stage: Stage, link: Link) -> None:
    stage = discord_stage
    channel = await stage.make_channel()
    old = await stage.make_thread(channel)
    keys = [await stage.post(old, "before", token=stage.bot_token)]
    async with listening(stage, link) as ear:
        new = await stage.make_thread(channel)
        keys.append(await stage.post(new, "now", token=stage.bot_token))
        await ear.until(lambda: keys[1] in ear.keys(new))
        before = len(stage.edge.calls)
        assert await positions(link, old, new) == keys
        assert len(stage.edge.calls) == before


async def test_an_archived_thread_of_an_earlier_session_is_asked_for_again(
    discord_stage: Stage, link: Link
) -> None:
    """It may have been used and archived again while nobody listened, and the gateway does not tell of it."""
    stage = discord_stage
    thread = await stage.make_thread(await stage.make_channel())
    stage.edge.translation.archived.add(thread)
    await stage.post(thread, "old", token=stage.bot_token)
    await link.discover()
    missed = await stage.post(thread, "missed", token=stage.bot_token)
    async with listening(stage, link) as ear:
        await taken_in(stage, ear)
        assert await positions(link, thread) == [missed]


async def test_a_change_of_rights_has_heads_asked_for_once(discord_stage: Stage, link: Link) -> None:
    stage = discord_stage
    channels = [await stage.make_channel() for _ in range(3)]
    keys = [await stage.post(channel, "hello") for channel in channels]
    async with listening(stage, link) as ear:
        await stage.call("POST", f"/guilds/{stage.guild['id']}/roles", {"name": "new role"})
        keys[0] = await stage.post(channels[0], "after it")
        await ear.until(lambda: keys[0] in ear.keys(channels[0]))
        before = len(stage.edge.calls)
        assert await positions(link, *channels) == keys
        asked = len(stage.edge.calls) - before
        assert asked > 0
        assert await positions(link, *channels) == keys
        assert len(stage.edge.calls) - before == asked


async def test_a_channel_that_the_bot_may_no_longer_see_has_no_head_from_the_gateway(
    discord_stage: Stage, link: Link
) -> None:
    stage = discord_stage
    seen, hidden = [await stage.make_channel() for _ in range(2)]
    keys = [await stage.post(channel, "hello") for channel in (seen, hidden)]
    async with listening(stage, link) as ear:
        await taken_in(stage, ear)
        assert await positions(link, seen, hidden) == keys
        everyone = stage.guild["id"]
        denied = {"id": everyone, "type": 0, "allow": "0", "deny": str(1 << 10)}
        await stage.call("PUT", f"/channels/{hidden}/permissions/{everyone}", denied)
        keys[0] = await stage.post(seen, "after it")
        await ear.until(lambda: keys[0] in ear.keys(seen))
        await stage.post(hidden, "nobody hears this")
        before = stage.edge.count("GET", f"/channels/{hidden}$")
        await link.heads([seen, hidden])
        assert stage.edge.count("GET", f"/channels/{hidden}$") > before


async def taken_in(stage: Stage, ear: Ear) -> None:
    """Wait until everything that the gateway told of the guild so far has been taken in."""
    await stage.make_channel("marker")
    await ear.until(lambda: ear.of("channels"))


async def positions(link: Link, *channels: str) -> list[str]:
    heads = await link.heads(channels)
    return [str(heads[channel].position) for channel in channels]


async def test_heads_of_many_channels_cost_one_call_a_guild(discord_stage: Stage, link: Link) -> None:
    stage = discord_stage
    channels = [await stage.make_channel() for _ in range(6)]
    keys = [await stage.post(channel, "hello") for channel in channels]
    await link.discover()
    before = len(stage.edge.calls)
    heads = await link.heads(channels)
    assert stage.edge.calls[before:] == [("GET", f"/api/v9/guilds/{stage.guild['id']}/channels")]
    assert [str(heads[channel].position) for channel in channels] == keys


async def test_a_server_that_the_bot_was_removed_from_harms_no_other(
    discord_stage: Stage, link: Link
) -> None:
    stage = discord_stage
    kept = await stage.make_channel()
    key = await stage.post(kept, "hello")
    other = (await stage.call("POST", "/guilds", {"name": "Other guild"}))["id"]
    await stage.invite(other)
    wishes = [{"name": f"lost-{number}", "type": 0} for number in range(2)]
    lost = [(await stage.call("POST", f"/guilds/{other}/channels", wish))["id"] for wish in wishes]
    await link.discover()
    await stage.call("DELETE", f"/guilds/{other}/members/{stage.application}")
    heads = await link.heads([*lost, kept])
    assert {channel: str(head.position) for channel, head in heads.items()} == {kept: key}


async def test_a_bot_without_the_content_intent_is_told_so(discord_stage: Stage, link: Link) -> None:
    discord_stage.edge.sessions.refuses_with = 4014
    async with listening(discord_stage, link) as ear:
        assert ear.error is not None
    ours = discord_stage.connector.classify(ear.error)
    assert isinstance(ours, AuthFailed)
    assert "MESSAGE CONTENT INTENT" in str(ours)
