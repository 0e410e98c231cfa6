"""The application's role owns its database and reaches nothing else; the superuser is for set-up alone."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from guests import make_server
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from headgate.domain.errors import UserError
from headgate.storage.embedded import EmbeddedServer
from headgate.storage.migrate import migrate

ATTACKS = {
    "run a program and read its output": "copy lease (name) from program 'id'",
    "run a program and write to it": "copy (select 1) to program 'id'",
    "read a file": "select pg_read_file('PG_VERSION')",
    "read a file into a table": "copy lease (name) from '/etc/passwd'",
    "write a file": "copy (select 1) to '/tmp/headgate-written'",
    "list a folder": "select pg_ls_dir('.')",
    "import a file": "select lo_import('/etc/passwd')",
    "read the passwords' hashes": "select rolpassword from pg_authid",
    "make a role": "create role another superuser",
    "become the superuser": "set role postgres",
    "become the superuser for the session": "set session authorization postgres",
    "make itself a superuser": "alter role headgate superuser",
    "give itself a right over files": "grant pg_read_server_files to headgate",
    "let itself replicate": "alter role headgate replication",
    "make a database": "create database another",
    "change a setting of the server": "alter system set archive_command = 'id'",
    "load a library": "load '/tmp/library.so'",
    "make a function in C": "create function evil() returns int language c as '/tmp/library.so', 'evil'",
    "skip the checks of replication": "set session_replication_role = replica",
    "take over the server's own schema": "create table pg_catalog.evil (id int)",
}


@pytest.fixture(scope="module")
def server(quick_folder: Path) -> Iterator[EmbeddedServer]:
    """One embedded server for all attacks, whatever the other tests run on."""
    with tempfile.TemporaryDirectory(prefix="headgate-roles-", dir=quick_folder) as folder:
        server = make_server(Path(folder))
        asyncio.run(migrate(server.start()))
        yield server
        server.stop()


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_application_cannot_reach_beyond_its_database(server: EmbeddedServer, attack: str) -> None:
    with (
        psycopg.connect(server.url(), autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(ATTACKS[attack].encode())


@pytest.mark.parametrize("database", ["postgres", "template1"])
def test_the_application_cannot_connect_to_another_database(server: EmbeddedServer, database: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="permission denied"):
        psycopg.connect(server.url(database))


def test_the_password_of_the_application_is_not_the_superusers(server: EmbeddedServer) -> None:
    with pytest.raises(psycopg.OperationalError, match="authentication failed"):
        psycopg.connect(make_conninfo(server.url(), user="postgres", dbname="postgres"))
    assert conninfo_to_dict(server.setup_url())["password"] != conninfo_to_dict(server.url())["password"]


def test_the_application_owns_all_that_is_in_its_database(server: EmbeddedServer) -> None:
    with psycopg.connect(server.url()) as connection:
        owners = connection.execute(
            "select distinct r.rolname from pg_class c join pg_roles r on r.oid = c.relowner"
            " where c.relnamespace = 'public'::regnamespace"
        ).fetchall()
    assert owners == [("headgate",)]


async def test_what_an_interrupted_set_up_left_is_finished(folder: Path) -> None:
    server = make_server(folder)
    server.start()
    with psycopg.connect(server.setup_url(), autocommit=True) as connection:
        connection.execute("drop database headgate")
    server.stop()
    assert await migrate(server.start())
    server.stop()


def test_a_cluster_without_a_password_for_set_up_is_refused(folder: Path) -> None:
    server = make_server(folder)
    server.start()
    server.stop()
    (folder / "postgres/setup-password").unlink()
    with pytest.raises(UserError, match=r"setup-password.*development version"):
        server.start()
    assert not server.is_running()
