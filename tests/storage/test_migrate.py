"""Migrations: from nothing, again, after an edit, from the future, and two at a time."""

from __future__ import annotations

import subprocess
import sys

import psycopg
import pytest
from pgqueuer.adapters.drivers.psycopg import PsycopgDriver
from pgqueuer.adapters.persistence.queries import Queries

from headgate.domain.errors import UserError
from headgate.storage.database import connect
from headgate.storage.migrate import ENGINE, list_migrations, migrate, schema_status

MIGRATE = """
import asyncio, sys
from headgate.storage.migrate import migrate
print(len(asyncio.run(migrate(sys.argv[1]))))
"""


def _run(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


async def test_an_empty_database_gets_every_migration_in_order(empty_url: str) -> None:
    applied = await migrate(empty_url)
    assert [step.number for step in applied] == [step.number for step in list_migrations()]
    status = await schema_status(empty_url)
    assert status.current
    assert [row.checksum for row in status.applied] == [step.checksum for step in applied]


async def test_migrating_again_does_nothing(empty_url: str) -> None:
    await migrate(empty_url)
    before = await schema_status(empty_url)
    assert await migrate(empty_url) == []
    assert await schema_status(empty_url) == before


async def test_the_status_of_an_empty_database_names_what_is_pending_and_changes_nothing(
    empty_url: str,
) -> None:
    status = await schema_status(empty_url)
    assert status.pending == list_migrations()
    assert not status.current
    with psycopg.connect(empty_url) as connection:
        tables = connection.execute("select count(*) from pg_tables where schemaname = 'public'").fetchone()
    assert tables == (0,)


async def test_an_edited_migration_is_refused(database_url: str) -> None:
    _run(database_url, "update headgate_migration set checksum = 'other' where number = 1")
    with pytest.raises(UserError, match=r"Migration 1 .* was edited") as refusal:
        await migrate(database_url)
    assert "unmodified" in refusal.value.remedy


async def test_a_database_of_a_newer_headgate_is_refused(database_url: str) -> None:
    _run(database_url, "insert into headgate_migration values (9999, 'from_the_future', 'x')")
    with pytest.raises(UserError, match=r"newer than this Headgate .*9999 'from_the_future'") as refusal:
        await migrate(database_url)
    assert "restore a backup" in refusal.value.remedy


def test_two_processes_that_migrate_at_once_take_turns(empty_url: str) -> None:
    runs = [
        subprocess.Popen([sys.executable, "-c", MIGRATE, empty_url], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    applied = sorted(int(run.communicate(timeout=60)[0]) for run in runs)
    assert [run.returncode for run in runs] == [0, 0]
    assert applied == [0, len(list_migrations())]


async def test_a_failing_migration_leaves_the_database_at_the_step_before(empty_url: str) -> None:
    _run(empty_url, "create table account (squatter int)")
    with pytest.raises(psycopg.errors.DuplicateTable):
        await migrate(empty_url)
    blocked = next(step.number for step in list_migrations() if "create table account" in step.sql)
    _run(empty_url, "drop table account")
    applied = await migrate(empty_url)
    assert applied[0].number == blocked


async def test_nothing_is_left_to_upgrade_in_the_engines_schema(database_url: str) -> None:
    assert (await schema_status(database_url)).engine == ENGINE
    async with await connect(database_url) as connection:
        plan = await Queries(PsycopgDriver(connection)).plan_upgrade()
    assert not plan.statements


@pytest.mark.parametrize(
    "otherwise",
    [
        "update headgate_migration set checksum = '1.0' where number = 0",
        "delete from headgate_migration where number = 0",
    ],
)
async def test_tables_of_another_engine_are_upgraded(database_url: str, otherwise: str) -> None:
    _run(database_url, otherwise)
    assert not (await schema_status(database_url)).current
    assert await migrate(database_url) == []
    assert (await schema_status(database_url)).current
