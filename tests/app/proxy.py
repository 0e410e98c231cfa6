"""A way to a database that can be closed, as if the server had gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict

HOST = "127.0.0.1"


@dataclass
class Proxy:
    """Forwards connections on a port of loopback to the server of a database."""

    target_url: str
    port: int = 0
    _server: asyncio.Server | None = None
    _writers: set[asyncio.StreamWriter] = field(default_factory=set[asyncio.StreamWriter])

    @property
    def url(self) -> str:
        target = conninfo_to_dict(self.target_url)
        secret = f":{quote(str(target['password']))}" if "password" in target else ""
        return f"postgresql://{quote(str(target['user']))}{secret}@{HOST}:{self.port}/{target['dbname']}"

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._forward, HOST, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Refuse new connections and end the open ones; `open` takes the same port again."""
        if self._server is None:
            return
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await self._server.wait_closed()
        self._server = None

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await self._connect()
        self._writers |= {writer, far_writer}
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        self._writers -= {writer, far_writer}

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        target = conninfo_to_dict(self.target_url)
        host, port = str(target["host"]), int(target.get("port") or 5432)
        if host.startswith("/"):
            return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        return await asyncio.open_connection(host, port)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def proxied(database_url: str) -> AsyncGenerator[Proxy, None]:
    """Open a way to a database for the block."""
    proxy = Proxy(database_url)
    await proxy.open()
    try:
        yield proxy
    finally:
        await proxy.close()
