"""What the bare database does on this machine, without any engine: the floors that figures stand on."""

from __future__ import annotations

import asyncio
from time import perf_counter

import psycopg

BATCH = 100

# The columns of the engine's table, with the two indexes that a queue made by hand would have.
_MAKE_QUEUE = """
drop table if exists bench_floor;
create table bench_floor (like pgqueuer including defaults);
insert into bench_floor (id, priority, status, entrypoint, payload, dedupe_key, headers)
select n, 0, 'queued', 'bench', convert_to(n::text, 'UTF8'), 'bench:' || n, '{"kind": "bench"}'
from generate_series(1, %(count)s) as n;
alter table bench_floor add primary key (id);
create index on bench_floor (priority desc, id) where status = 'queued';
"""
_SETTLE_QUEUE = "vacuum analyze bench_floor"

_CLAIM = """
update bench_floor
set status = 'picked', queue_manager_id = gen_random_uuid(), heartbeat = now(), updated = now()
where id in (
    select id from bench_floor where status = 'queued'
    order by priority desc, id limit %(batch)s
    for update skip locked
)
returning id, payload
"""
_DELETE = "delete from bench_floor where id = any(%(ids)s)"

_INSERT = "insert into bench_effect (key) values (%(key)s)"


def measure_drain_floor(url: str, *, count: int) -> float:
    """Return rows a second through a plain table: claimed and deleted in batches, each a commit."""
    with psycopg.connect(url, autocommit=True) as connection:
        with psycopg.ClientCursor(connection) as cursor:
            cursor.execute(_MAKE_QUEUE, {"count": count})
        connection.execute(_SETTLE_QUEUE)
        began_s = perf_counter()
        while claimed := connection.execute(_CLAIM, {"batch": BATCH}).fetchall():
            connection.execute(_DELETE, {"ids": [row[0] for row in claimed]})
        return count / (perf_counter() - began_s)


async def measure_commit_floor(url: str, *, count: int, connections: int) -> float:
    """Return rows a second when each is inserted and committed alone, over some connections at once."""
    opened = [
        await psycopg.AsyncConnection.connect(url, autocommit=True, options="-c jit=off")
        for _ in range(connections)
    ]
    share = count // connections

    async def insert(connection: psycopg.AsyncConnection) -> None:
        for number in range(share):
            await connection.execute(_INSERT, {"key": str(number)})

    try:
        began_s = perf_counter()
        await asyncio.gather(*(insert(connection) for connection in opened))
        return share * connections / (perf_counter() - began_s)
    finally:
        for connection in opened:
            await connection.close()
