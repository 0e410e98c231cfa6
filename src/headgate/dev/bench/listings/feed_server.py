"""A server of feeds on loopback, in a process of its own: a host each, with validators.

Run as a module with the number of feeds and of their entries; it prints the port that all hosts share.
Only loopback addresses are bound, one for each feed.
"""

from __future__ import annotations

import asyncio
import hashlib
import resource
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import cast

NEWEST = datetime(2026, 3, 1, tzinfo=UTC)
PATH = "/feed.xml"
SPARE_FILES = 4000
_WORDS = ("water", "rises", "at", "the", "lock", "and", "falls", "behind", "it", "before", "dawn")


def host_of(number: int) -> str:
    """Return the loopback address of a feed: 127.1.x.y."""
    return f"127.1.{number // 250}.{number % 250 + 1}"


def document_of(number: int, entries: int) -> bytes:
    """Return a feed: RSS or Atom in turn, with texts of an ordinary length."""
    return (_rss if number % 2 == 0 else _atom)(number, entries).encode()


def _text(number: int, entry: int) -> str:
    start = (number * 7 + entry) % len(_WORDS)
    words = (_WORDS[start:] + _WORDS[:start]) * 6
    return f"&lt;p&gt;{' '.join(words)} &amp;amp; so on.&lt;/p&gt;"


def _rss(number: int, entries: int) -> str:
    items = "".join(
        f"<item><title>Post {entry} of site {number}</title><link>https://site-{number}.example/{entry}</link>"
        f'<guid isPermaLink="false">site-{number}-{entry}</guid><category>Water</category>'
        f"<pubDate>{format_datetime(NEWEST - timedelta(hours=7 * entry), usegmt=True)}</pubDate>"
        f"<description>{_text(number, entry)}</description></item>\n"
        for entry in range(entries)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:atom="http://www.w3.org/2005/Atom"><channel>'
        f"<title>Site {number}</title><link>https://site-{number}.example/</link>"
        f"<description>All of site {number}</description><language>en-us</language>\n{items}</channel></rss>"
    )


def _atom(number: int, entries: int) -> str:
    inside = "".join(
        f"<entry><title>Post {entry} of site {number}</title><id>tag:site-{number}.example,2026:{entry}</id>"
        f'<link rel="alternate" type="text/html" href="https://site-{number}.example/{entry}"/>'
        f"<published>{(NEWEST - timedelta(hours=7 * entry)).isoformat()}</published>"
        f"<updated>{(NEWEST - timedelta(hours=7 * entry)).isoformat()}</updated>"
        f"<author><name>A Keeper</name></author>"
        f'<summary type="html">{_text(number, entry)}</summary></entry>\n'
        for entry in range(entries)
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en">'
        f"<title>Site {number}</title><id>tag:site-{number}.example,2026:all</id>"
        f'<link rel="self" href="https://site-{number}.example/feed.xml"/>'
        f"<updated>{NEWEST.isoformat()}</updated>\n{inside}</feed>"
    )


class _Answers(asyncio.Protocol):
    """Answers each request of a connection with its host's feed, or that it is unchanged."""

    def __init__(self, whole: bytes, unchanged: bytes, etag: bytes) -> None:
        self._whole, self._unchanged, self._etag = whole, unchanged, etag
        self._transport: asyncio.Transport | None = None
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            request, self._received = self._received[:end], self._received[end + 4 :]
            assert self._transport is not None  # noqa: S101 - a connection was made
            self._transport.write(self._unchanged if self._etag in request else self._whole)


def _protocol_of(number: int, entries: int) -> Callable[[], _Answers]:
    body = document_of(number, entries)
    etag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
    validators = f"ETag: {etag}\r\nLast-Modified: {format_datetime(NEWEST, usegmt=True)}\r\n"
    kind = "application/rss+xml" if number % 2 == 0 else "application/atom+xml"
    whole = (
        f"HTTP/1.1 200 OK\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        f"{validators}\r\n"
    ).encode() + body
    unchanged = f"HTTP/1.1 304 Not Modified\r\n{validators}\r\n".encode()
    return lambda: _Answers(whole, unchanged, etag.encode())


async def serve(feeds: int, entries: int) -> None:
    """Serve until the parent closes our input."""
    loop = asyncio.get_running_loop()
    port = 0
    for number in range(feeds):
        server = await loop.create_server(_protocol_of(number, entries), host_of(number), port, backlog=16)
        port = server.sockets[0].getsockname()[1]
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)


@asynccontextmanager
async def open_feeds(feeds: int, entries: int) -> AsyncGenerator[list[str], None]:
    """Run the server in a process of its own, and yield the addresses of its feeds."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        __name__,
        str(feeds),
        str(entries),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None  # noqa: S101 - asked for above
    assert process.stdout is not None  # noqa: S101 - asked for above
    try:
        port = int(await process.stdout.readline())
        yield [f"http://{host_of(number)}:{port}{PATH}" for number in range(feeds)]
    finally:
        process.stdin.close()
        await process.wait()


def main() -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, int(sys.argv[1]) * 2 + SPARE_FILES), most))
    try:
        import uvloop
    except ImportError:
        asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
    else:
        uvloop.run(serve(int(sys.argv[1]), int(sys.argv[2])))


if __name__ == "__main__":
    main()
