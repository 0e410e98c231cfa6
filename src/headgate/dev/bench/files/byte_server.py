"""A server on the loopback that sends as many bytes as it is asked for, different ones for each file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress

READ_BYTES = 2**18
_BLOCK_BYTES = 2**20
_REQUEST = "{number} {start} {size}\n"


class ByteServer:
    """Where the bytes come from; the same for us and for the floor."""

    def __init__(self) -> None:
        self._block = os.urandom(_BLOCK_BYTES)
        self.port = 0

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None, None]:
        server = await asyncio.start_server(self._serve, "127.0.0.1")
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield

    async def read(self, number: int, *, size: int, start: int = 0) -> AsyncIterator[bytes]:
        """Yield the bytes of a file from an offset on."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=READ_BYTES)
        try:
            writer.write(_REQUEST.format(number=number, start=start, size=size).encode())
            while chunk := await reader.read(READ_BYTES):
                yield chunk
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, start, size = map(int, (await reader.readline()).split())
        # Each file begins with its number; no two are the same content.
        head = number.to_bytes(16, "big")[: max(0, size)]
        left = size - start
        if start < len(head):
            writer.write(head[start:])
            left -= len(head) - start
        # A turn that ends in the middle of a file closes its connection.
        with suppress(ConnectionError):
            while left > 0:
                writer.write(memoryview(self._block)[: min(left, _BLOCK_BYTES)])
                await writer.drain()
                left -= _BLOCK_BYTES
        writer.close()
