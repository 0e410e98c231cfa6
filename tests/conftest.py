"""Fixtures of all suites: a real PostgreSQL, and a database of its own for each test.

The server is the embedded one, or the one that HEADGATE_TEST_DATABASE_URL names (a superuser's address, which
only makes the roles of the tests). A migrated template is made once; each test gets a clone of it. There the
product works as a plain role, so that a right that it lacks is seen.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import tempfile
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from headgate.dev.sim import build_product
from headgate.kernel.clock import RealClock
from headgate.storage.database import Database
from headgate.storage.embedded import EmbeddedServer
from headgate.storage.migrate import list_migrations, migrate
from headgate.testing.simulator import Theatre, open_theatre

TEMPLATE_LOCK = 7_420_001
MAKER = "headgate_tests"
OWNER = "headgate_tests_owner"
HASHES_QUICKLY = 160000
FULL = os.environ.get("HEADGATE_TEST_FULL") == "1"

# Pages and commands are the same on every server: their queries are prepared on each by the tests of storage,
# and what they ask for is done on each by those of intake, outflow, jobs and lanes.
TOLD_TO_PEOPLE = frozenset({"app", "browser", "cli", "web"})
SPEAKS_WITH_THE_SERVER = frozenset(
    {"test_database_away.py", "test_jobs.py", "test_listener.py", "test_web_events.py", "test_web_library.py"}
)

# The engine and the lanes lean on how the server locks and tells. Of the others, what only the full set tries
# is tried on one server.
ABOUT_THE_SERVER = frozenset({"jobs", "lanes"})

# A long test that begins last keeps one worker waiting for the other.
SLOW_FIRST = ("jobs", "app", "browser", "simulation", "matrix", "intake", "outflow")


def at_database(url: str, name: str) -> str:
    """Return the address of another database on the same server."""
    head, _, query = url.partition("?")
    scheme, _, rest = head.partition("://")
    authority = rest.partition("/")[0]
    return f"{scheme}://{authority}/{name}" + (f"?{query}" if query else "")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as `once` what needs no second server, leave long tests to the full set, let the slow go first."""
    repeats = set(_left_to_the_full_set(items))
    if not FULL and not config.option.keyword and not _names_tests(config):
        config.hook.pytest_deselected(items=[item for item in items if item in repeats])
        items[:] = [item for item in items if item not in repeats]
    for item in items:
        if not _depends_on_the_server(item) or (item in repeats and not _is_about_the_server(item)):
            item.add_marker(pytest.mark.once)
    items.sort(key=_place_in_line)


def _left_to_the_full_set(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the long tests, and of those that are sampled all but every so many."""
    seen: Counter[str] = Counter()
    left: list[pytest.Item] = []
    for item in items:
        if sampled := item.get_closest_marker("sampled"):
            name = item.nodeid.partition("[")[0]
            seen[name] += 1
            if (seen[name] - 1) % sampled.kwargs["every"]:
                left.append(item)
        elif item.get_closest_marker("long"):
            left.append(item)
    return left


def _names_tests(config: pytest.Config) -> bool:
    """Tell whether somebody asks for single tests or files; they get what they ask for."""
    return any(argument.partition("::")[0].endswith(".py") for argument in config.args)


def _depends_on_the_server(item: pytest.Item) -> bool:
    if isinstance(item, pytest.Function) and "server_url" not in item.fixturenames:
        return False
    return item.path.parent.name not in TOLD_TO_PEOPLE or _is_about_the_server(item)


def _is_about_the_server(item: pytest.Item) -> bool:
    return item.path.parent.name in ABOUT_THE_SERVER or item.path.name in SPEAKS_WITH_THE_SERVER


def _place_in_line(item: pytest.Item) -> int:
    """Say when a test has its turn; folders keep together, and their tests keep their order."""
    folder = item.path.parent.name
    return SLOW_FIRST.index(folder) if folder in SLOW_FIRST else len(SLOW_FIRST)


@pytest.fixture(scope="session")
def quick_folder() -> Path:
    """A place for databases, in memory if there is room: a new one is 300 files."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > 2 * 2**30
    return memory if roomy else Path(tempfile.gettempdir())


@pytest.fixture(scope="session")
def setup_url(quick_folder: Path) -> Iterator[str]:
    """The superuser's address of the test server; only roles are made with it."""
    if url := os.environ.get("HEADGATE_TEST_DATABASE_URL"):
        yield url
        return
    with tempfile.TemporaryDirectory(prefix="headgate-tests-", dir=quick_folder) as folder:
        server = EmbeddedServer(Path(folder), fsync=False)
        server.start()
        yield server.setup_url()
        server.stop()


@pytest.fixture(scope="session")
def server_url(setup_url: str) -> str:
    """The address of a role that makes databases and is nothing more, at a database that stays empty."""
    password = hashlib.sha256(setup_url.encode()).hexdigest()[:32]
    with psycopg.connect(setup_url, autocommit=True) as connection:
        connection.execute("select pg_advisory_lock(%s)", (TEMPLATE_LOCK,))
        if connection.info.server_version >= HASHES_QUICKLY:
            # Hash the password once and not 4096 times: thousands of connections are opened.
            connection.execute("set scram_iterations = 1")
        if connection.execute("select from pg_roles where rolname = %s", (MAKER,)).fetchone() is None:
            secret = sql.Literal(password)
            connection.execute(
                sql.SQL("create role {} login password {}").format(sql.Identifier(OWNER), secret)
            )
            connection.execute(
                # A database is not dropped under a vacuum without the right to end it.
                sql.SQL("create role {} login createdb password {} in role {}, pg_signal_backend").format(
                    sql.Identifier(MAKER), secret, sql.Identifier(OWNER)
                )
            )
            connection.execute(
                sql.SQL("create database {} owner {}").format(sql.Identifier(MAKER), sql.Identifier(MAKER))
            )
    return make_url(setup_url, role=MAKER, password=password, name=MAKER)


def make_url(url: str, *, role: str, password: str, name: str) -> str:
    """Return the address of a database on the same server for another role."""
    scheme, _, rest = url.partition("://")
    place = rest.rpartition("@")[2]
    return at_database(f"{scheme}://{role}:{password}@{place}", name)


def for_owner(url: str) -> str:
    """Return the address of the role that owns the databases of the product, and may not make any."""
    return url.replace(f"://{MAKER}:", f"://{OWNER}:", 1)


@pytest.fixture(scope="session")
def template(server_url: str) -> str:
    """The name of a migrated database that tests clone."""
    digest = hashlib.sha256("".join(m.checksum for m in list_migrations()).encode()).hexdigest()[:12]
    name = f"headgate_template_{digest}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute("select pg_advisory_lock(%s)", (TEMPLATE_LOCK,))
        known = connection.execute(
            "select datistemplate from pg_database where datname = %s", (name,)
        ).fetchone()
        if known is None or not known[0]:
            connection.execute(
                sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
            )
            connection.execute(
                sql.SQL("create database {} owner {}").format(sql.Identifier(name), sql.Identifier(OWNER))
            )
            asyncio.run(_migrate(for_owner(at_database(server_url, name))))
            connection.execute(sql.SQL("alter database {} is_template true").format(sql.Identifier(name)))
    return name


async def _migrate(url: str) -> None:
    await migrate(url)


@pytest.fixture
def database_url(server_url: str, template: str) -> Iterator[str]:
    """The address of a fresh, migrated database."""
    name = f"test_{uuid.uuid4().hex[:16]}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(
            # Copied as files: page by page through the log takes twice as long.
            sql.SQL("create database {} template {} owner {} strategy file_copy").format(
                sql.Identifier(name), sql.Identifier(template), sql.Identifier(OWNER)
            )
        )
        yield for_owner(at_database(server_url, name))
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def shared_url(server_url: str, template: str) -> Iterator[str]:
    """The address of a migrated database that many tests look at, and none changes."""
    name = f"shared_{uuid.uuid4().hex[:16]}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("create database {} template {} owner {} strategy file_copy").format(
                sql.Identifier(name), sql.Identifier(template), sql.Identifier(OWNER)
            )
        )
        yield for_owner(at_database(server_url, name))
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture
def empty_url(server_url: str) -> Iterator[str]:
    """The address of a database without anything in it."""
    name = f"empty_{uuid.uuid4().hex[:16]}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("create database {} owner {}").format(sql.Identifier(name), sql.Identifier(OWNER))
        )
        yield for_owner(at_database(server_url, name))
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """An open pool on a fresh, migrated database."""
    pool = Database(database_url, RealClock())
    await pool.open()
    yield pool
    await pool.close()


@pytest.fixture(scope="session")
def theatre(server_url: str) -> Iterator[Theatre]:
    """Where plays of the simulator are given; each has a database of its own."""
    with asyncio.Runner() as runner:
        opening = open_theatre(server_url, build_product)
        yield runner.run(_enter(opening))
        runner.run(_leave(opening))


async def _enter(opening: AbstractAsyncContextManager[Theatre]) -> Theatre:
    return await opening.__aenter__()


async def _leave(opening: AbstractAsyncContextManager[Theatre]) -> None:
    await opening.__aexit__(None, None, None)
