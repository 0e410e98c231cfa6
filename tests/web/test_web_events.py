"""Live events, through a real server and the database's notices."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import unquote
from uuid import uuid4

import httpx
import pytest
from fastapi import HTTPException
from webworld import WebWorld, post, sign_in

from headgate.storage import events
from headgate.storage.access.user_sessions import delete_other_sessions
from headgate.storage.events import Event
from headgate.web import Server
from headgate.web.events import Client, EventHub

PATIENCE_S = 10


@asynccontextmanager
async def serving(world: WebWorld) -> AsyncGenerator[tuple[Server, str], None]:
    """Run a real server, because only that one streams."""
    server = Server(world.app)
    world.listener.start()
    await world.listener.wait_until_listening()
    with socket.create_server(("127.0.0.1", 0)) as door:
        task = asyncio.create_task(server.serve(sockets=[door]))
        try:
            yield server, f"http://127.0.0.1:{door.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task
            await world.listener.stop()


@asynccontextmanager
async def listening(
    world: WebWorld, url: str, name: str = "ada", *, since: str | None = None
) -> AsyncGenerator[AsyncIterator[str], None]:
    """Sign in and open the stream; what is yielded are its lines."""
    async with httpx.AsyncClient(base_url=url) as client:
        answer = await client.post("/login", data={"name": name, "password": "correct horse battery"})
        assert answer.status_code == 303
        since = world.hub.mark if since is None else since
        async with client.stream("GET", "/events", params={"since": since}) as stream:
            assert stream.status_code == 200
            assert stream.headers["content-type"].startswith("text/event-stream")
            lines = stream.aiter_lines()
            assert await next_line(lines) == "retry: 2000"
            yield lines


async def next_line(lines: AsyncIterator[str]) -> str:
    async with asyncio.timeout(PATIENCE_S):
        return await anext(lines)


async def next_event(lines: AsyncIterator[str]) -> str:
    while not (line := await next_line(lines)).startswith("event: "):
        pass
    return line.removeprefix("event: ")


async def tell(world: WebWorld, *told: Event) -> None:
    async with world.database.transaction() as tx:
        for event in told:
            await events.publish(tx, event)


async def test_what_commits_reaches_the_page(world: WebWorld) -> None:
    await world.add_user()
    async with serving(world) as (_, url), listening(world, url) as lines:
        await tell(world, Event("items"))
        assert await next_event(lines) == "items"


async def test_what_is_rolled_back_reaches_nobody(world: WebWorld) -> None:
    await world.add_user()
    async with serving(world) as (_, url), listening(world, url) as lines:
        with contextlib.suppress(ZeroDivisionError):
            async with world.database.transaction() as tx:
                await events.publish(tx, Event("items"))
                raise ZeroDivisionError
        await tell(world, Event("channels"))
        assert await next_event(lines) == "channels"


async def test_what_is_for_one_user_reaches_no_other(world: WebWorld) -> None:
    await world.add_user()
    eve = await world.add_user("eve", "member")
    async with (
        serving(world) as (_, url),
        listening(world, url) as ada,
        listening(world, url, "eve") as other,
    ):
        await tell(world, Event("private", audience=eve.id))
        assert await next_event(other) == "private"
        await tell(world, Event("items"))
        assert await next_event(ada) == "items"


async def test_a_quiet_stream_has_a_heartbeat(world: WebWorld) -> None:
    await world.add_user()
    async with serving(world) as (_, url), listening(world, url) as lines:
        while not (line := await next_line(lines)).startswith(":"):
            assert line == ""
        assert line.startswith(":")


@pytest.mark.parametrize("since", ["", "another.0"])
async def test_a_page_of_another_process_is_told_to_refresh(world: WebWorld, since: str) -> None:
    await world.add_user()
    async with serving(world) as (_, url), listening(world, url, since=since) as lines:
        assert await next_event(lines) == "refresh"


async def test_what_happens_before_a_page_listens_is_not_lost(world: WebWorld) -> None:
    await world.add_user()
    async with serving(world) as (_, url):
        async with world.client() as client:
            await sign_in(client)
            page = (await client.get("/channels")).text
        since = unquote(page.partition("/events?since=")[2].partition('"')[0])
        async with listening(world, url) as lines:
            await tell(world, Event("items"))
            assert await next_event(lines) == "items"
        async with listening(world, url, since=since) as lines:
            assert await next_event(lines) == "refresh"


async def test_a_sign_out_ends_the_streams_of_that_sign_in_at_once(world: WebWorld) -> None:
    world.hub.heartbeat_s = 3600
    user = await world.add_user()
    async with serving(world) as (_, url), listening(world, url) as lines:
        async with world.client() as client:
            await sign_in(client)
            await post(client, "/account/sessions/end")
        assert await next_event(lines) == "signed_out"
        with pytest.raises(StopAsyncIteration):
            while True:
                await next_line(lines)
    assert user.name == "ada"


async def test_a_stream_ends_when_its_session_is_gone_without_a_word(world: WebWorld) -> None:
    user = await world.add_user()
    async with serving(world) as (_, url), listening(world, url) as lines:
        async with world.database.transaction() as tx:
            await delete_other_sessions(tx, user_id=user.id, keep_id=None)
        assert await next_event(lines) == "signed_out"


async def test_a_closed_page_leaves_nothing_behind(world: WebWorld) -> None:
    await world.add_user()
    async with serving(world) as (_, url):
        async with listening(world, url):
            assert world.hub.streams == 1
        async with asyncio.timeout(PATIENCE_S):
            while world.hub.streams:  # noqa: ASYNC110 - a page that closes sends no signal to a test
                await asyncio.sleep(0)
        assert world.hub.streams == 0


async def test_a_server_stops_while_people_look(world: WebWorld) -> None:
    world.hub.heartbeat_s = 3600
    await world.add_user()
    async with serving(world) as (server, url), listening(world, url) as lines:
        server.should_exit = True
        with pytest.raises(StopAsyncIteration):
            while True:
                await next_line(lines)
    assert world.hub.streams == 0


async def test_events_of_one_kind_pile_up_to_one() -> None:
    client = Client(uuid4())
    for _ in range(1000):
        client.offer("items")
    client.offer("channels")
    assert [told.kind for told in await client.take(patience_s=0.01)] == ["items", "channels"]
    assert await client.take(patience_s=0.01) == []


async def test_too_many_kinds_become_a_refresh() -> None:
    client = Client(uuid4())
    for number in range(1000):
        client.offer(f"kind_{number}")
    kinds = [told.kind for told in await client.take(patience_s=0.01)]
    assert "refresh" in kinds
    assert len(kinds) <= 64


async def test_a_notice_that_makes_no_sense_is_passed_over() -> None:
    hub = EventHub()
    client = hub.join(uuid4())
    for payload in ("", "[]", "{}", '{"kind": "a\\nb", "audience": null}', '{"kind": "x", "audience": "y"}'):
        hub.hear(payload)
    assert await client.take(patience_s=0.01) == []
    hub.hear(None)
    assert [told.kind for told in await client.take(patience_s=0.01)] == ["refresh"]


async def test_streams_of_a_user_are_bounded() -> None:
    hub, user_id = EventHub(), uuid4()
    for _ in range(32):
        hub.check_room(user_id)
        hub.join(user_id)
    with pytest.raises(HTTPException):
        hub.check_room(user_id)
    hub.check_room(uuid4())
