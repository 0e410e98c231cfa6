"""The ground that benchmarks run on: a migrated database of their own, gone when they end."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
from psycopg import sql

from headgate.app.server import open_workshop
from headgate.domain.errors import UserError
from headgate.kernel.settings import load_settings
from headgate.storage.database import connect
from headgate.storage.migrate import migrate


@asynccontextmanager
async def open_ground() -> AsyncGenerator[str, None]:
    """Yield the address of a fresh database: on the server of the settings, or on an embedded one.

    The embedded server gets a folder of its own and writes to disk as in production.
    """
    async with open_workshop(load_settings()) as url, _fresh_database(url) as own_url:
        yield own_url


@asynccontextmanager
async def _fresh_database(server_url: str) -> AsyncGenerator[str, None]:
    name = f"headgate_bench_{uuid4().hex[:12]}"
    async with await connect(server_url, name="headgate bench") as connection:
        try:
            await connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        except psycopg.errors.InsufficientPrivilege as error:
            raise UserError(
                "The benchmark needs a database of its own, and this user may not create one.",
                remedy="Give the user CREATEDB, or unset HEADGATE_DATABASE_URL to measure the embedded"
                " server.",
            ) from error
        try:
            url = at_database(server_url, name)
            await migrate(url)
            yield url
        finally:
            await connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def at_database(url: str, name: str) -> str:
    """Return the address of another database on the same server."""
    parts = urlsplit(url)
    # By hand, because `urlunsplit` drops the slashes of an address without a host.
    return f"postgresql://{parts.netloc}/{name}" + (f"?{parts.query}" if parts.query else "")
