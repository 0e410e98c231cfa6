"""Answers with stored content: in ranges, cached by its hash, and so that nothing of it runs in our pages."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack
from typing import NamedTuple
from urllib.parse import quote

from fastapi import Request, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from headgate.ingest.serving.downloads import RangedContent

_RANGE = re.compile(r"bytes=(\d{0,19})-(\d{0,19})", re.ASCII)
SANDBOX = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""A stored page or drawing may hold scripts: it gets an origin of its own, and may load nothing."""
IMMUTABLE = "private, max-age=31536000, immutable"


class ByteSpan(NamedTuple):
    """The bytes from a start to an end."""

    start: int
    end: int


class _Sending(StreamingResponse):
    """An answer that lets go of what it reads also when it is broken off before its first byte."""

    def __init__(
        self,
        body: AsyncIterator[bytes],
        status: int,
        headers: dict[str, str],
        *,
        media_type: str,
        stack: AsyncExitStack | None,
    ) -> None:
        super().__init__(body, status, headers, media_type=media_type)
        self._stack = stack or AsyncExitStack()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._stack:
            await super().__call__(scope, receive, send)


def read_range(header: str, size_bytes: int) -> ByteSpan | None:
    """Return the one range that is asked for; None for all, and for what we do not understand.

    A range that lies outside comes back empty.
    """
    found = _RANGE.fullmatch(header.strip().lower())
    if not found or not (found[1] or found[2]):
        return None
    if not found[1]:
        return ByteSpan(max(0, size_bytes - int(found[2])), size_bytes)
    start, end = int(found[1]), min(int(found[2]) + 1 if found[2] else size_bytes, size_bytes)
    if found[2] and int(found[2]) < start:
        return None
    return ByteSpan(start, end) if start < size_bytes else ByteSpan(size_bytes, size_bytes)


def attachment(name: str) -> str:
    """Return the header that makes browsers save content under a name, whatever is in it."""
    plain = re.sub(r"[^A-Za-z0-9 ._()-]", "_", name)[:150] or "file"
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def send(
    request: Request,
    download: RangedContent,
    *,
    media_type: str = "application/octet-stream",
    inline: bool = False,
    stack: AsyncExitStack | None = None,
) -> Response:
    """Answer with content, or a range of it.

    `stack` holds what is made for this answer alone: it is sent whole, and closed when the answer has ended.
    """
    headers = {
        "content-security-policy": SANDBOX,
        "content-disposition": "inline" if inline else attachment(download.name),
        "accept-ranges": "none" if stack else "bytes",
    }
    etag = f'"{download.tag}"' if download.tag else ""
    if etag:
        headers["etag"] = etag
        headers["cache-control"] = IMMUTABLE if inline else "private, no-cache"
    if etag and etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    span = _asked_span(request, download, etag) if stack is None else None
    if span is not None and span.start >= span.end:
        headers["content-range"] = f"bytes */{download.size_bytes}"
        return Response(status_code=416, headers=headers)
    start, end = span or ByteSpan(0, download.size_bytes)
    headers["content-length"] = str(end - start)
    if span is not None:
        headers["content-range"] = f"bytes {start}-{end - 1}/{download.size_bytes}"
    status = 206 if span is not None else 200
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers, media_type=media_type)
    body = download.read(start, end)
    return _Sending(body, status, headers, media_type=media_type, stack=stack)


def send_stream(request: Request, body: AsyncGenerator[bytes, None], *, name: str) -> Response:
    """Answer with a zip whose size is known only at its end."""
    headers = {"content-security-policy": SANDBOX, "content-disposition": attachment(name)}
    if request.method == "HEAD":
        return Response(headers=headers, media_type="application/zip")
    return StreamingResponse(body, 200, headers, media_type="application/zip")


def _asked_span(request: Request, download: RangedContent, etag: str) -> ByteSpan | None:
    if request.headers.get("if-range", etag) != etag:
        return None
    return read_range(request.headers.get("range", ""), download.size_bytes)
