"""Fixtures of the job tests."""

from __future__ import annotations

import psycopg
import pytest
from lab import TABLES, Lab

from headgate.storage.database import Database


@pytest.fixture
def lab(database_url: str, database: Database) -> Lab:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(TABLES)
    return Lab(database_url, database)
