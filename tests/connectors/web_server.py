"""A real HTTP server on loopback that answers as it is told, also wrongly, slowly and without end."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self


@dataclass(frozen=True)
class Reply:
    """What the server answers at a path."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    declared_length: int | None = None
    """A Content-Length that need not be true."""
    hangs: bool = False
    """After its body the server neither sends more nor closes."""
    repeats: bool = False
    """The body comes again and again, without an end."""


@dataclass(frozen=True)
class Seen:
    """A request as it arrived; names of headers are in small letters."""

    method: str
    target: str
    headers: Mapping[str, str]


class WebServer:
    """Serves replies by path; a path with several replies gives them in turn, and then the last for ever."""

    def __init__(self, certificate: ssl.SSLContext | None = None) -> None:
        self.certificate = certificate
        self.replies: dict[str, list[Reply]] = {}
        self.seen: list[Seen] = []
        self.port = 0
        self._server: asyncio.Server | None = None
        self._closing = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.certificate)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self._closing.set()
        for writer in list(self._writers):
            writer.transport.abort()

    def url(self, path: str, *, login: str = "", host: str = "127.0.0.1") -> str:
        return (
            f"http{'s' if self.certificate else ''}://{login}{'@' if login else ''}{host}:{self.port}{path}"
        )

    def say(self, path: str, *replies: Reply | bytes | str) -> str:
        """Answer so at a path, and return its address."""
        self.replies[path] = [
            one if isinstance(one, Reply) else Reply(one if isinstance(one, bytes) else one.encode())
            for one in replies
        ]
        return self.url(path)

    def paths(self) -> list[str]:
        return [one.target for one in self.seen]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            first = await reader.readexactly(1)
            if not first.isalpha():
                # Somebody wants to talk in private, which this server does not know.
                writer.write(b"HTTP/1.1 400 In plain words, please\r\n\r\n")
                return
            request = _parse(first + await reader.readuntil(b"\r\n\r\n"))
            self.seen.append(request)
            await self._answer(writer, request)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, request: Seen) -> None:
        waiting = self.replies.get(request.target.partition("?")[0], [Reply(b"nothing here", status=404)])
        reply = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        etag = reply.headers.get("ETag")
        if etag is not None and request.headers.get("if-none-match") == etag:
            reply = Reply(status=304, headers=reply.headers)
        writer.write(_head(reply))
        writer.write(reply.body)
        await writer.drain()
        while reply.repeats:
            writer.write(reply.body)
            await writer.drain()
        if reply.hangs:
            await self._closing.wait()


def _parse(head: bytes) -> Seen:
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines if line)
    return Seen(method, target, {name.lower(): value.strip() for name, _, value in pairs})


def _head(reply: Reply) -> bytes:
    length = len(reply.body) if reply.declared_length is None else reply.declared_length
    lines = [f"HTTP/1.1 {reply.status} As told", "Connection: close"]
    if not reply.repeats and "Transfer-Encoding" not in reply.headers:
        lines.append(f"Content-Length: {length}")
    lines.extend(f"{name}: {value}" for name, value in reply.headers.items())
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def zipped(pieces: Iterable[bytes]) -> bytes:
    """Return the pieces as one gzip file."""
    return gzip.compress(b"".join(pieces))
