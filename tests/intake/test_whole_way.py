"""A posted set all the way: heard of in pieces, downloaded, looked into, proven whole, and told of once."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fetch_bench import FetchBench, open_fetch_bench

from headgate.outflow.notifications.follows import follow
from headgate.storage.database import Database
from headgate.storage.notifications.follows import Subject
from headgate.testing import file_of

ITEMS = """
select i.title, t.state, t.present, t.total, n.state as contents, n.entry_count,
       (select count(*) from item_file f join sighting s on s.id = f.sighting_id
        where s.item_id = i.id and f.state = 'stored') as stored
from item i left join item_set t on t.item_id = i.id left join inspection n on n.item_id = i.id
"""


@pytest.fixture
async def fetching(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[FetchBench]:
    async with open_fetch_bench(database, database_url, tmp_path / "data") as bench:
        yield bench


def make_volumes(folder: Path) -> list[Path]:
    """Write a real archive of four volumes."""
    tree = folder / "dragon"
    tree.mkdir(parents=True)
    random = Random(1)
    for name in ("body.stl", "wings.stl"):
        (tree / name).write_bytes(random.randbytes(200_000))
    subprocess.run(
        ["7z", "a", "-bd", "-v100k", "dragon.7z", "dragon"], cwd=folder, check=True, capture_output=True
    )
    shutil.rmtree(tree)
    return sorted(folder.iterdir())


async def ask(bench: FetchBench, sql: str) -> list[dict[str, Any]]:
    async with bench.database.transaction() as tx:
        return await tx.raw(sql)


async def told(bench: FetchBench) -> list[str]:
    return [row["body"] for row in await ask(bench, "select body from notification")]


async def follow_channel(bench: FetchBench) -> None:
    user_id, now = bench.parts.ids.new(), bench.clock.now()
    async with bench.database.transaction() as tx:
        await tx.raw(
            "insert into app_user (id, name, password_hash, role, created_at)"
            " values ($1, 'ada', '', 'member', $2)",
            [user_id, now],
        )
        (channel,) = await tx.raw("select id from channel")
        await follow(tx, Subject(channel_id=channel["id"]), user_id=user_id, ids=bench.parts.ids, now=now)


async def test_a_posted_set_is_fetched_proven_and_told_of_once(fetching: FetchBench, tmp_path: Path) -> None:
    await follow_channel(fetching)
    files = [file_of(path.name, path.read_bytes()) for path in make_volumes(tmp_path / "made")]
    assert len(files) == 4
    *early, last = Random(2).sample(files, 4)
    for file in early:
        await fetching.hear(fetching.world.post("packs", files=[file]))
        await fetching.work()
    (item,) = await ask(fetching, ITEMS)
    assert (item["state"], item["present"], item["contents"]) == ("waiting", 3, "incomplete")
    assert await told(fetching) == []

    await fetching.hear(fetching.world.post("packs", files=[last]))
    await fetching.work()
    (item,) = await ask(fetching, ITEMS)
    assert (item["state"], item["present"], item["total"], item["stored"]) == ("proven", 4, 4, 4)
    assert (item["contents"], item["entry_count"]) == ("ok", 3)
    assert await told(fetching) == ["dragon"]
    await fetching.rest(48 * 3600)
    assert await told(fetching) == ["dragon"]
