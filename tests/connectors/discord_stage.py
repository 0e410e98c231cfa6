"""A guild on a real server, a person in it, and the bot that is tested."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import aiohttp
from discord_edge import Edge
from discord_server import EPOCH_MS

from headgate.connectors.discord import DiscordConnector
from headgate.connectors.discord.manifest import SETTLE_MARGIN_S
from headgate.connectors.protocol import Link
from headgate.domain.streams.messages import Message
from headgate.kernel.clock import RealClock
from headgate.kernel.connector_settings import DiscordSettings
from headgate.testing.memory import VolatileMemory

BOT_RIGHTS = 1 << 10 | 1 << 11 | 1 << 15 | 1 << 16 | 1 << 35 | 1 << 38
BOT_NAME = "headgate-bot"


class MovableClock(RealClock):
    """Product time that can be ahead of the server's, so that nobody has to wait for messages to settle."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self.ahead_s)


class Stage:
    """The other side of the platform, and the bot's connector."""

    def __init__(self, edge: Edge) -> None:
        self.edge = edge
        self.clock = MovableClock()
        self.settings = DiscordSettings(api=edge.api, gateway=edge.gateway, epoch_ms=EPOCH_MS, timeout_s=5)
        self.connector = DiscordConnector(self.settings, self.clock)

    async def set_up(self) -> None:
        """Register a person, and make a guild, an application and its bot."""
        person = {
            "username": "alice",
            "email": f"{uuid.uuid4().hex}@example.org",
            "password": "test_passw0rd",
        }
        registered = await self.call(
            "POST", "/auth/register", person | {"date_of_birth": "2000-01-01"}, token=""
        )
        self.person: str = registered["token"]
        self.guild: dict[str, Any] = await self.call("POST", "/guilds", {"name": "Test guild"})
        self.application: str = (await self.call("POST", "/applications", {"name": BOT_NAME}))["id"]
        self.token: str = (await self.call("POST", f"/applications/{self.application}/bot/reset", {}))[
            "token"
        ]
        await self.invite(self.guild["id"])
        self.secrets: Mapping[str, str] = {"token": self.token, "user_id": self.application}

    async def invite(self, guild: str) -> None:
        wish = {"authorize": True, "permissions": str(BOT_RIGHTS), "guild_id": guild}
        await self.call("POST", f"/oauth2/authorize?client_id={self.application}&scope=bot", wish)

    async def call(self, method: str, path: str, body: Any = None, *, token: str | None = None) -> Any:
        """Call the API as the person, or under another token."""
        headers = {"Authorization": self.person if token is None else token}
        data: Any = None
        if isinstance(body, aiohttp.FormData):
            data = body
        elif body is not None:
            data, headers["Content-Type"] = json.dumps(body), "application/json"
        url = f"http://127.0.0.1:{self.edge.upstream}/api/v9{path}"
        if path.endswith("/threads"):
            url = self.edge.api + path
        async with self.edge.http.request(method, url, data=data, headers=headers) as answer:
            content = await answer.read()
            assert answer.status < 300, (method, path, answer.status, content[:500])
            return json.loads(content) if content else None

    async def open(self) -> Link:
        return await self.connector.open("bot", self.secrets, VolatileMemory())

    async def make_channel(self, name: str = "", kind: int = 0, **more: Any) -> str:
        wish = {"name": name or f"channel-{uuid.uuid4().hex[:6]}", "type": kind, **more}
        return (await self.call("POST", f"/guilds/{self.guild['id']}/channels", wish))["id"]

    async def make_thread(self, channel: str, name: str = "A thread") -> str:
        """Let the bot begin a thread: on this server only members of a thread write and hear in it."""
        message = await self.post(channel, "let us talk about this")
        path = f"/channels/{channel}/messages/{message}/threads"
        wish = {"name": name, "auto_archive_duration": 4320}
        return (await self.call("POST", path, wish, token=self.bot_token))["id"]

    async def post(self, channel: str, text: str, *, token: str | None = None) -> str:
        self.clock.ahead_s = 0.0
        path = f"/channels/{channel}/messages"
        return (await self.call("POST", path, {"content": text}, token=token))["id"]

    async def post_files(
        self,
        channel: str,
        files: Sequence[tuple[str, str, bytes]],
        text: str = "",
        *,
        token: str | None = None,
    ) -> str:
        self.clock.ahead_s = 0.0
        form = aiohttp.FormData()
        named = [{"id": str(n), "filename": name} for n, (name, _, _) in enumerate(files)]
        form.add_field("payload_json", json.dumps({"content": text, "attachments": named}))
        for n, (name, mime_type, content) in enumerate(files):
            form.add_field(f"files[{n}]", content, filename=name, content_type=mime_type)
        return (await self.call("POST", f"/channels/{channel}/messages", form, token=token))["id"]

    @property
    def bot_token(self) -> str:
        return f"Bot {self.token}"

    async def edit(self, channel: str, key: str, text: str) -> None:
        await self.call("PATCH", f"/channels/{channel}/messages/{key}", {"content": text})

    async def delete(self, channel: str, key: str) -> None:
        await self.call("DELETE", f"/channels/{channel}/messages/{key}")

    async def history(self, channel: str) -> list[dict[str, Any]]:
        """Return what is in a channel, oldest first, as the person sees it."""
        return list(reversed(await self.call("GET", f"/channels/{channel}/messages?limit=100")))

    def settle(self) -> None:
        self.clock.ahead_s = SETTLE_MARGIN_S + 1

    async def seen(self, link: Link, channel: str, key: str) -> Message:
        message = await link.message(channel, key)
        assert message is not None
        return message


@asynccontextmanager
async def open_stage(port: int) -> AsyncGenerator[Stage]:
    edge = Edge(port)
    await edge.start()
    try:
        stage = Stage(edge)
        await stage.set_up()
        yield stage
    finally:
        await edge.stop()
