"""The Discord connector keeps to the suite of all connectors, on a real Discord-compatible server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

import aiohttp
import pytest
from discord_stage import Stage

from headgate.connectors.discord import DiscordConnector, errors
from headgate.connectors.login_steps import LoginAttempt, SignedIn
from headgate.connectors.protocol import Connector, Link
from headgate.domain.errors import (
    Ambiguous,
    AuthFailed,
    Gone,
    Malformed,
    RateLimited,
    Restricted,
    SlowMode,
    Transient,
    WorkError,
)
from headgate.domain.streams.messages import Message
from headgate.testing.conformance import ConnectorConformance, ConnectorUnderTest
from headgate.testing.memory import VolatileMemory

pytestmark = [pytest.mark.once, pytest.mark.long]


class DiscordUnderTest(ConnectorUnderTest):
    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.connector = stage.connector
        self.account = "bot"

    async def login_answers(self) -> Mapping[str, str]:
        return {"token": self.stage.token}

    async def new_connector(self) -> Connector:
        return DiscordConnector(self.stage.settings, self.stage.clock)

    async def open(self) -> None:
        self.link: Link = await self.stage.open()

    async def reopen(self) -> Link:
        return await self.stage.open()

    async def make_stream(self, count: int) -> str:
        channel = await self.stage.make_channel()
        for n in range(count):
            if n % 10 == 3:
                await self.stage.post_files(channel, [(f"{n}.txt", "text/plain", b"text")], f"file {n}")
            else:
                await self.stage.post(channel, f"message {n}")
        return channel

    async def post(self, stream: str, *, text: str) -> Message:
        return await self.stage.seen(self.link, stream, await self.stage.post(stream, text))

    async def post_file(self, stream: str, *, name: str, mime_type: str, content: bytes) -> Message:
        key = await self.stage.post_files(stream, [(name, mime_type, content)])
        return await self.stage.seen(self.link, stream, key)

    async def edit(self, stream: str, key: str, *, text: str) -> None:
        await self.stage.edit(stream, key, text)

    async def delete(self, stream: str, key: str) -> None:
        await self.stage.delete(stream, key)

    async def settle(self) -> None:
        self.stage.settle()

    async def pause(self) -> None:
        await asyncio.sleep(0.05)

    async def drop_connections(self) -> None:
        self.stage.edge.sessions.drop(resumable=False)

    async def make_target(self) -> str:
        return await self.stage.make_channel()

    async def texts_at(self, target: str) -> Sequence[str]:
        return [message["content"] for message in await self.stage.history(target)]

    def library_errors(self) -> Sequence[tuple[BaseException, type[WorkError]]]:
        return [
            (errors.TooMany(0.3), RateLimited),
            (errors.TooMany(12, everywhere=True), RateLimited),
            (errors.ChannelSlowed(5), SlowMode),
            (errors.SignInRefused("the token is wrong"), AuthFailed),
            (errors.BotLimited("flagged"), Restricted),
            (errors.NotAllowed("missing access"), Gone),
            (errors.NotThere("unknown channel"), Gone),
            (errors.UploadLapsed("not in the spool"), Gone),
            (errors.LinkExpired("expired"), Transient),
            (errors.SendUnanswered("no answer"), Ambiguous),
            (errors.ConnectionLost("closed"), Transient),
            (errors.ApiRefused(400, "invalid form body"), Malformed),
            (errors.ApiRefused(503), Transient),
            (errors.NotUnderstood("no id"), Malformed),
            (TimeoutError(), Transient),
            (aiohttp.ClientPayloadError("broken off"), Transient),
            (aiohttp.ServerDisconnectedError(), Transient),
        ]


@pytest.fixture
async def under_test(discord_stage: Stage) -> AsyncIterator[ConnectorUnderTest]:
    harness = DiscordUnderTest(discord_stage)
    await harness.open()
    yield harness
    await harness.link.close()


class TestDiscord(ConnectorConformance):
    """Every check."""

    async def test_after_a_logout_only_a_login_opens_the_account(
        self, under_test: ConnectorUnderTest
    ) -> None:
        """A bot has no sessions: signing out ends nothing on Discord, and Headgate forgets the token."""
        secrets = await under_test.connector.login(LoginAttempt(answers=await under_test.login_answers()))
        assert isinstance(secrets, SignedIn)
        for _ in range(2):
            await under_test.connector.logout(under_test.account, secrets.secrets)
        with pytest.raises(errors.SignInRefused, match="not signed in"):
            await under_test.connector.open(under_test.account, {}, VolatileMemory())


def test_every_error_of_the_connector_is_in_the_suite() -> None:
    examples = {type(error) for error, _ in DiscordUnderTest.library_errors(object.__new__(DiscordUnderTest))}
    known = {
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type)
        and issubclass(kind, errors.DiscordError)
        and kind is not errors.DiscordError
    }
    assert known <= examples
