"""The connections of a play, all on one session of the server.

One transaction is under way at a time, so one session is enough. A play has dozens of processes, and for each
session of its own the server would start a process and plan every statement again. A lost connection undoes
what was under way on it; nothing else of a session is visible to the product.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self, TypeVar

import psycopg
from psycopg import waiting
from psycopg.abc import PQGen
from psycopg.pq import PGconn, TransactionStatus, abc

from headgate.storage.database import Connection

# Each statement is planned once, and not six times.
SESSION = (
    "-c timezone=UTC -c jit=off -c plan_cache_mode=force_generic_plan -c search_path=sim,public,pg_catalog"
)
Answer = TypeVar("Answer")


def _closed_session() -> abc.PGconn:
    session = PGconn.connect_start(b"host=127.0.0.1 port=0")
    session.finish()
    return session


_CLOSED = _closed_session()


class StagedConnection(psycopg.AsyncConnection[Any]):
    """A connection that blocks the event loop while it waits for the server.

    No other actor may run during a transaction anyway, and without the loop an answer costs half as much.
    """

    async def wait(self, gen: PQGen[Answer], interval: float = 0.1, timeout: float | None = None) -> Answer:  # noqa: ASYNC109 - the driver's own signature
        return waiting.wait(gen, self.pgconn.socket, interval=interval, timeout=timeout)

    def share(self) -> StagedConnection:
        """Return another connection on the same session."""
        other = StagedConnection(self.pgconn)
        other._autocommit = True
        # The server keeps what it has prepared, under the names that are noted here.
        other._prepared = self._prepared
        other.prepare_threshold = self.prepare_threshold
        return other

    def leave(self) -> None:
        """Close this connection and keep the session; what is under way is undone."""
        if self.pgconn.transaction_status != TransactionStatus.IDLE:
            self.pgconn.exec_(b"rollback")
        self.pgconn = _CLOSED


class Lines:
    """Connections to whose statements `now()` is the stage's time."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._session: StagedConnection | None = None

    async def open(self) -> Connection:
        """Return a connection; there may be several, and at most one in a transaction."""
        if self._session is None:
            self._session = await self._connect()
        if self._session.pgconn.transaction_status != TransactionStatus.IDLE:
            raise AssertionError("two transactions at once: they would share one session")
        return self._session.share()

    async def tell_time(self, now: datetime) -> None:
        """Let it be so late for every statement from now on."""
        if self._session is None:
            self._session = await self._connect()
        await self._session.execute(f"set sim.now = '{now.isoformat()}'".encode(), prepare=False)

    def cut(self, connection: Connection) -> None:
        """Close a connection as a crash does: what is under way on it is undone."""
        assert isinstance(connection, StagedConnection)  # noqa: S101 - opened here
        if not connection.closed:
            connection.leave()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _connect(self) -> StagedConnection:
        return await StagedConnection.connect(
            self.url,
            autocommit=True,
            application_name="play",
            connect_timeout=10,
            options=SESSION,
            prepare_threshold=0,
        )
