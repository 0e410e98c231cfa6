"""The gateway: one session of events, across as many connections as it takes.

Each event of a session has the next number. A connection that breaks is resumed: Discord then tells again
what came meanwhile, under the numbers that it had. So a session without a gap in its numbers has told
everything, and only a session that cannot be resumed leaves a gap behind.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import aiohttp

from headgate.connectors.discord.errors import (
    NO_CONTENT_INTENT,
    ConnectionLost,
    NotUnderstood,
    SignInRefused,
)
from headgate.connectors.discord.shapes import Shape, as_shape, number_in, shape_in, text_in
from headgate.kernel.clock import Clock
from headgate.kernel.logs import get_logger
from headgate.kernel.randomness import Randomness

log = get_logger("connectors")

T = TypeVar("T")

GUILDS, GUILD_MESSAGES, MESSAGE_CONTENT = 1 << 0, 1 << 9, 1 << 15
INTENTS = GUILDS | GUILD_MESSAGES | MESSAGE_CONTENT

_DISPATCH, _HEARTBEAT, _IDENTIFY, _RESUME, _RECONNECT, _INVALID, _HELLO, _ACK = 0, 1, 2, 6, 7, 9, 10, 11
_QUERY = {"v": "10", "encoding": "json"}
_MAX_FRAME_BYTES = 128 * 2**20
_CONNECT_TIMEOUT_S = 20.0
_RESUME_PAUSES_S = (0.0, 1.0, 3.0, 6.0)
_TO_BE_RESUMED = 4000
"""Any close code but 1000 and 1001 keeps a session alive."""
_ENDS_SESSION = frozenset({1000, 1001, 4007, 4009})
_REFUSALS = {
    4004: "Discord does not accept the bot's token; reset it in the developer portal",
    4013: "Discord does not know an intent that Headgate asks for",
    4014: NO_CONTENT_INTENT,
}
_SHARDING = frozenset({4010, 4011})


@dataclass(frozen=True)
class Dispatch:
    """One event of a session."""

    name: str
    data: Shape
    unbroken: bool
    """Nothing is missing between the event before and this one."""


class _Resume(Exception):
    """The connection has ended, and its session may go on."""


class _SessionEnded(Exception):
    """The session has ended; a new one begins without what came meanwhile."""


class GatewaySession:
    """One session of a bot."""

    def __init__(self, address: str, http: aiohttp.ClientSession, *, token: str, clock: Clock) -> None:
        self._address = address
        self._http = http
        self._token = token
        self._clock = clock
        self._randomness = Randomness()
        self._session = ""
        self._number: int | None = None
        self._acknowledged = True

    async def dispatches(self) -> AsyncIterator[Dispatch | None]:
        """Yield the events of a session until it ends; nothing while a connection is being resumed."""
        failures = 0
        while True:
            try:
                async for dispatch in self._one_connection():
                    failures = 0
                    yield dispatch
            except _SessionEnded:
                return
            except (_Resume, aiohttp.ClientError, TimeoutError, OSError) as error:
                failures += 1
                if not self._session or failures >= len(_RESUME_PAUSES_S):
                    raise ConnectionLost(f"the gateway cannot be reached: {error}") from error
                yield None
                await self._clock.sleep(_RESUME_PAUSES_S[failures])

    async def _one_connection(self) -> AsyncIterator[Dispatch]:
        async with self._connect() as socket:
            hello = await self._in_time(self._receive(socket))
            if hello.get("op") != _HELLO:
                raise NotUnderstood("the gateway does not begin with a greeting")
            self._count(hello)
            interval_s = number_in(as_shape(hello.get("d")), "heartbeat_interval") / 1000
            beating = asyncio.create_task(self._keep_beating(socket, interval_s), name="discord heartbeat")
            try:
                await self._introduce(socket)
                while True:
                    dispatch = await self._next(socket)
                    if dispatch is not None:
                        yield dispatch
            finally:
                beating.cancel()
                await asyncio.gather(beating, return_exceptions=True)

    @asynccontextmanager
    async def _connect(self) -> AsyncGenerator[aiohttp.ClientWebSocketResponse, None]:
        socket = await self._in_time(
            self._http.ws_connect(self._address, params=_QUERY, max_msg_size=_MAX_FRAME_BYTES)
        )
        try:
            yield socket
        finally:
            await socket.close(code=_TO_BE_RESUMED)

    async def _introduce(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        if self._session:
            data = {"token": self._token, "session_id": self._session, "seq": self._number}
            await socket.send_json({"op": _RESUME, "d": data})
            return
        properties = {"os": "linux", "browser": "headgate", "device": "headgate"}
        data = {"token": self._token, "intents": INTENTS, "properties": properties}
        await socket.send_json({"op": _IDENTIFY, "d": data})

    async def _next(self, socket: aiohttp.ClientWebSocketResponse) -> Dispatch | None:
        """Take in one frame; one that makes no sense is skipped, and its number is missed by the next."""
        try:
            frame = await self._receive(socket)
            unbroken = self._count(frame)
            if frame.get("op") == _DISPATCH:
                return self._dispatch(frame, unbroken=unbroken)
            await self._obey(socket, frame)
        except NotUnderstood as error:
            log.warning("the gateway sent something unreadable", reason=str(error))
        return None

    async def _obey(self, socket: aiohttp.ClientWebSocketResponse, frame: Shape) -> None:
        """Do what the gateway asks for about the connection itself."""
        op = frame.get("op")
        if op == _HEARTBEAT:
            await self._beat(socket)
        elif op == _ACK:
            self._acknowledged = True
        elif op == _RECONNECT or (op == _INVALID and frame.get("d") is True):
            raise _Resume("the gateway asks to reconnect")
        elif op == _INVALID:
            raise _SessionEnded

    def _count(self, frame: Shape) -> bool:
        """Note the number of a frame; false if one was left out before it."""
        number = frame.get("s")
        if not isinstance(number, int):
            return True
        unbroken = self._number is None or number == self._number + 1
        self._number = number
        return unbroken

    def _dispatch(self, frame: Shape, *, unbroken: bool) -> Dispatch:
        name, shape = text_in(frame, "t"), shape_in(frame, "d")
        if name == "READY":
            self._session = text_in(shape, "session_id")
            self._address = text_in(shape, "resume_gateway_url") or self._address
        return Dispatch(name, shape, unbroken)

    async def _receive(self, socket: aiohttp.ClientWebSocketResponse) -> Shape:
        message = await socket.receive()
        if message.type is aiohttp.WSMsgType.TEXT:
            try:
                return as_shape(json.loads(message.data))
            except ValueError as error:
                raise NotUnderstood("a frame that is no JSON") from error
        if message.type is aiohttp.WSMsgType.BINARY:
            raise NotUnderstood("a frame that is not text")
        raise self._ending(socket.close_code)

    def _ending(self, code: int | None) -> Exception:
        if code in _REFUSALS:
            return SignInRefused(_REFUSALS[code])
        if code in _SHARDING:
            return SignInRefused("The bot is in so many servers that Discord wants it sharded")
        return _SessionEnded() if code in _ENDS_SESSION else _Resume(f"closed with code {code}")

    async def _keep_beating(self, socket: aiohttp.ClientWebSocketResponse, interval_s: float) -> None:
        """Beat as Discord asks; a connection that does not answer is dead, whatever TCP believes."""
        self._acknowledged = True
        await self._clock.sleep(interval_s * self._randomness.uniform(0, 1))
        while self._acknowledged:
            await self._beat(socket)
            await self._clock.sleep(interval_s)
        await socket.close(code=_TO_BE_RESUMED)

    async def _beat(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._acknowledged = False
        await socket.send_json({"op": _HEARTBEAT, "d": self._number})

    async def _in_time(self, waiting: Awaitable[T]) -> T:
        async with self._clock.timeout(_CONNECT_TIMEOUT_S):
            return await waiting
