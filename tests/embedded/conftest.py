"""A data folder for each test, and processes that attach to it; all are gone when the test ends."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from guests import AttachProcess, Guest

from headgate.storage.embedded import EmbeddedServer

# Only root can become another user, and only it has to.
collect_ignore = [] if os.geteuid() == 0 else ["test_system_users.py"]


@pytest.fixture
def filled_url(database_url: str) -> str:
    """A database with rows that are hard to copy: line breaks, tabs, backslashes, a lone `\\.`."""
    text = "one\ntwo\t\\.\n\\.\nSET transaction_timeout = 0;\nCOPY public.item (id) FROM stdin;\n\\N"
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "insert into lease (name, token, holder, expires_at)"
            " select 'lease ' || n, gen_random_uuid(), %s, '2026-01-01' from generate_series(1, 2500) n",
            (text,),
        )
        connection.execute(
            "insert into lease values (%s, gen_random_uuid(), 'x', '2026-01-01')",
            ("\\! touch /tmp/headgate",),
        )
    return database_url


@pytest.fixture
def folder(quick_folder: Path) -> Iterator[Path]:
    """A data folder, with a short path whatever the test is called; its server is stopped at the end."""
    path = Path(tempfile.mkdtemp(prefix="headgate-embedded-", dir=quick_folder))
    yield path
    stop_left_over(path)
    shutil.rmtree(path)


def stop_left_over(path: Path) -> None:
    """Stop a server that a killed process left: attaching and detaching does it."""
    server = EmbeddedServer(path)
    if server.is_running():
        server.start()
        server.stop()


@pytest.fixture
def attach_process(folder: Path) -> Iterator[AttachProcess]:
    guests: list[Guest] = []

    def attach(*, durable: bool = False) -> Guest:
        guests.append(Guest(folder, durable=durable))
        return guests[-1]

    yield attach
    for guest in guests:
        if guest.child.poll() is None:
            guest.kill()
