"""One process's way to PostgreSQL: a small pool, transactions, and one shared LISTEN.

A server that goes away is waited for: work that has not begun waits here with growing pauses and one
log line; work that was under way fails with `DatabaseAway` and is retried by its owner.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping, TransactionStatus
from psycopg.rows import RowMaker, class_row, dict_row
from psycopg_pool import AsyncConnectionPool, PoolClosed

from headgate.kernel.clock import Clock
from headgate.kernel.logs import get_logger
from headgate.storage.arrays import QuickListDumper
from headgate.storage.errors import COLLISIONS, Collided, DatabaseAway, Refused, is_refusal
from headgate.storage.queries import Query

Row = TypeVar("Row")
Result = TypeVar("Result")
Parameters = Mapping[str, Any]
Connection = psycopg.AsyncConnection[Any]

log = get_logger("storage")

FIRST_PAUSE_S = 0.2
MAX_PAUSE_S = 5.0
_CLEAN_UP_S = 5.0
_SESSION = (
    "-c jit=off -c timezone=UTC -c statement_timeout=60000 -c idle_in_transaction_session_timeout=60000"
)


@dataclass(frozen=True)
class Statement:
    """One row for a query that writes many at once: every parameter of its SQL is an array."""

    query: Query
    row: Parameters


class Tx:
    """An open transaction; everything in it happens, or nothing does."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    async def execute(self, query: Query, /, **parameters: Any) -> int:
        """Run a statement and return how many rows it touched."""
        cursor = await self.connection.execute(query.sql, parameters)
        return cursor.rowcount

    async def run(self, statement: Statement) -> int:
        """Write the one row of a statement."""
        return await self.execute(statement.query, **_columns([statement.row]))

    async def all(self, row: type[Row], query: Query, /, **parameters: Any) -> list[Row]:
        """Return all rows as the given dataclass."""
        async with self.connection.cursor(row_factory=_row_maker(row)) as cursor:
            await cursor.execute(query.sql, parameters)
            return await cursor.fetchall()

    async def one(self, row: type[Row], query: Query, /, **parameters: Any) -> Row | None:
        """Return the only row as the given dataclass, or nothing."""
        async with self.connection.cursor(row_factory=class_row(row)) as cursor:
            await cursor.execute(query.sql, parameters)
            return await cursor.fetchone()

    async def row(self, query: Query, /, **parameters: Any) -> Sequence[Any]:
        """Return the columns of the first row; none if there is no row."""
        cursor = await self.connection.execute(query.sql, parameters)
        return await cursor.fetchone() or ()

    async def value(self, query: Query, /, **parameters: Any) -> Any:
        """Return the first column of the first row, or None."""
        cursor = await self.connection.execute(query.sql, parameters)
        row = await cursor.fetchone()
        return None if row is None else row[0]

    async def column(self, query: Query, /, **parameters: Any) -> list[Any]:
        """Return the first column of every row."""
        cursor = await self.connection.execute(query.sql, parameters)
        return [row[0] for row in await cursor.fetchall()]

    @asynccontextmanager
    async def attempt(self) -> AsyncGenerator[None, None]:
        """Undo the block alone if the database refuses a row of it; after `Refused` the rest goes on."""
        try:
            async with self.connection.transaction():
                yield
        except psycopg.Error as error:
            if is_refusal(error):
                raise Refused(error.diag.message_primary or str(error)) from error
            raise

    async def raw(self, sql: str, arguments: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Run a foreign statement with `$1` placeholders (the engine's own SQL)."""
        cursor = psycopg.AsyncRawCursor(self.connection, row_factory=dict_row)
        await cursor.execute(sql.encode(), arguments or None)
        return await cursor.fetchall() if cursor.description else []


def _columns(rows: Sequence[Parameters]) -> dict[str, list[Any]]:
    """Return rows as arrays, by the names of their columns."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def _row_maker(row: type[Row]) -> Callable[[psycopg.AsyncCursor[Any]], RowMaker[Row]]:
    """Return a factory of rows; columns in the order of a tuple's fields need not be matched row by row."""
    fields = getattr(row, "_fields", None)

    def make(cursor: psycopg.AsyncCursor[Any]) -> RowMaker[Row]:
        if fields is not None and fields == tuple(column.name for column in cursor.description or ()):
            return cast("RowMaker[Row]", getattr(row, "_make"))  # noqa: B009 - only tuples have it
        return class_row(row)(cursor)

    return make


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
                yield Tx(connection)
                await _commit(connection)
        finally:
            await self._give_back(connection)

    @asynccontextmanager
    async def autocommit(self) -> AsyncGenerator[Tx, None]:
        """Lend a connection on which each statement is a transaction of its own, in one round trip."""
        connection = await self._acquire()
        try:
            with _explained(connection):
                yield Tx(connection)
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
            parts = [cursor.mogrify(query.sql, _columns(of_query)) for query, of_query in rows.items()]
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
