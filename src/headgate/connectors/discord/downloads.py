"""Files, from any offset on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from http import HTTPStatus

import aiohttp

from headgate.connectors.discord.errors import ApiRefused, LinkExpired, NotThere, TooMany
from headgate.connectors.discord.file_links import expires_at
from headgate.connectors.discord.rest import USER_AGENT
from headgate.kernel.clock import Clock

_CHUNK_BYTES = 2**18
_WAIT_S = 5.0


async def download_file(
    http: aiohttp.ClientSession, link: str, *, offset: int, clock: Clock, timeout_s: float
) -> AsyncIterator[bytes]:
    """Yield a file's bytes from an offset; what breaks off is an error, what has run out says so."""
    ends_at = expires_at(link)
    if ends_at is not None and ends_at <= clock.now():
        raise LinkExpired("the link to the file has expired")
    headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
    timeout = aiohttp.ClientTimeout(total=None, connect=timeout_s, sock_read=timeout_s)
    async with http.get(link, headers=headers, timeout=timeout) as response:
        if response.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return
        _check(response)
        # A server that ignores ranges begins at the first byte.
        skip = offset if response.status == HTTPStatus.OK else 0
        async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
            if len(chunk) > skip:
                yield chunk[skip:]
            skip = max(0, skip - len(chunk))


def _check(response: aiohttp.ClientResponse) -> None:
    status = response.status
    if status in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
        return
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN, HTTPStatus.GONE):
        raise NotThere("the file is not on Discord any more")
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        raise TooMany(_WAIT_S)
    raise ApiRefused(status)
