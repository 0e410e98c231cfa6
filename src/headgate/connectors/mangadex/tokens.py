"""The sign-in: tokens are granted for a password once, and renewed without it from then on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

import httpx

from headgate.connectors.mangadex.answers import content_of, read_body, refused_by_address, server_time
from headgate.connectors.mangadex.errors import MangaDexError, NotUnderstood, SignInRefused
from headgate.connectors.mangadex.shapes import Shape, clean
from headgate.kernel.clock import Clock

_USUAL_LIFE_S = 900.0
_RENEW_BEFORE_S = 60.0

SECRETS = ("client_id", "client_secret", "refresh_token")
"""What is stored of a sign-in; the password never is."""


@dataclass(frozen=True)
class Granted:
    """An access token with its life, and the token that gets the next one."""

    access: str
    refresh: str
    life_s: float


class TokenEndpoint:
    """The address that signs accounts in and out."""

    def __init__(self, address: str, client: httpx.AsyncClient, *, clock: Clock, timeout_s: float) -> None:
        self._address = address
        self._client = client
        self._timeout_s = timeout_s
        self.clock = clock

    async def sign_in(self, *, name: str, password: str, client_id: str, client_secret: str) -> Granted:
        form = {"grant_type": "password", "username": name, "password": password}
        return await self._grant({**form, "client_id": client_id, "client_secret": client_secret})

    async def renew(self, secrets: Mapping[str, str]) -> Granted:
        return await self._grant({"grant_type": "refresh_token", **_form_of(secrets)})

    async def sign_out(self, secrets: Mapping[str, str]) -> None:
        """End the session; one that has ended already is no error."""
        try:
            await self._post("/logout", _form_of(secrets))
        except SignInRefused:
            return

    async def _grant(self, form: Mapping[str, str]) -> Granted:
        told = await self._post("/token", form) or {}
        access, refresh, life_s = told.get("access_token"), told.get("refresh_token"), told.get("expires_in")
        if not isinstance(access, str) or not access:
            raise NotUnderstood("the sign-in of MangaDex answered without a token")
        return Granted(
            access,
            refresh if isinstance(refresh, str) and refresh else form.get("refresh_token", ""),
            float(life_s) if isinstance(life_s, int | float) and life_s > 0 else _USUAL_LIFE_S,
        )

    async def _post(self, path: str, form: Mapping[str, str]) -> Shape | None:
        async with (
            self.clock.timeout(3 * self._timeout_s),
            self._client.stream("POST", self._address + path, data=dict(form)) as response,
        ):
            content = content_of(await read_body(response))
        if response.status_code not in (HTTPStatus.OK, HTTPStatus.NO_CONTENT):
            raise self._refusal(response, content)
        return content

    def _refusal(self, response: httpx.Response, content: Shape | None) -> MangaDexError:
        error = content.get("error") if content is not None else None
        now = server_time(response.headers) or self.clock.now()
        known = refused_by_address(response, now=now, in_own_words=isinstance(error, str))
        if known is not None:
            return known
        words = (content or {}).get("error_description")
        reason = clean(words if isinstance(words, str) and words else str(error))[:200]
        return SignInRefused(f"MangaDex refuses the sign-in: {reason}")


class Tokens:
    """The access token of one account, renewed shortly before it lapses."""

    def __init__(self, door: TokenEndpoint, secrets: Mapping[str, str]) -> None:
        self._door = door
        self._secrets = dict(secrets)
        self._access = ""
        self._renew_at_s = 0.0
        self._renewing = asyncio.Lock()

    async def current(self) -> str:
        if self._access and self._door.clock.monotonic() < self._renew_at_s:
            return self._access
        return await self.renew(self._access)

    async def renew(self, used: str) -> str:
        """Return another token than the one that was used; calls at the same time renew it once."""
        async with self._renewing:
            if self._access == used:
                began_s = self._door.clock.monotonic()
                granted = await self._door.renew(self._secrets)
                self._access = granted.access
                self._secrets["refresh_token"] = granted.refresh
                self._renew_at_s = began_s + max(granted.life_s - _RENEW_BEFORE_S, granted.life_s / 2)
            return self._access


def _form_of(secrets: Mapping[str, str]) -> dict[str, str]:
    return {name: secrets.get(name, "") for name in SECRETS}
