"""One process's way to PostgreSQL: a small pool, transactions, and one shared LISTEN.

A server that goes away is waited for: work that has not begun waits here with growing pauses and one
log line; work that was under way fails with `DatabaseAway` and is retried by its owner.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping, TransactionStatus
from psycopg_pool import AsyncConnectionPool, PoolClosed

from headgate.kernel.clock import Clock
from headgate.kernel.logs import get_logger
from headgate.storage.arrays import QuickListDumper
from headgate.storage.errors import COLLISIONS, Collided, DatabaseAway
from headgate.storage.queries import Query
from headgate.storage.transactions import Connection, Parameters, Statement, Tx, columns_of

Result = TypeVar("Result")

log = get_logger("storage")

FIRST_PAUSE_S = 0.2
MAX_PAUSE_S = 5.0
_CLEAN_UP_S = 5.0
_SESSION = (
    "-c jit=off -c timezone=UTC -c statement_timeout=60000 -c idle_in_transaction_session_timeout=60000"
)


class _WarmPool(AsyncConnectionPool[Connection]):
    """Lends the connection that came back last.

    It has planned the statements that are in use, and its server process is still in the caches; those
    behind it stay idle until they are closed. The driver's pool lends the one that rested longest.
    """

    async def _get_ready_connection(self, timeout: float | None) -> Connection | None:  # noqa: ASYNC109 - the driver's
        self._pool.rotate(1)
        return await super()._get_ready_connection(timeout)


class Database:
    """The pool of one process."""

    def __init__(self, url: str, clock: Clock, *, size: int = 8, name: str = "headgate") -> None:
        self.url = url
        self._clock = clock
        self._name = name
        self._size = size
        self._away = False
        self._pool = self._make_pool()

    def _make_pool(self) -> AsyncConnectionPool[Connection]:
        return _WarmPool(
            self.url,
            kwargs={"options": _SESSION, "application_name": self._name, "autocommit": True},
            min_size=1,
            max_size=self._size,
            open=False,
            timeout=5.0,
            max_idle=300.0,
            name=self._name,
            configure=_configure,
        )

    async def open(self) -> None:
        """Begin to connect; the first transaction waits for the server if it must."""
        await self._pool.open(wait=False)

    async def close(self) -> None:
        await self._pool.close()

    @property
    def away(self) -> bool:
        """Whether the server was not to be had at the last try."""
        return self._away

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Tx, None]:
        """Open a transaction; wait for the server before, fail with `DatabaseAway` within."""
        connection = await self._begin()
        try:
            with _explained(connection):
                tx = Tx(connection)
                yield tx
                await tx.finish()
                await _commit(connection)
        finally:
            await self._give_back(connection)

    @asynccontextmanager
    async def autocommit(self) -> AsyncGenerator[Tx, None]:
        """Lend a connection on which each statement is a transaction of its own, in one round trip."""
        connection = await self._acquire()
        try:
            with _explained(connection):
                tx = Tx(connection)
                yield tx
                await tx.finish()
        finally:
            await self._give_back(connection)

    async def run_together(self, statements: Sequence[Statement]) -> None:
        """Run statements whose answers are not needed as one transaction in one round trip.

        The rows of a query are written together, queries in the order in which they first come.
        """
        rows: dict[Query, list[Parameters]] = {}
        for statement in statements:
            rows.setdefault(statement.query, []).append(statement.row)
        connection = await self._acquire()
        try:
            cursor = psycopg.AsyncClientCursor(connection)
            parts = [cursor.mogrify(query.sql, columns_of(of_query)) for query, of_query in rows.items()]
            with _explained(connection):
                # A prepared statement holds one command, and the simulator prepares everything.
                await connection.execute(";\n".join(parts).encode(), prepare=False)
        finally:
            await self._give_back(connection)

    async def ping(self) -> None:
        """Raise `DatabaseAway` unless the server answers right now."""
        try:
            async with self._pool.connection(timeout=2.0) as connection:
                await connection.execute("select 1")
        except psycopg.OperationalError as error:
            raise DatabaseAway(str(error)) from error

    async def _begin(self) -> Connection:
        pauses = growing_pauses()
        while True:
            # The pool may have kept connections from before the server went; nothing was begun on them.
            for _ in range(self._size):
                connection = await self._acquire()
                try:
                    await connection.execute("begin")
                except BaseException as error:
                    await self._give_back(connection)
                    if not isinstance(error, psycopg.OperationalError):
                        raise
                    if _is_cancelled():
                        raise asyncio.CancelledError from error
                else:
                    return connection
            await self._clock.sleep(next(pauses))

    async def _acquire(self) -> Connection:
        pauses = growing_pauses()
        while True:
            try:
                connection = await self._pool.getconn()
            except PoolClosed:
                raise
            except psycopg.OperationalError as error:
                if not await self._is_unreachable():
                    continue
                self._note_away(error)
                await self._clock.sleep(next(pauses))
            else:
                self._note_back()
                return connection

    async def _give_back(self, connection: Connection) -> None:
        await to_the_end(self._clean_and_put(connection))

    async def _clean_and_put(self, connection: Connection) -> None:
        try:
            async with asyncio.timeout(_CLEAN_UP_S):
                await _clean(connection)
        except (psycopg.Error, TimeoutError):
            await connection.close()
        await self._put(connection)

    async def _put(self, connection: Connection) -> None:
        await self._pool.putconn(connection)

    async def _is_unreachable(self) -> bool:
        """Tell an exhausted pool from a server that is away."""
        try:
            connection = await psycopg.AsyncConnection.connect(self.url, connect_timeout=5)
        except psycopg.OperationalError:
            return True
        await connection.close()
        return False

    def _note_away(self, error: Exception) -> None:
        if not self._away:
            self._away = True
            log.warning("the database is away; waiting for it", reason=str(error).strip())

    def _note_back(self) -> None:
        if self._away:
            self._away = False
            log.info("the database is back")


def growing_pauses() -> Iterator[float]:
    """Yield for how long to wait before each next try."""
    pause_s = FIRST_PAUSE_S
    while True:
        yield pause_s
        pause_s = min(pause_s * 2, MAX_PAUSE_S)


async def _configure(connection: Connection) -> None:
    """Let a new connection write lists quickly; what another encoding needs is left to the driver."""
    if connection.info.encoding == "utf-8":
        connection.adapters.register_dumper(list, QuickListDumper)


async def _commit(connection: Connection) -> None:
    try:
        await connection.execute("commit")
    except psycopg.OperationalError as error:
        raise _loss(f"the answer to a commit was lost: {error}") from error


@contextmanager
def _explained(connection: Connection) -> Generator[None, None, None]:
    """Say what a driver's error means to the block that has the connection."""
    try:
        yield
    except psycopg.OperationalError as error:
        if connection.closed:
            raise _loss(str(error)) from error
        if isinstance(error, COLLISIONS):
            raise Collided(f"another change was in the way: {error.diag.message_primary}") from error
        raise


def _loss(reason: str) -> BaseException:
    """Return what a lost connection means to the block that had it."""
    return asyncio.CancelledError() if _is_cancelled() else DatabaseAway(reason)


def _is_cancelled() -> bool:
    """Tell of a cancel that the driver forgets when it cannot end a statement of a server that is gone."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _clean(connection: Connection) -> None:
    """End what a failed or cancelled block has left open."""
    status = connection.pgconn.transaction_status
    if status == TransactionStatus.ACTIVE:
        # Closing alone would leave the statement running in the server, with its locks.
        await connection.cancel_safe(timeout=_CLEAN_UP_S)
        await connection.close()
    elif status in {TransactionStatus.INTRANS, TransactionStatus.INERROR}:
        await connection.execute("rollback")


async def to_the_end(work: Coroutine[Any, Any, Result]) -> Result:
    """Finish the work also when the caller is cancelled, once or again and again; then tell the caller."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return task.result()


async def connect(url: str, *, name: str = "headgate") -> Connection:
    """Open one connection of its own, in autocommit mode (migrations, LISTEN, locks)."""
    return await psycopg.AsyncConnection.connect(
        url, autocommit=True, application_name=name, connect_timeout=10, options="-c timezone=UTC -c jit=off"
    )


async def wait_for_server(url: str, clock: Clock) -> None:
    """Wait until a server answers; whether it lets us in is for the first connection to find out."""
    conninfo = make_conninfo(url, connect_timeout=2).encode()
    pauses = growing_pauses()
    waited = False
    while await asyncio.to_thread(PGconn.ping, conninfo) in {Ping.REJECT, Ping.NO_RESPONSE}:
        if not waited:
            waited = True
            log.warning("the database does not answer yet; waiting for it")
        await clock.sleep(next(pauses))
    if waited:
        log.info("the database answers")
