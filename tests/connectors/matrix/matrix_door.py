"""A way to a homeserver that can be shut, as if the network had gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

HOST = "127.0.0.1"


@dataclass
class Door:
    """Forwards connections on a port of loopback to a homeserver."""

    target_port: int
    port: int = 0
    _server: asyncio.Server | None = None
    _muted: bool = False
    _forwarding: set[asyncio.Task[None]] = field(default_factory=set["asyncio.Task[None]"])
    _writers: set[asyncio.StreamWriter] = field(default_factory=set[asyncio.StreamWriter])

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    async def open(self) -> None:
        self._muted = False
        self._server = await asyncio.start_server(self._forward, HOST, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def mute(self) -> None:
        """Forward what is asked, and end each connection at its first answer; `open` ends that."""
        self._muted = True

    async def close(self) -> None:
        """Refuse new connections and end the open ones; `open` takes the same port again."""
        if self._server is not None:
            self._server.close()
            for writer in self._writers:
                writer.transport.abort()
            if self._forwarding:
                await asyncio.wait(self._forwarding)
            self._server = None

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._forwarding.add(task)
        task.add_done_callback(self._forwarding.discard)
        try:
            far_reader, far_writer = await asyncio.open_connection(HOST, self.target_port)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, far_writer}
        await asyncio.gather(self._copy(reader, far_writer), self._copy(far_reader, writer, answers=True))
        self._writers -= {writer, far_writer}

    async def _copy(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool = False
    ) -> None:
        with suppress(ConnectionError):
            while chunk := await reader.read(65536):
                if answers and self._muted:
                    writer.transport.abort()
                    break
                writer.write(chunk)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def door_to(port: int) -> AsyncGenerator[Door, None]:
    """Open a way to a homeserver for the block."""
    door = Door(port)
    await door.open()
    try:
        yield door
    finally:
        await door.close()
