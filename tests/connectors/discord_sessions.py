"""Sessions of the gateway as Discord has them: numbered, kept for a while, resumed.

The server's own resumption tells nothing of what was missed, so each session holds one connection to it
for as long as the session lasts, and what comes meanwhile is told again.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import aiohttp
from aiohttp import web
from discord_translation import Translation

HEARTBEAT_MS = 41_250
THREAD = 11
KNOWN_OPS = {"identify": 2, "resume": 6, "heartbeat": 1}


@dataclass
class Session:
    """One session, with a client or waiting for one."""

    key: str
    upstream: aiohttp.ClientWebSocketResponse
    told: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    client: web.WebSocketResponse | None = None
    transport: asyncio.Transport | None = None
    pump: asyncio.Task[None] | None = None
    swallow: int = 0
    """So many of the next events are numbered and never told."""

    async def tell(self, name: str, data: Any) -> None:
        number = len(self.told) + 1
        text = json.dumps({"op": 0, "t": name, "s": number, "d": data})
        self.told.append((number, text))
        if self.swallow:
            self.swallow -= 1
        elif self.client is not None and not self.client.closed:
            try:
                await self.client.send_str(text)
            except ConnectionError:
                self.client = None


class Sessions:
    """All sessions of the proxy."""

    def __init__(
        self, http: aiohttp.ClientSession, translation: Translation, *, upstream: int, port: int
    ) -> None:
        self._http = http
        self._translation = translation
        self._upstream = upstream
        self._port = port
        self._numbers = count(1)
        self.open: dict[str, Session] = {}
        self.threads: list[str] = []
        """All threads that were begun; the server does not list them."""
        self.identified = 0
        self._identified_again = asyncio.Event()
        self.resumed = 0
        self.refuses_with: int | None = None
        """The code with which new sessions are closed."""

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        client = web.WebSocketResponse()
        await client.prepare(request)
        await client.send_json({"op": 10, "d": {"heartbeat_interval": HEARTBEAT_MS}})
        async for frame in client:
            if frame.type is not aiohttp.WSMsgType.TEXT:
                break
            asked = json.loads(frame.data)
            if asked["op"] == KNOWN_OPS["heartbeat"]:
                await client.send_json({"op": 11})
            elif asked["op"] == KNOWN_OPS["identify"]:
                session = await self._identify(client, asked["d"]["token"])
                _attach(session, request)
                if session is not None:
                    self._note_identified()
            elif asked["op"] == KNOWN_OPS["resume"]:
                session = await self._resume(client, asked["d"])
                _attach(session, request)
                self.resumed += session is not None
        return client

    async def until_identified(self, number: int) -> None:
        """Wait until so many sessions have begun."""
        while self.identified < number:
            await self._identified_again.wait()

    def _note_identified(self) -> None:
        self.identified += 1
        self._identified_again.set()
        self._identified_again = asyncio.Event()

    async def snapshot(self, token: str) -> list[dict[str, Any]]:
        """Return the guilds of a bot in the shape of GUILD_CREATE, as they are now."""
        upstream, ready = await self._enter(token)
        await upstream.close()
        return [] if ready is None else await self._guilds_of(ready, token)

    def drop(self, *, resumable: bool = True) -> None:
        """Cut all connections; sessions wait to be resumed, or are gone."""
        for session in list(self.open.values()):
            if session.client is not None:
                session.client = None
                if session.transport is not None:
                    session.transport.abort()
            if not resumable:
                self._end(session)

    async def close(self) -> None:
        for session in list(self.open.values()):
            self._end(session)
            await session.upstream.close()

    def _end(self, session: Session) -> None:
        self.open.pop(session.key, None)
        if session.pump is not None:
            session.pump.cancel()

    async def _enter(self, token: str) -> tuple[aiohttp.ClientWebSocketResponse, dict[str, Any] | None]:
        upstream = await self._http.ws_connect(
            f"ws://127.0.0.1:{self._upstream}/gateway/", max_msg_size=2**26
        )
        await upstream.receive()
        await upstream.send_json({"op": 2, "d": {"token": token, "properties": {}}})
        while (frame := await upstream.receive()).type is aiohttp.WSMsgType.TEXT:
            told = json.loads(frame.data)
            if told.get("t") == "READY":
                return upstream, self._translation.translate(told["d"])
        return upstream, None

    async def _identify(self, client: web.WebSocketResponse, token: str) -> Session | None:
        if self.refuses_with is not None:
            await client.close(code=self.refuses_with)
            return None
        upstream, ready = await self._enter(token)
        if ready is None:
            await client.close(code=4004)
            return None
        session = Session(f"session-{next(self._numbers)}", upstream, client=client)
        self.open[session.key] = session
        guilds = await self._guilds_of(ready, token)
        gateway = f"ws://127.0.0.1:{self._port}/gateway"
        named = [{"id": guild["id"], "unavailable": True} for guild in guilds]
        greeting = {"user": ready["user"], "session_id": session.key, "resume_gateway_url": gateway}
        await session.tell("READY", greeting | {"guilds": named})
        for guild in guilds:
            await session.tell("GUILD_CREATE", guild)
        session.pump = asyncio.create_task(self._pump(session))
        return session

    async def _resume(self, client: web.WebSocketResponse, asked: dict[str, Any]) -> Session | None:
        session = self.open.get(asked["session_id"])
        if session is None:
            await client.send_json({"op": 9, "d": False})
            return None
        for number, text in list(session.told):
            if number > asked["seq"]:
                await client.send_str(text)
        session.client = client
        await session.tell("RESUMED", {})
        return session

    async def _pump(self, session: Session) -> None:
        async for frame in session.upstream:
            told = json.loads(frame.data)
            if told.get("op") == 0:
                await session.tell(told["t"], self._translation.translate(told["d"]))

    async def find_channel(self, channel: str, token: str) -> dict[str, Any] | None:
        """Return a channel or thread as Discord would tell it."""
        url = f"http://127.0.0.1:{self._upstream}/api/v9/channels/{channel}"
        async with self._http.get(url, headers={"Authorization": f"Bot {token}"}) as answer:
            if answer.status != 200:
                return None
            found: dict[str, Any] = self._translation.translate(await answer.json())
        await self._correct_head(found, token)
        return found

    async def find_threads(self, token: str) -> list[dict[str, Any]]:
        found = [await self.find_channel(thread, token) for thread in self.threads]
        return [thread for thread in found if thread is not None]

    async def _correct_head(self, channel: dict[str, Any], token: str) -> None:
        """Name the newest message: the server names the oldest, and none of a thread."""
        if "last_message_id" in channel or channel["type"] == THREAD:
            url = f"http://127.0.0.1:{self._upstream}/api/v9/channels/{channel['id']}/messages?limit=1"
            async with self._http.get(url, headers={"Authorization": f"Bot {token}"}) as answer:
                newest: list[dict[str, Any]] = await answer.json() if answer.status == 200 else []
            channel["last_message_id"] = newest[0]["id"] if newest else None

    async def _guilds_of(self, ready: dict[str, Any], token: str) -> list[dict[str, Any]]:
        """Add what Discord tells: the threads in use, and the bot's membership (its role bears its name)."""
        me, threads = ready["user"], await self.find_threads(token)
        guilds = [guild | guild.get("properties", {}) for guild in ready["guilds"]]
        for guild in guilds:
            managed = [role for role in guild["roles"] if role["managed"]]
            roles = [role["id"] for role in managed if role["name"] == me["username"]]
            guild["members"] = [{"user": {"id": me["id"]}, "roles": roles}]
            for channel in guild["channels"]:
                await self._correct_head(channel, token)
            guild["threads"] = [one for one in threads if one["guild_id"] == guild["id"] and is_active(one)]
        return guilds


def is_active(thread: dict[str, Any]) -> bool:
    return not thread["thread_metadata"]["archived"]


def _attach(session: Session | None, request: web.Request) -> None:
    if session is not None:
        assert isinstance(request.transport, asyncio.Transport)
        session.transport = request.transport
