"""The connections of a play. A session outlives the process that had it, and serves the next one.

A play has dozens of processes, and for a new session the server starts a process and plans every statement
again. A lost connection undoes what was under way on it; nothing else of a session is visible to the product.
"""

from __future__ import annotations

from typing import Any, Self, TypeVar

import psycopg
from psycopg import waiting
from psycopg.abc import PQGen
from psycopg.pq import PGconn, TransactionStatus

from headgate.storage.database import Connection

# Each statement is planned once on each of them, and not six times.
SESSION = (
    "-c timezone=UTC -c jit=off -c plan_cache_mode=force_generic_plan -c search_path=sim,public,pg_catalog"
)
Answer = TypeVar("Answer")


class StagedConnection(psycopg.AsyncConnection[Any]):
    """A connection that lets nobody else go on while it waits for the server: nobody may, on a stage.

    One transaction is under way at a time, so none waits for another; without the loop in between an answer
    costs half as much.
    """

    async def wait(self, gen: PQGen[Answer], interval: float = 0.1, timeout: float | None = None) -> Answer:  # noqa: ASYNC109 - the driver's own signature
        return waiting.wait(gen, self.pgconn.socket, interval=interval, timeout=timeout)

    def hand_over(self) -> StagedConnection:
        """Return another connection on the same session; whoever holds this one holds something closed."""
        session = StagedConnection(self.pgconn)
        session._autocommit = True
        # The server keeps what it has prepared, under the names that are noted here.
        session._prepared = self._prepared
        session.prepare_threshold = self.prepare_threshold
        self.pgconn = PGconn.connect_start(b"host=127.0.0.1 port=0")
        self.pgconn.finish()
        return session


class Lines:
    """Connections to whose statements `now()` is the stage's time."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._spare: list[StagedConnection] = []
        self._open: list[StagedConnection] = []

    async def open(self) -> Connection:
        """Return a connection with nothing under way."""
        connection = self._spare.pop() if self._spare else await self._connect()
        self._open.append(connection)
        return connection

    def cut(self, connection: Connection) -> None:
        """Close a connection as a crash does: what is under way on it is undone."""
        assert isinstance(connection, StagedConnection)  # noqa: S101 - opened here
        if connection.closed:
            return
        self._open.remove(connection)
        session = connection.hand_over()
        if session.pgconn.transaction_status != TransactionStatus.IDLE:
            session.pgconn.exec_(b"rollback")
        if session.pgconn.transaction_status == TransactionStatus.IDLE:
            self._spare.append(session)
        else:
            session.pgconn.finish()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        for connection in [*self._open, *self._spare]:
            await connection.close()

    async def _connect(self) -> StagedConnection:
        return await StagedConnection.connect(
            self.url,
            autocommit=True,
            application_name="play",
            connect_timeout=10,
            options=SESSION,
            prepare_threshold=0,
        )
