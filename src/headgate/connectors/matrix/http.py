"""Requests to a homeserver: one request a call, and each refusal as an error.

matrix-nio builds the requests and holds the connections. Its answers are not used: they drop the headers, and
read files into memory. See docs/decisions/0028-matrix-client.md.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, cast

import aiohttp
from nio import AsyncClient, AsyncClientConfig

from headgate.connectors.matrix.errors import NotUnderstood, Refused
from headgate.connectors.matrix.shapes import Shape, text

MAX_ANSWER_BYTES = 256 * 2**20
MAX_WORDS = 300
_CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True)
class Request:
    """What to ask, as `requests` builds it."""

    method: str
    path: str
    body: str | AsyncIterator[bytes] | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class Homeserver:
    """A homeserver as one account sees it."""

    def __init__(self, address: str, *, token: str = "", timeout_s: float) -> None:
        self.address = address
        self._token = token
        self._timeout_s = timeout_s
        # Waiting and repeating is the core's business: a silent wait would hide a limit from the lanes.
        config = AsyncClientConfig(max_limit_exceeded=0, max_timeouts=0, request_timeout=timeout_s)
        self._client = AsyncClient(address, config=config)

    async def ask(self, request: Request, *, patience_s: float = 0.0) -> Shape:
        """Make a request and return its answer; `patience_s` is how long the server is asked to wait."""
        limits = aiohttp.ClientTimeout(
            total=3 * self._timeout_s + patience_s, sock_read=self._timeout_s + patience_s
        )
        async with self._answer(request, limits) as response:
            return _object(await _read(response))

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Make a request and yield its answer in pieces; one that is cut short raises."""
        limits = aiohttp.ClientTimeout(total=None, sock_connect=self._timeout_s, sock_read=self._timeout_s)
        async with self._answer(request, limits) as response:
            async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
                yield chunk

    async def put_stream(self, request: Request) -> Shape:
        """Make a request whose body may be large, and return its answer."""
        limits = aiohttp.ClientTimeout(
            total=None, sock_connect=self._timeout_s, sock_read=3 * self._timeout_s
        )
        async with self._answer(request, limits) as response:
            return _object(await _read(response))

    async def close(self) -> None:
        await self._client.close()

    @asynccontextmanager
    async def _answer(
        self, request: Request, limits: aiohttp.ClientTimeout
    ) -> AsyncGenerator[aiohttp.ClientResponse, None]:
        headers = {"Content-Type": "application/json", **request.headers}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        send = cast("Any", self._client.send)
        response: aiohttp.ClientResponse = await send(
            request.method, request.path, data=request.body, headers=headers, timeout=limits
        )
        try:
            if response.status != HTTPStatus.OK:
                raise refusal_of(response.status, response.headers, await _read(response))
            yield response
        finally:
            response.close()


async def _read(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            raise NotUnderstood("the homeserver's answer is too long")
    return bytes(body)


def _object(body: bytes) -> Shape:
    try:
        content: object = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise NotUnderstood("the homeserver answered with something else than JSON of the Matrix API")
    return cast("Shape", content)


def refusal_of(status: int, headers: Mapping[str, str], body: bytes) -> Refused:
    """Return the error of an answer that says no."""
    try:
        content = _object(body)
    except NotUnderstood:
        content = {}
    return Refused(
        status,
        text(content, "errcode")[:MAX_WORDS],
        text(content, "error")[:MAX_WORDS],
        retry_after_s=_wait_s(headers, content),
        soft_logout=content.get("soft_logout") is True,
    )


def _wait_s(headers: Mapping[str, str], content: Shape) -> float | None:
    """Return how long the server asks to wait, by its header or its body; the longer if both say."""
    told_ms, header = content.get("retry_after_ms"), headers.get("Retry-After", "")
    waits = [told_ms / 1000] if isinstance(told_ms, int | float) and told_ms > 0 else []
    if header.isdecimal() and int(header) > 0:
        waits.append(float(header))
    return max(waits, default=None)
