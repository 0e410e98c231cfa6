"""The entry to Discord: a bot and its token."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp

from headgate.connectors.discord.errors import (
    NO_CONTENT_INTENT,
    ApiRefused,
    NotThere,
    SignInRefused,
    classify,
)
from headgate.connectors.discord.link import DiscordLink
from headgate.connectors.discord.manifest import MANIFEST
from headgate.connectors.discord.rest import Api
from headgate.connectors.discord.shapes import Shape, as_shape, flag_in, id_in, number_in, text_in
from headgate.connectors.login_steps import Ask, LoginAttempt, LoginStep, Question, SignedIn
from headgate.connectors.protocol import Connector, Link, Manifest, Memory
from headgate.domain.errors import WorkError
from headgate.kernel.clock import Clock
from headgate.kernel.connector_settings import DiscordSettings

_TOKEN = Question(
    "token",
    "Token of the bot",
    secret=True,
    hint="On discord.com/developers/applications choose the application, then Bot, then Reset Token.",
)
_MAY_READ_CONTENT = 1 << 18 | 1 << 19
"""The message content intent: approved by Discord, or switched on for a bot in few servers."""


class DiscordConnector(Connector):
    """Opens bots."""

    def __init__(self, settings: DiscordSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock

    @property
    def manifest(self) -> Manifest:
        return MANIFEST

    async def login(self, attempt: LoginAttempt) -> LoginStep:
        if "token" not in attempt.answers:
            return Ask((_TOKEN,))
        token = attempt.answers["token"].strip().removeprefix("Bot ").strip()
        async with aiohttp.ClientSession() as http:
            bot = await self._check(self._api(http, token))
        return SignedIn({"token": token, "user_id": str(id_in(bot))}, account=text_in(bot, "username"))

    async def logout(self, account: str, secrets: Mapping[str, str]) -> None:
        """Nothing ends on Discord: a bot's token is good until it is reset in the developer portal."""

    async def open(self, account: str, secrets: Mapping[str, str], memory: Memory) -> Link:
        token, me = secrets.get("token", ""), secrets.get("user_id", "")
        if not token or not me:
            raise SignInRefused(f"{account} is not signed in to Discord")
        return DiscordLink(aiohttp.ClientSession(), self._settings, self._clock, token=token, me=int(me))

    def host_of(self, listing: str) -> str:
        return "discord.com"

    def classify(self, error: BaseException) -> WorkError:
        return classify(error)

    async def _check(self, api: Api) -> Shape:
        """Return whose token it is; refuse what is no bot, or cannot read what people write."""
        user = as_shape(await api.get("/users/@me"))
        if not flag_in(user, "bot"):
            raise SignInRefused("This is the token of a person; Discord allows only bots to be automated")
        try:
            application = as_shape(await api.get("/applications/@me"))
        except (NotThere, ApiRefused):
            # Compatible servers may have neither applications nor intents.
            return user
        if not number_in(application, "flags") & _MAY_READ_CONTENT:
            raise SignInRefused(NO_CONTENT_INTENT)
        return user

    def _api(self, http: aiohttp.ClientSession, token: str) -> Api:
        return Api(self._settings.api, http, token=token, timeout_s=self._settings.timeout_s)
