"""Calls to the API: one request a call, bounded, with each refusal turned into its error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import cast

import httpx

from headgate.connectors.mangadex.answers import (
    content_of,
    read_body,
    refused_by_address,
    server_time,
)
from headgate.connectors.mangadex.errors import (
    ApiRefused,
    Blocked,
    GuestRefused,
    MangaDexError,
    NotUnderstood,
    SignInRefused,
)
from headgate.connectors.mangadex.shapes import Shape, clean
from headgate.connectors.mangadex.tokens import Tokens
from headgate.kernel.clock import Clock

Params = Sequence[tuple[str, str]]

_CAPTCHA = "captcha"


@dataclass(frozen=True)
class ApiAnswer:
    """What came back, and when by the server's own clock."""

    content: Shape
    at: datetime | None

    def latest(self, now: datetime) -> datetime:
        """Return the later of the server's time and ours: a slow clock here must hold nothing back."""
        return now if self.at is None else max(now, self.at)


class Api:
    """The API as one account sees it, or as a guest."""

    def __init__(
        self,
        address: str,
        client: httpx.AsyncClient,
        *,
        tokens: Tokens | None,
        clock: Clock,
        timeout_s: float,
    ) -> None:
        self._address = address
        self._client = client
        self._tokens = tokens
        self._clock = clock
        self._timeout_s = timeout_s

    @property
    def is_guest(self) -> bool:
        return self._tokens is None

    async def get(self, path: str, params: Params = ()) -> ApiAnswer:
        """Ask for something; an access token that the API takes no longer is renewed once."""
        if self._tokens is None:
            return await self._ask(path, params, token="")
        token = await self._tokens.current()
        try:
            return await self._ask(path, params, token=token)
        except SignInRefused:
            return await self._ask(path, params, token=await self._tokens.renew(token))

    async def _ask(self, path: str, params: Params, *, token: str) -> ApiAnswer:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # The client's own limit is for each piece of an answer; this one is for a server that drips.
        async with (
            self._clock.timeout(3 * self._timeout_s),
            self._client.stream(
                "GET", self._address + path, params=list(params), headers=headers
            ) as response,
        ):
            body = await read_body(response)
        at = server_time(response.headers)
        content = content_of(body)
        if response.status_code != HTTPStatus.OK:
            raise _refusal(response, content, now=at or self._clock.now(), is_guest=not token)
        if content is None or content.get("result") != "ok":
            raise NotUnderstood("MangaDex answered with something else than its API's words")
        return ApiAnswer(content, at)


def _refusal(
    response: httpx.Response, content: Shape | None, *, now: datetime, is_guest: bool
) -> MangaDexError:
    told = content if content is not None and content.get("result") == "error" else None
    known = refused_by_address(response, now=now, in_own_words=told is not None)
    if known is not None:
        return known
    status, words = response.status_code, _words_of(told or {})
    if status == HTTPStatus.FORBIDDEN and (
        _CAPTCHA in words.casefold() or "x-captcha-sitekey" in response.headers
    ):
        return Blocked("MangaDex asks this address for a captcha; open its site in a browser once")
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) and is_guest:
        return GuestRefused(words)
    if status == HTTPStatus.UNAUTHORIZED:
        return SignInRefused(words or "MangaDex does not take this sign-in any longer")
    return ApiRefused(status, words)


def _words_of(content: Shape) -> str:
    """Return what the first error of an answer says: its title and detail."""
    errors = content.get("errors")
    first = cast("list[object]", errors)[0] if isinstance(errors, list) and errors else None
    if not isinstance(first, dict):
        return ""
    told = cast("Shape", first)
    words = [clean(word) for name in ("title", "detail") if isinstance(word := told.get(name), str) and word]
    return ": ".join(words)[:500]
