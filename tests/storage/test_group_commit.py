"""Transactions that share a commit."""

from __future__ import annotations

import asyncio

import pytest

from headgate.storage import group_commit
from headgate.storage.database import Database, Statement
from headgate.storage.queries import QueryFile

Q = QueryFile(
    "test",
    """
-- name: insert_lease
insert into lease (name, token, holder, expires_at)
select gen_random_uuid(), gen_random_uuid(), holder, 'infinity' from unnest(%(holder)s::text[]) as holder

-- name: count_leases
select count(*) from lease
""",
)
STATEMENT = Statement(Q["insert_lease"], {"holder": ""})


async def test_a_write_that_comes_just_when_the_last_writer_ends_is_committed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "AT_ONCE", 1)
    writer = group_commit.GroupCommit(database)
    for steps in range(40):
        await writer.write([STATEMENT])
        for _ in range(steps):
            await asyncio.sleep(0)
        async with asyncio.timeout(10.0):
            await writer.write([STATEMENT])
    async with database.transaction() as tx:
        assert await tx.value(Q["count_leases"]) == 80
