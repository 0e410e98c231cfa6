"""Calls to the API: one request a call, never repeated and never slept on; each refusal becomes its error.

Libraries for Discord wait for limits and repeat calls by themselves; here both are the lanes' business.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import cast

import aiohttp

from headgate.connectors.discord.errors import (
    ApiRefused,
    BotLimited,
    ChannelSlowed,
    DiscordError,
    NotAllowed,
    NotThere,
    NotUnderstood,
    SendUnanswered,
    SignInRefused,
    TooMany,
)
from headgate.connectors.discord.shapes import Shape, as_shape, text_in

USER_AGENT = "DiscordBot (headgate, 1)"
_MAX_ANSWER_BYTES = 64 * 2**20
_MIN_WAIT_S = 0.05
_DEFAULT_WAIT_S = 5.0

_SLOW_MODE = 20016
_VERIFY_ACCOUNT = 40002
_FLAGGED_AS_SPAM = 20026
_UNKNOWN_MESSAGE = 10008


class UnknownMessage(NotThere):
    """The channel is there, the message is not."""


@dataclass(frozen=True)
class OutgoingUpload:
    """A file that goes along with a message."""

    path: Path
    name: str
    mime_type: str


class Api:
    """The API as one bot sees it."""

    def __init__(self, address: str, http: aiohttp.ClientSession, *, token: str, timeout_s: float) -> None:
        self._address = address
        self._http = http
        self._headers = {"Authorization": f"Bot {token}", "User-Agent": USER_AGENT}
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> object:
        """Ask for something."""
        async with self._http.get(
            self._address + path,
            params=params or {},
            headers=self._headers,
            timeout=self._timeout,
            allow_redirects=False,
        ) as response:
            return await _answer_of(response)

    async def send(self, path: str, payload: Shape, upload: OutgoingUpload | None = None) -> Shape:
        """Post a message; without a clear answer it may have happened."""
        try:
            if upload is None:
                return as_shape(await self._post(path, aiohttp.JsonPayload(payload)))
            with upload.path.open("rb") as content:
                form = aiohttp.FormData()
                form.add_field("payload_json", json.dumps(payload), content_type="application/json")
                form.add_field("files[0]", content, filename=upload.name, content_type=upload.mime_type)
                return as_shape(await self._post(path, form))
        except aiohttp.ClientConnectorError:
            raise
        except (TimeoutError, ConnectionError, aiohttp.ClientError) as error:
            raise SendUnanswered(f"no answer to a send: {error or type(error).__name__}") from error
        except NotUnderstood as error:
            raise SendUnanswered(f"an answer to a send that makes no sense: {error}") from error
        except ApiRefused as error:
            if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise SendUnanswered(f"Discord failed during a send: {error}") from error
            raise

    async def _post(self, path: str, body: aiohttp.FormData | aiohttp.JsonPayload) -> object:
        async with self._http.post(
            self._address + path,
            data=body,
            headers=self._headers,
            timeout=self._timeout,
            allow_redirects=False,
        ) as response:
            return await _answer_of(response)


async def _answer_of(response: aiohttp.ClientResponse) -> object:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > _MAX_ANSWER_BYTES:
            raise NotUnderstood("Discord's answer is too large")
    content = _parsed(bytes(body))
    if response.status not in (HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.NO_CONTENT):
        shape: Shape = cast("Shape", content) if isinstance(content, dict) else {}
        raise refusal_of(response.status, response.headers, shape)
    if content is None and response.status != HTTPStatus.NO_CONTENT:
        raise NotUnderstood("Discord's answer is no JSON")
    return content


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


@contextmanager
def needing(rights: str) -> Generator[None, None, None]:
    """Name the rights that the calls in the block need, if Discord says no: it does not name them."""
    try:
        yield
    except NotAllowed as error:
        raise NotAllowed(f"{error}. In this channel its role needs {rights}") from error


def refusal_of(status: int, headers: Mapping[str, str], content: Shape) -> DiscordError:
    """Return the error of an answer that says no."""
    code, words = content.get("code"), _words_of(content)
    if code == _SLOW_MODE:
        return ChannelSlowed(_wait_of(headers, content))
    match status:
        case HTTPStatus.TOO_MANY_REQUESTS:
            everywhere = content.get("global") is True or "X-RateLimit-Global" in headers
            return TooMany(_wait_of(headers, content), everywhere=everywhere)
        case HTTPStatus.UNAUTHORIZED:
            return SignInRefused("Discord does not accept the bot's token; reset it in the developer portal")
        case HTTPStatus.FORBIDDEN if code in (_VERIFY_ACCOUNT, _FLAGGED_AS_SPAM):
            return BotLimited(words or "Discord limits this bot")
        case HTTPStatus.FORBIDDEN:
            return NotAllowed(f"The bot may not do this here: {words or 'missing rights'}")
        case HTTPStatus.NOT_FOUND if code == _UNKNOWN_MESSAGE:
            return UnknownMessage(words)
        case HTTPStatus.NOT_FOUND | HTTPStatus.GONE:
            return NotThere(words or "Discord does not know it")
        case _:
            return ApiRefused(status, words)


def _words_of(content: Shape) -> str:
    try:
        return text_in(content, "message")[:500]
    except NotUnderstood:
        return ""


def _wait_of(headers: Mapping[str, str], content: Shape) -> float:
    """Return how long Discord asks to wait; walls in front of it only send the header."""
    for written in (content.get("retry_after"), headers.get("Retry-After")):
        try:
            if written is not None:
                return max(_MIN_WAIT_S, float(str(written)))
        except ValueError:
            continue
    return _DEFAULT_WAIT_S
