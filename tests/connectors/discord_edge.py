"""What Discord does in front of its servers, and a compatible server does not: a proxy for the tests.

It enforces nonces, forwards messages with snapshots, serves ranges of files by links that expire, resumes
sessions of the gateway, answers the routes that the server lacks from what the server tells, and breaks
things when a test asks for it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web
from discord_sessions import Sessions, is_active
from discord_translation import Translation

NONCE = re.compile(rb'"nonce": ?"([^"]+)"')
HOP_HEADERS = frozenset({"host", "content-length", "transfer-encoding", "connection", "content-encoding"})
MAY_READ_CONTENT = 1 << 19


@dataclass
class Fault:
    """What happens to the next calls that match."""

    method: str
    path: str
    kind: str
    """`429`, `429-global`, `500`, `reset` (nothing arrives) or `lost` (it arrives, its answer does not)."""
    times: int = 1
    retry_after_s: float = 0.2

    def matches(self, request: web.BaseRequest) -> bool:
        return (
            self.times > 0
            and request.method == self.method
            and re.search(self.path, request.path) is not None
        )


@dataclass
class Edge:
    """The proxy, as tests work it."""

    upstream: int
    faults: list[Fault] = field(default_factory=list[Fault])
    calls: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    enforces_nonces: bool = True
    application_flags: int = MAY_READ_CONTENT
    hidden_histories: set[str] = field(default_factory=set[str])
    _posted: dict[tuple[str, bytes], bytes] = field(default_factory=dict[tuple[str, bytes], bytes])
    _posting: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def start(self) -> None:
        self.http = aiohttp.ClientSession()
        app = web.Application(client_max_size=2**27)
        routes: list[tuple[str, str, Callable[[web.Request], Any]]] = [
            ("GET", "/gateway", self._gateway),
            ("GET", "/media/{path:.*}", self._file),
            ("GET", "/api/v9/applications/@me", self._application),
            ("GET", r"/api/v9/guilds/{guild:\d+}", self._guild),
            ("GET", r"/api/v9/guilds/{guild:\d+}/channels", self._channels),
            ("GET", r"/api/v9/guilds/{guild:\d+}/threads/active", self._active),
            ("GET", r"/api/v9/guilds/{guild:\d+}/members/{user:\d+}", self._member),
            ("GET", r"/api/v9/channels/{channel:\d+}", self._channel),
            ("GET", r"/api/v9/channels/{channel:\d+}/threads/archived/public", self._archived),
            ("GET", r"/api/v9/channels/{channel:\d+}/messages", self._history),
            ("POST", r"/api/v9/channels/{channel:\d+}/messages", self._post),
            ("*", "/api/v9/{path:.*}", self._pass_on),
        ]
        for method, path, handler in routes:
            app.router.add_route(method, path, self._faulty(handler))
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port: int = self._runner.addresses[0][1]
        self.translation = Translation(upstream=self.upstream, port=self.port)
        self.sessions = Sessions(self.http, self.translation, upstream=self.upstream, port=self.port)

    async def stop(self) -> None:
        await self.sessions.close()
        await self._runner.cleanup()
        await self.http.close()

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v9"

    @property
    def gateway(self) -> str:
        return f"ws://127.0.0.1:{self.port}/gateway"

    def count(self, method: str, path: str) -> int:
        return sum(1 for called, at in self.calls if called == method and re.search(path, at))

    def _faulty(self, handler: Callable[[web.Request], Any]) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.StreamResponse:
            self.calls.append((request.method, request.path))
            fault = next((one for one in self.faults if one.matches(request)), None)
            if fault is None:
                return await handler(request)
            fault.times -= 1
            if fault.kind.startswith("429"):
                return _too_many(fault)
            if fault.kind == "500":
                return web.Response(status=500, text="upstream connect error")
            if fault.kind == "lost":
                await handler(request)
            assert request.transport is not None
            request.transport.abort()
            return web.Response()

        return handle

    async def _gateway(self, request: web.Request) -> web.StreamResponse:
        return await self.sessions.serve(request)

    async def _upstream(
        self, method: str, path: str, headers: Any, body: bytes | None = None
    ) -> web.Response:
        sent = {name: value for name, value in headers.items() if name.lower() not in HOP_HEADERS}
        url = f"http://127.0.0.1:{self.upstream}{path}"
        async with self.http.request(method, url, headers=sent, data=body) as answer:
            content = await answer.read()
            kind = answer.headers.get("Content-Type", "text/plain")
        if kind.startswith("application/json"):
            content = json.dumps(self.translation.translate(json.loads(content))).encode()
        return web.Response(status=answer.status, body=content, headers={"Content-Type": kind})

    async def _pass_on(self, request: web.Request) -> web.Response:
        answer = await self._upstream(
            request.method, request.path_qs, request.headers, await request.read() or None
        )
        if request.method == "POST" and request.path.endswith("/threads") and answer.status == 200:
            self.sessions.threads.append(json.loads(answer.body)["id"])  # pyright: ignore[reportArgumentType]
        return answer

    async def _ask(self, request: web.Request, path: str) -> Any:
        token = {"Authorization": request.headers["Authorization"]}
        answer = await self._upstream("GET", f"/api/v9{path}", token)
        if answer.status != 200:
            raise web.HTTPNotFound(text=json.dumps({"code": 10003}), content_type="application/json")
        return json.loads(answer.body)  # pyright: ignore[reportArgumentType]

    async def _snapshot(self, request: web.Request) -> dict[str, Any]:
        for guild in await self.sessions.snapshot(_token_of(request)):
            if guild["id"] == request.match_info["guild"]:
                return guild
        raise web.HTTPNotFound(text=json.dumps({"code": 10004}), content_type="application/json")

    async def _application(self, request: web.Request) -> web.Response:
        me = await self._ask(request, "/users/@me")
        return web.json_response({"id": me["id"], "flags": self.application_flags})

    async def _guild(self, request: web.Request) -> web.Response:
        guild = await self._snapshot(request)
        return web.json_response({name: guild[name] for name in ("id", "name", "owner_id", "roles")})

    async def _channels(self, request: web.Request) -> web.Response:
        return web.json_response((await self._snapshot(request))["channels"])

    async def _member(self, request: web.Request) -> web.Response:
        return web.json_response((await self._snapshot(request))["members"][0])

    async def _known_threads(self, request: web.Request) -> list[dict[str, Any]]:
        return await self.sessions.find_threads(_token_of(request))

    async def _channel(self, request: web.Request) -> web.Response:
        found = await self.sessions.find_channel(request.match_info["channel"], _token_of(request))
        if found is None:
            raise web.HTTPNotFound(text=json.dumps({"code": 10003}), content_type="application/json")
        return web.json_response(found)

    async def _active(self, request: web.Request) -> web.Response:
        guild = request.match_info["guild"]
        threads = [one for one in await self._known_threads(request) if one["guild_id"] == guild]
        return web.json_response({"threads": [one for one in threads if is_active(one)], "members": []})

    async def _archived(self, request: web.Request) -> web.Response:
        parent = request.match_info["channel"]
        threads = [one for one in await self._known_threads(request) if one["parent_id"] == parent]
        archived = [one for one in threads if not is_active(one)]
        return web.json_response({"threads": archived, "members": [], "has_more": False})

    async def _history(self, request: web.Request) -> web.Response:
        """Discord shows an empty history to those who may not read it."""
        if request.match_info["channel"] in self.hidden_histories:
            return web.json_response([])
        return await self._pass_on(request)

    async def _post(self, request: web.Request) -> web.Response:
        body = await request.read()
        nonce = NONCE.search(body)
        if nonce is None or b'"enforce_nonce": true' not in body or not self.enforces_nonces:
            return await self._deliver(request, body)
        key = request.headers["Authorization"], nonce[1]
        async with self._posting:
            if key in self._posted:
                return web.Response(body=self._posted[key], content_type="application/json")
            answer = await self._deliver(request, body)
            if answer.status == 200:
                assert isinstance(answer.body, bytes)
                self._posted[key] = answer.body
            return answer

    async def _deliver(self, request: web.Request, body: bytes) -> web.Response:
        is_json = request.content_type == "application/json"
        reference = json.loads(body).get("message_reference") if is_json else None
        if not reference or reference.get("type") != 1:
            return await self._upstream("POST", request.path, request.headers, body)
        source = await self._ask(
            request, f"/channels/{reference['channel_id']}/messages/{reference['message_id']}"
        )
        text = json.dumps({"content": f"forward of {reference['message_id']}"}).encode()
        answer = await self._upstream("POST", request.path, request.headers, text)
        assert isinstance(answer.body, bytes)
        message = json.loads(answer.body)
        self.translation.snapshots[message["id"]] = (reference, source)
        return web.json_response(self.translation.translate(message))

    async def _file(self, request: web.Request) -> web.Response:
        if not self.translation.is_good(request.query_string):
            return web.Response(status=404, text="This content is no longer available.")
        answer = await self._upstream("GET", request.path, {})
        content = answer.body
        assert isinstance(content, bytes)
        wanted = re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range", ""))
        if answer.status != 200 or wanted is None:
            return answer
        start = int(wanted[1])
        if start >= len(content):
            return web.Response(status=416)
        span = f"bytes {start}-{len(content) - 1}/{len(content)}"
        return web.Response(status=206, body=content[start:], headers={"Content-Range": span})


def _token_of(request: web.Request) -> str:
    return request.headers["Authorization"].removeprefix("Bot ")


def _too_many(fault: Fault) -> web.Response:
    everywhere = fault.kind == "429-global"
    content = {
        "message": "You are being rate limited.",
        "retry_after": fault.retry_after_s,
        "global": everywhere,
    }
    headers = {
        "Retry-After": str(fault.retry_after_s),
        "X-RateLimit-Scope": "global" if everywhere else "user",
    }
    return web.json_response(content, status=429, headers=headers)
