"""Clients that send half a request, or slowly: they lose their connection, and nobody else does."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from webworld import PASSWORD, WebWorld, make_world

from headgate.kernel.settings import WebSettings
from headgate.storage import events
from headgate.storage.database import Database
from headgate.storage.events import Event
from headgate.web import Server

PATIENCE_S = 30
LONG = 600.0
SHORT = 0.2
WHOLE = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"


@asynccontextmanager
async def serving(
    database: Database, folder: Path, *, headers_s: float = LONG, body_s: float = LONG, most: int = 1000
) -> AsyncGenerator[int, None]:
    """Run a real server with these bounds; yields its port."""
    settings = WebSettings(headers_timeout_s=headers_s, body_timeout_s=body_s, max_connections=most)
    async with running(make_world(database, folder, settings=settings)) as port:
        yield port


@asynccontextmanager
async def running(world: WebWorld) -> AsyncGenerator[int, None]:
    """Run a real server; yields its port."""
    server = Server(world.app)
    with socket.create_server(("127.0.0.1", 0)) as door:
        task = asyncio.create_task(server.serve(sockets=[door]))
        try:
            yield door.getsockname()[1]
        finally:
            server.should_exit = True
            await task


class Connection:
    """A client that says what it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, port: int, said: bytes = b"") -> Connection:
        made = cls(*await asyncio.open_connection("127.0.0.1", port))
        made.say(said)
        return made

    def say(self, said: bytes) -> None:
        self._writer.write(said)

    async def answer(self) -> bytes:
        """Return the first line of what is answered; empty if the connection is closed instead."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await self._reader.readline()
        except ConnectionError:
            return b""

    async def is_closed_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._reader.read(1) == b""
        except TimeoutError:
            return False
        except ConnectionError:
            return True


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nhost: localhost\r\nx: "])
async def test_half_sent_headers_end_the_connection(database: Database, tmp_path: Path, said: bytes) -> None:
    async with serving(database, tmp_path, headers_s=SHORT) as port:
        client = await Connection.open(port, said)
        assert await client.is_closed_within(PATIENCE_S)


async def test_headers_that_trickle_in_do_not_prolong_the_deadline(
    database: Database, tmp_path: Path
) -> None:
    """Far fewer lines are taken than five deadlines have room for; too long a header would end it as well."""
    async with serving(database, tmp_path, headers_s=5 * SHORT) as port:
        client = await Connection.open(port, b"GET / HTTP/1.1\r\nhost: localhost\r\n")
        lines = 0
        while lines < 100 and not await client.is_closed_within(SHORT / 4):
            client.say(b"x: y\r\n")
            lines += 1
        assert lines < 100


async def test_a_half_sent_body_ends_the_connection(database: Database, tmp_path: Path) -> None:
    async with serving(database, tmp_path, body_s=SHORT) as port:
        kind = b"content-type: application/x-www-form-urlencoded\r\n"
        head = b"POST /login HTTP/1.1\r\nhost: localhost\r\n" + kind
        client = await Connection.open(port, head + b"content-length: 100\r\n\r\nname=")
        assert await client.is_closed_within(PATIENCE_S)


async def test_a_second_request_has_the_same_deadline(database: Database, tmp_path: Path) -> None:
    async with serving(database, tmp_path, headers_s=SHORT) as port, asyncio.timeout(PATIENCE_S):
        client = await Connection.open(port, WHOLE)
        assert b"200" in await client.answer()
        client.say(b"GET / HTTP/1.1\r\nhost: lo")
        while await client.answer():
            pass


async def test_half_sent_requests_leave_room_for_whole_ones(database: Database, tmp_path: Path) -> None:
    async with serving(database, tmp_path, most=10) as port:
        slow = [await Connection.open(port, b"GET / HTTP/1.1\r\n") for _ in range(15)]
        for _ in range(3):
            client = await Connection.open(port, WHOLE)
            assert b"200" in await client.answer()
        assert await slow[0].is_closed_within(PATIENCE_S)


async def test_a_page_that_listens_for_events_keeps_its_connection(
    database: Database, tmp_path: Path
) -> None:
    settings = WebSettings(headers_timeout_s=SHORT, body_timeout_s=SHORT)
    world = make_world(database, tmp_path, settings=settings)
    await world.add_user()
    world.listener.start()
    await world.listener.wait_until_listening()
    async with running(world) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        await client.post("/login", data={"name": "ada", "password": PASSWORD})
        async with client.stream("GET", "/events") as stream, asyncio.timeout(PATIENCE_S):
            lines = stream.aiter_lines()
            await anext(lines)
            slow = await Connection.open(port, b"GET /")
            assert await slow.is_closed_within(PATIENCE_S)
            async with world.database.transaction() as tx:
                await events.publish(tx, Event("channels"))
            assert [line async for line in _until(lines, "event: channels")]
    await world.listener.stop()


async def _until(lines: AsyncIterator[str], wanted: str) -> AsyncGenerator[str, None]:
    async for line in lines:
        if line == wanted:
            yield line
            return
