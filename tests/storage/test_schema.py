"""The committed schema is the one that the migrations make."""

from __future__ import annotations

import difflib
from importlib import resources

from headgate.storage.describe import describe_schema


async def test_migrating_from_zero_gives_the_committed_schema(database_url: str) -> None:
    text = resources.files("headgate.storage").joinpath("schema.sql").read_text(encoding="utf-8")
    committed = text.partition("\n\n")[2].splitlines()
    migrated = (await describe_schema(database_url)).splitlines()
    difference = "\n".join(difflib.unified_diff(committed, migrated, "schema.sql", "migrations", lineterm=""))
    assert not difference, f"run `make schema`:\n{difference}"


async def test_the_description_leaves_the_engines_tables_out(database_url: str) -> None:
    description = await describe_schema(database_url)
    assert "CREATE TABLE headgate_migration (" in description
    assert "CREATE TABLE pgqueuer" not in description
