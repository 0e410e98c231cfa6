"""Transactions."""

from __future__ import annotations

import psycopg
import pytest

from headgate.storage.database import Database
from headgate.storage.queries import QueryFile

Q = QueryFile(
    "test",
    """
-- name: insert_lease
insert into lease (name, token, holder, expires_at) values (%(name)s, gen_random_uuid(), '', 'infinity')

-- name: count_leases
select count(*) from lease
""",
)


async def test_a_failing_transaction_leaves_nothing(database: Database) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation):
        async with database.transaction() as tx:
            await tx.execute(Q["insert_lease"], name="a")
            await tx.execute(Q["insert_lease"], name="a")
    async with database.transaction() as tx:
        assert await tx.value(Q["count_leases"]) == 0


async def test_a_finished_transaction_is_kept(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.execute(Q["insert_lease"], name="a")
    async with database.transaction() as tx:
        assert await tx.value(Q["count_leases"]) == 1
