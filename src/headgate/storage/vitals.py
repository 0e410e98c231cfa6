"""What `headgate doctor` asks of the database."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

import psycopg

from headgate.storage.database import Tx, connect
from headgate.storage.errors import DatabaseAway
from headgate.storage.jobs import dead_letters, engine
from headgate.storage.jobs.engine import count_stale_jobs
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class Vitals:
    """The server."""

    version: str
    server_at: datetime
    connections: int
    max_connections: int


@dataclass(frozen=True)
class EngineVitals:
    """The engine's queue, and the work that gave up."""

    queued: int
    picked: int
    stale: int
    oldest_s: float
    dead_letters: int


@dataclass(frozen=True)
class TroubledAccount:
    """An account that is not active."""

    platform: str
    name: str
    state: str
    state_reason: str


@dataclass(frozen=True)
class Forgotten:
    """How many rows of a kind have work to do and nothing that would ever take it up."""

    what: str
    rows: int


@asynccontextmanager
async def open_examination(url: str) -> AsyncGenerator[Tx, None]:
    """Connect for a look; raise `DatabaseAway` with the server's own words if it does not let us in."""
    try:
        connection = await connect(url, name="headgate doctor")
    except psycopg.OperationalError as error:
        raise DatabaseAway(str(error).strip()) from error
    async with connection:
        yield Tx(connection)


async def get_vitals(tx: Tx) -> Vitals:
    vitals = await tx.one(Vitals, Q["get_vitals"])
    if vitals is None:
        raise RuntimeError("a query without a table gave no row")
    return vitals


async def list_powers(tx: Tx) -> list[str]:
    """Return what the role can do beyond its own database: nothing, if it is a plain one."""
    return await tx.column(Q["list_powers"])


async def get_engine_vitals(tx: Tx, *, silent_s: float) -> EngineVitals:
    """Return the engine in figures, counted as everywhere else."""
    depths = await engine.queue_depths(tx)
    letters = await dead_letters.count_open_by_kind(tx)
    return EngineVitals(
        queued=sum(one.depth for one in depths if one.status == "queued"),
        picked=sum(one.depth for one in depths if one.status == "picked"),
        stale=await count_stale_jobs(tx, silent_s=silent_s),
        oldest_s=max((one.oldest_s for one in depths if one.status == "queued"), default=0.0),
        dead_letters=sum(one.letters for one in letters),
    )


async def count_forgotten(tx: Tx) -> list[Forgotten]:
    return await tx.all(Forgotten, Q["count_forgotten"])


async def list_troubled_accounts(tx: Tx) -> list[TroubledAccount]:
    return await tx.all(TroubledAccount, Q["list_troubled_accounts"])
