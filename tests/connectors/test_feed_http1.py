"""The client of feeds: how it reads an answer in any wrapping, and when a connection is used again."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from headgate.connectors.feeds.http1 import Http1, Origin
from headgate.domain.errors import Malformed, Transient

Answering = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
async def client() -> AsyncIterator[Http1]:
    client = Http1(ssl.create_default_context(), allow_private=True)
    yield client
    client.close()


@asynccontextmanager
async def serving(answer: Answering) -> AsyncGenerator[Origin, None]:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield Origin("127.0.0.1", server.sockets[0].getsockname()[1], secure=False)
    finally:
        server.close()


@asynccontextmanager
async def saying(*answers: bytes, hanging_up: bool = False) -> AsyncGenerator[tuple[Origin, list[str]], None]:
    """Serve one answer for each request, over one connection or each over its own."""
    left, asked = list(answers), list[str]()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = id(writer)
        try:
            while left:
                head = await reader.readuntil(b"\r\n\r\n")
                asked.append(f"{connection}: {head.split(b' ')[1].decode()}")
                writer.write(left.pop(0))
                await writer.drain()
                if hanging_up:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async with serving(answer) as origin:
        yield origin, asked


async def get(client: Http1, origin: Origin, target: bytes = b"/") -> tuple[int, bytes]:
    async with client.get(origin, target, {"Host": "feeds.example"}) as response:
        body = b"".join([piece async for piece in response.pieces()])
        return response.status, body


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

WRAPPINGS = {
    "a length": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "chunks": CHUNKED + b"2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\nTrailer: x\r\n\r\n",
    "the end of the connection": b"HTTP/1.1 200 OK\r\n\r\nhello",
    "lines that end with LF alone": b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\nhello",
    "a word before": b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
    "the same length twice": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
}


@pytest.mark.parametrize("name", WRAPPINGS)
async def test_an_answer_is_read_in_any_wrapping(client: Http1, name: str) -> None:
    async with saying(WRAPPINGS[name]) as (origin, _):
        assert await get(client, origin) == (200, b"hello")


BROKEN = {
    "a body that breaks off": b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
    "chunks that break off": CHUNKED + b"5\r\nhe",
    "chunks without sizes": CHUNKED + b"hello\r\n",
    "chunks that are longer than they say": CHUNKED + b"2\r\nhello\r\n0\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "a length that is none": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
    "another protocol": b"ICY 200 OK\r\n\r\n",
    "nothing": b"",
    "half a header": b"HTTP/1.1 200 OK\r\nContent-",
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_answer_is_an_error(client: Http1, name: str) -> None:
    async with saying(BROKEN[name], hanging_up=True) as (origin, _):
        with pytest.raises(Transient):
            await get(client, origin)


async def test_an_endless_header_is_refused(client: Http1) -> None:
    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        try:
            while True:
                writer.write(b"X: y\r\n" * 1000)
                await writer.drain()
        except ConnectionError:
            writer.close()

    async with serving(answer) as origin:
        with pytest.raises(Malformed, match="endless"):
            await get(client, origin)


async def test_a_connection_is_used_again_for_the_same_origin(client: Http1) -> None:
    unchanged = b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n"
    async with saying(unchanged, WRAPPINGS["a length"], WRAPPINGS["chunks"]) as (origin, asked):
        assert [await get(client, origin) for _ in range(3)] == [(304, b""), (200, b"hello"), (200, b"hello")]
    assert len({line.partition(":")[0] for line in asked}) == 1


@pytest.mark.parametrize(
    "last",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more than was promised",
    ],
)
async def test_a_connection_is_not_used_again_after_a_last_word(client: Http1, last: bytes) -> None:
    async with saying(last, WRAPPINGS["a length"]) as (origin, asked):
        assert [await get(client, origin) for _ in range(2)] == [(200, b"hello")] * 2
    assert len({line.partition(":")[0] for line in asked}) == 2


async def test_a_connection_that_the_server_closed_meanwhile_is_opened_anew(client: Http1) -> None:
    asked = list[bytes]()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(WRAPPINGS["a length"])
        await writer.drain()
        # The second request arrives, and is not answered any more.
        await reader.read(1)
        writer.close()

    async with serving(answer) as origin:
        assert [await get(client, origin) for _ in range(2)] == [(200, b"hello")] * 2
    assert len(asked) == 2


async def test_no_header_can_be_smuggled_into_a_request(client: Http1) -> None:
    requests = list[bytes]()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(WRAPPINGS["a length"])
        writer.close()

    async with serving(answer) as origin, client.get(origin, b"/", {"If-None-Match": "a\r\nEvil: yes"}):
        pass
    assert b"Evil" not in requests[0]
