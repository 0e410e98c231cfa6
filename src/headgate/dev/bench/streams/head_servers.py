"""Stand-ins for Matrix and Discord on loopback: they answer what a check of heads asks for, and count it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import WSMsgType, web

GUILDS = 10
ME = "99"
NEWEST = 10**18
_RIGHTS = str(1 << 10 | 1 << 16)
_IDENTIFY, _HEARTBEAT = 2, 1

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class HeadServer:
    """A server that counts what it is asked; a connection that stays open to listen is not counted."""

    def __init__(self, routes: Sequence[tuple[str, Handler]]) -> None:
        self.calls = 0
        self.url = ""
        self._routes = routes

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[HeadServer, None]:
        app = web.Application(middlewares=[self._count])
        app.add_routes([web.get(path, handler) for path, handler in self._routes])
        runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            await runner.cleanup()

    @web.middleware
    async def _count(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.calls += request.path != "/gateway"
        return await handler(request)


def matrix_server(rooms: Sequence[str]) -> HeadServer:
    """Return a homeserver whose rooms have one message each."""

    async def sync(request: web.Request) -> web.Response:
        asked = json.loads(request.query["filter"])["room"].get("rooms", rooms)
        joined = {room: {"timeline": {"events": [_message(room)], "limited": True}} for room in asked}
        return web.json_response({"next_batch": "s1", "rooms": {"join": joined}})

    return HeadServer([("/_matrix/client/v3/sync", sync)])


def _message(room: str) -> dict[str, Any]:
    return {
        "type": "m.room.message",
        "event_id": f"$of-{room}",
        "sender": "@a:b",
        "origin_server_ts": 1_767_225_600_000,
        "content": {"msgtype": "m.text", "body": "hello"},
    }


def discord_server(channels: Sequence[str]) -> HeadServer:
    """Return the API and the gateway of a bot whose channels lie in ten guilds."""
    guilds = {str(number + 1): _guild(str(number + 1), channels[number::GUILDS]) for number in range(GUILDS)}

    async def list_guilds(_: web.Request) -> web.Response:
        return web.json_response([{"id": guild} for guild in guilds])

    def part(name: str) -> Handler:
        async def answer(request: web.Request) -> web.Response:
            guild = guilds[request.match_info["guild"]]
            return web.json_response(guild if not name else guild[name])

        return answer

    async def no_threads(_: web.Request) -> web.Response:
        return web.json_response({"threads": [], "has_more": False})

    async def member(_: web.Request) -> web.Response:
        return web.json_response({"user": {"id": ME}, "roles": []})

    async def gateway(request: web.Request) -> web.WebSocketResponse:
        return await _serve_gateway(request, list(guilds.values()))

    return HeadServer(
        [
            ("/users/@me/guilds", list_guilds),
            ("/guilds/{guild}", part("")),
            ("/guilds/{guild}/channels", part("channels")),
            ("/guilds/{guild}/threads/active", no_threads),
            ("/guilds/{guild}/members/{user}", member),
            ("/channels/{channel}/threads/archived/public", no_threads),
            ("/gateway", gateway),
        ]
    )


def _guild(guild: str, channels: Sequence[str]) -> dict[str, Any]:
    told = [{"id": key, "type": 0, "name": key, "last_message_id": str(NEWEST)} for key in channels]
    return {
        "id": guild,
        "name": f"guild {guild}",
        "owner_id": "1",
        "roles": [{"id": guild, "permissions": _RIGHTS}],
        "channels": told,
        "members": [{"user": {"id": ME}, "roles": []}],
    }


async def _serve_gateway(request: web.Request, guilds: Sequence[dict[str, Any]]) -> web.WebSocketResponse:
    """Tell all guilds and then one message, so that a listener knows that it has heard everything."""
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    await socket.send_json({"op": 10, "d": {"heartbeat_interval": 40_000}})
    ready: dict[str, Any] = {"user": {"id": ME}, "session_id": "s", "guilds": []}
    message: dict[str, Any] = {
        "id": str(NEWEST + 1),
        "guild_id": guilds[0]["id"],
        "channel_id": guilds[0]["channels"][0]["id"],
        "author": {"id": "7", "username": "a"},
        "content": "hello",
        "attachments": [],
        "timestamp": "2026-01-01T00:00:00+00:00",
    }
    told = [("READY", ready), *(("GUILD_CREATE", guild) for guild in guilds), ("MESSAGE_CREATE", message)]
    async for frame in socket:
        if frame.type is not WSMsgType.TEXT:
            break
        asked = json.loads(frame.data)["op"]
        if asked == _HEARTBEAT:
            await socket.send_json({"op": 11})
        elif asked == _IDENTIFY:
            for number, (name, data) in enumerate(told, start=1):
                await socket.send_json({"op": 0, "t": name, "s": number, "d": data})
    return socket
