"""What the superuser does in a new cluster: a plain role, and a database that it owns.

The application works as that role. It can do everything in its own database and nothing beside it: no files
or programs of the server, no other roles, databases or settings.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from headgate.storage.embedded.layout import ROLE


def set_up(connection: psycopg.Connection[Any], *, database: str, password: str) -> None:
    """Make what is missing; the database is the last step, so that one that is there is whole."""
    if _exists(connection, "select from pg_database where datname = %s", database):
        return
    if not _exists(connection, "select from pg_roles where rolname = %s", ROLE):
        # Hashed here, so that no log of the server can hold it.
        hashed = connection.pgconn.encrypt_password(password.encode(), ROLE.encode(), b"scram-sha-256")
        connection.execute(
            sql.SQL("create role {} login password {}").format(sql.Identifier(ROLE), hashed.decode())
        )
    connection.execute("revoke connect, temporary on database postgres, template1 from public")
    connection.execute(
        sql.SQL("create database {} owner {}").format(sql.Identifier(database), sql.Identifier(ROLE))
    )


def _exists(connection: psycopg.Connection[Any], query: str, name: str) -> bool:
    return connection.execute(query.encode(), (name,)).fetchone() is not None
