"""HTTP/1.1 as far as feeds need it: GET over connections that are judged, bounded and used again.

Most polls find nothing new, so a request must cost little (decision 12). This client knows no cookies,
proxies, redirects or encodings; `fetching` does what is needed of that, and bounds the time.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from headgate.connectors.resolving import PrivateAddress, UnknownName, resolve_allowed
from headgate.domain.errors import Malformed, Transient

MAX_HEAD_BYTES = 65_536
MAX_HEADERS = 200
MAX_IDLE = 20
IDLE_S = 5.0
_ONE_OF_MANY_S = 5.0
_PIECE_BYTES = 65_536

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(rb"HTTP/1\.([01]) (\d{3})(?: .*)?")
_CHUNK_SIZE = re.compile(rb"\s*([0-9a-fA-F]{1,12})\s*(?:;.*)?")
_UNSENDABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_WITHOUT_BODY = {204, 304}


@dataclass(frozen=True)
class Origin:
    """Whom to connect to."""

    host: str
    port: int
    secure: bool


@dataclass
class _Wire:
    """One open connection, and what came over it and was not read yet."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    waiting: bytes = b""
    stale: bool = False
    """It has carried an answer before, and nothing since: its server may have closed it."""
    expiry: asyncio.TimerHandle | None = None

    async def receive(self) -> bytes:
        """Return what comes next; nothing at the end."""
        if self.waiting:
            piece, self.waiting = self.waiting, b""
            return piece
        try:
            piece = await self.reader.read(_PIECE_BYTES)
        except (OSError, EOFError) as error:
            raise _broke_off() from error
        self.stale = self.stale and not piece
        return piece

    async def receive_until(self, end: re.Pattern[bytes], *, most: int) -> bytes:
        """Return what comes before an end, which is left out."""
        received = b""
        while not (found := end.search(received)):
            if len(received) > most:
                raise Malformed("the server answers with an endless header")
            piece = await self.receive()
            if not piece:
                raise _broke_off()
            received += piece
        self.waiting = received[found.end() :]
        return received[: found.start()]

    def close(self) -> None:
        if self.expiry is not None:
            self.expiry.cancel()
        self.writer.close()


@dataclass
class Response:
    """An answer whose body is still to be read."""

    status: int
    headers: Mapping[str, str]
    """Names in small letters; of what was said twice both, with a comma between."""
    _wire: _Wire
    _keeps: bool
    whole: bool = False
    """The body was read to its end."""

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def reusable(self) -> bool:
        return self._keeps and self.whole and not self._wire.waiting

    async def pieces(self) -> AsyncIterator[bytes]:
        """Go through the body as it comes."""
        if self.status in _WITHOUT_BODY:
            parts = _nothing()
        elif "chunked" in self.headers.get("transfer-encoding", "").lower():
            parts = self._chunks()
        elif (length := self.headers.get("content-length")) is not None:
            parts = self._exactly(_length(length))
        else:
            parts = self._until_close()
        async for piece in parts:
            yield piece
        self.whole = True

    async def _exactly(self, left: int) -> AsyncIterator[bytes]:
        wire = self._wire
        while left > 0:
            piece = await wire.receive()
            if not piece:
                raise _broke_off()
            if len(piece) > left:
                piece, wire.waiting = piece[:left], piece[left:]
            left -= len(piece)
            yield piece

    async def _chunks(self) -> AsyncIterator[bytes]:
        line_end = re.compile(rb"\r?\n")
        while True:
            line = await self._wire.receive_until(line_end, most=1000)
            size = _CHUNK_SIZE.fullmatch(line)
            if size is None:
                raise Transient("the server's answer is in pieces that do not fit together")
            if int(size[1], 16) == 0:
                break
            async for piece in self._exactly(int(size[1], 16)):
                yield piece
            if await self._wire.receive_until(line_end, most=10):
                raise Transient("the server's answer is in pieces that do not fit together")
        for _ in range(MAX_HEADERS):
            if not await self._wire.receive_until(line_end, most=MAX_HEAD_BYTES):
                return
        raise Malformed("the server answers with an endless header")

    async def _until_close(self) -> AsyncIterator[bytes]:
        self._keeps = False
        while piece := await self._wire.receive():
            yield piece


@dataclass
class Http1:
    """The connections of one link."""

    certificates: ssl.SSLContext
    allow_private: bool = False
    _idle: OrderedDict[int, tuple[Origin, _Wire]] = field(
        default_factory=OrderedDict[int, tuple[Origin, _Wire]]
    )

    @asynccontextmanager
    async def get(
        self, origin: Origin, target: bytes, headers: Mapping[str, str]
    ) -> AsyncGenerator[Response, None]:
        """Ask for a document, and give the answer in the block."""
        request = _request(target, headers)
        wire = self._take_idle(origin) or await self._connect(origin)
        try:
            response = await self._ask(wire, request)
        except Transient:
            if not wire.stale:
                raise
            wire = await self._connect(origin)
            response = await self._ask(wire, request)
        try:
            yield response
            if response.status in _WITHOUT_BODY:
                response.whole = True
        finally:
            self._put(origin, wire, keep=response.reusable)

    def close(self) -> None:
        for _, wire in self._idle.values():
            wire.close()
        self._idle.clear()

    async def _ask(self, wire: _Wire, request: bytes) -> Response:
        try:
            wire.writer.write(request)
            await wire.writer.drain()
            while True:
                head = await wire.receive_until(_HEAD_END, most=MAX_HEAD_BYTES)
                response = _read_head(head, wire)
                if response.status >= 200:
                    return response
        except OSError as error:
            wire.close()
            raise _broke_off() from error
        except BaseException:
            wire.close()
            raise

    async def _connect(self, origin: Origin) -> _Wire:
        addresses = await self._allowed(origin)
        limit_s = _ONE_OF_MANY_S if len(addresses) > 1 else None
        failure: BaseException | None = None
        for address in addresses:
            try:
                async with asyncio.timeout(limit_s):
                    reader, writer = await asyncio.open_connection(
                        address,
                        origin.port,
                        limit=_PIECE_BYTES,
                        ssl=self.certificates if origin.secure else None,
                        server_hostname=origin.host if origin.secure else None,
                    )
                return _Wire(reader, writer)
            except (OSError, TimeoutError) as error:
                failure = error
        if isinstance(failure, ssl.SSLError):
            raise Transient(
                "no safe connection could be made: the server's certificate or encryption is wrong"
            ) from failure
        raise Transient("no connection could be made: the server is down, or refuses") from failure

    async def _allowed(self, origin: Origin) -> list[str]:
        try:
            return list(await resolve_allowed(origin.host, origin.port, allow_private=self.allow_private))
        except UnknownName as error:
            raise Transient(f"the name {origin.host} is not known: is it written right?") from error
        except PrivateAddress:
            raise Malformed(
                f"{origin.host} is on this machine or the local network, which feeds are not read from. "
                "If this feed is meant, set HEADGATE_FEEDS_ALLOW_PRIVATE=true."
            ) from None

    def _take_idle(self, origin: Origin) -> _Wire | None:
        for number, (where, wire) in reversed(self._idle.items()):
            if where == origin:
                del self._idle[number]
                if wire.expiry is not None:
                    wire.expiry.cancel()
                if not wire.reader.at_eof() and not wire.writer.is_closing():
                    return wire
                wire.close()
                return None
        return None

    def _put(self, origin: Origin, wire: _Wire, *, keep: bool) -> None:
        if not keep:
            wire.close()
            return
        wire.stale = True
        wire.expiry = asyncio.get_running_loop().call_later(IDLE_S, self._expire, id(wire))
        self._idle[id(wire)] = origin, wire
        while len(self._idle) > MAX_IDLE:
            self._expire(next(iter(self._idle)))

    def _expire(self, number: int) -> None:
        _, wire = self._idle.pop(number, (None, None))
        if wire is not None:
            wire.close()


def _broke_off() -> Transient:
    return Transient("the connection broke off before the answer was whole")


def _request(target: bytes, headers: Mapping[str, str]) -> bytes:
    lines = [f"{name}: {value}" for name, value in headers.items() if not _UNSENDABLE.search(value)]
    return b"GET " + target + b" HTTP/1.1\r\n" + "\r\n".join(lines).encode() + b"\r\n\r\n"


def _read_head(head: bytes, wire: _Wire) -> Response:
    first, *lines = head.split(b"\n")
    status = _STATUS.fullmatch(first.rstrip(b"\r"))
    if status is None or len(lines) > MAX_HEADERS:
        raise Transient("the server does not answer in HTTP that can be understood")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = _text(line).partition(":")
        name, value = name.strip().lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    connection = headers.get("connection", "").lower()
    keeps = "keep-alive" in connection if status[1] == b"0" else "close" not in connection
    return Response(int(status[2]), headers, wire, keeps)


def _text(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("latin-1")


def _length(text: str) -> int:
    """Read a length; said twice it must be the same."""
    said = {one.strip() for one in text.split(",")}
    if len(said) != 1 or not re.fullmatch(r"[0-9]{1,15}", length := said.pop()):
        raise Transient("the server contradicts itself about the length of its answer")
    return int(length)


async def _nothing() -> AsyncIterator[bytes]:
    for piece in ():
        yield piece
