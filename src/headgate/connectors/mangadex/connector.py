"""The entry to MangaDex: sign in and out, or open as a guest."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from urllib.parse import urlsplit

import httpx

from headgate.connectors.login_steps import Ask, LoginAttempt, LoginStep, Question, SignedIn
from headgate.connectors.mangadex.answers import new_client
from headgate.connectors.mangadex.errors import SignInRefused, classify
from headgate.connectors.mangadex.http import Api
from headgate.connectors.mangadex.link import MangaDexLink, leads_to_site
from headgate.connectors.mangadex.manifest import MANIFEST
from headgate.connectors.mangadex.tokens import SECRETS, TokenEndpoint, Tokens
from headgate.connectors.protocol import Connector, Link, Manifest, Memory
from headgate.domain.errors import WorkError
from headgate.kernel.clock import Clock
from headgate.kernel.connector_settings import MangaDexSettings

_QUESTIONS = (
    Question("name", "Your name on MangaDex"),
    Question("password", "Your password on MangaDex", secret=True, hint="It is not stored."),
    Question(
        "client_id",
        "Client id of your personal API client",
        hint="Create one on mangadex.org/settings, under API Clients.",
    ),
    Question("client_secret", "Its client secret", secret=True, hint="Get Secret shows it there."),
)


class MangaDexConnector(Connector):
    """Opens accounts of MangaDex; without secrets, as a guest."""

    def __init__(self, settings: MangaDexSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock

    @property
    def manifest(self) -> Manifest:
        return MANIFEST

    async def login(self, attempt: LoginAttempt) -> LoginStep:
        answers = attempt.answers
        if any(question.name not in answers for question in _QUESTIONS):
            return Ask(_QUESTIONS)
        async with self._door() as door:
            granted = await door.sign_in(
                name=answers["name"].strip(),
                password=answers["password"],
                client_id=answers["client_id"].strip(),
                client_secret=answers["client_secret"].strip(),
            )
        if not granted.refresh:
            raise SignInRefused("MangaDex gave no token to renew the sign-in with; check the API client")
        kept = (answers["client_id"].strip(), answers["client_secret"].strip(), granted.refresh)
        return SignedIn(dict(zip(SECRETS, kept, strict=True)), account=answers["name"].strip())

    def owns(self, address: str) -> bool:
        return leads_to_site(address, self._settings.site)

    async def logout(self, account: str, secrets: Mapping[str, str]) -> None:
        if secrets:
            async with self._door() as door:
                await door.sign_out(secrets)

    async def open(self, account: str, secrets: Mapping[str, str], memory: Memory) -> Link:
        if secrets and not all(secrets.get(name) for name in SECRETS):
            raise SignInRefused(f"{account} is not signed in to MangaDex")
        client = new_client(timeout_s=self._settings.timeout_s, certificates=self._certificates)
        door = TokenEndpoint(
            self._settings.auth, client, clock=self._clock, timeout_s=self._settings.timeout_s
        )
        tokens = Tokens(door, secrets) if secrets else None
        api = Api(
            self._settings.api, client, tokens=tokens, clock=self._clock, timeout_s=self._settings.timeout_s
        )
        return MangaDexLink(client, api, site=self._settings.site, clock=self._clock)

    def host_of(self, listing: str) -> str:
        return urlsplit(self._settings.api).netloc.rpartition("@")[2].lower()

    def classify(self, error: BaseException) -> WorkError:
        return classify(error)

    @asynccontextmanager
    async def _door(self) -> AsyncGenerator[TokenEndpoint, None]:
        async with new_client(timeout_s=self._settings.timeout_s, certificates=self._certificates) as client:
            yield TokenEndpoint(
                self._settings.auth, client, clock=self._clock, timeout_s=self._settings.timeout_s
            )

    @cached_property
    def _certificates(self) -> ssl.SSLContext:
        """Read the certificates once: it takes longer than many a call."""
        return httpx.create_ssl_context()
