"""A database whose real time stands still until a test moves it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from headgate.kernel.clock import VirtualClock

START = datetime(2026, 3, 1, tzinfo=UTC)
"""The beginning of a slot of the daily cap."""


class LinkedClock(VirtualClock):
    """A virtual clock that takes the database's real time along."""

    def __init__(self, connection: psycopg.Connection) -> None:
        super().__init__(START)
        self._connection = connection
        connection.execute("create table test_time (at timestamptz not null)")
        connection.execute("insert into test_time values (%s)", (START,))
        connection.execute(
            "create or replace function headgate_real_now() returns timestamptz language sql volatile"
            " return (select at from test_time)"
        )

    def advance(self, seconds: float) -> None:
        at = START + timedelta(seconds=self.monotonic() + seconds)
        self._connection.execute("update test_time set at = %s", (at,))
        super().advance(seconds)


@pytest.fixture
def clock(database_url: str) -> Iterator[LinkedClock]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield LinkedClock(connection)
