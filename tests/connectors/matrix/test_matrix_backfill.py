"""A long history on a real Synapse is read whole, each file stored once, whatever is killed meanwhile."""

from __future__ import annotations

import asyncio
import hashlib
import socket
from pathlib import Path

import pytest
from matrix_history import TITLES, History
from matrix_product import QUICK_LANES, Lanes, Product, open_product
from matrix_stage import Stage
from matrix_workers import Workers, working

from headgate.connectors.matrix.filters import TIMELINE_EVENTS
from headgate.connectors.protocol import LaneDefault
from headgate.lanes.plans import plan_lanes
from headgate.storage.blobs.opening import DEFAULT_FOLDER
from headgate.storage.lanes.lanes import change_lanes

# A busy machine takes minutes for the history alone.
pytestmark = [
    pytest.mark.once,
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("synapse"),
]

PATIENCE_S = 240.0
LANES: Lanes = {**QUICK_LANES, "read": LaneDefault(per_minute=120, burst=5)}
"""Two pages a second, so that there is a middle of the reading on every machine."""
READ = "select coalesce(sum(total_messages_scanned), 0)::int from stream"
COUNTS = (
    "select c.title || ' ' || s.total_messages_scanned from stream s join channel c on c.id = s.channel_id"
    " order by 1"
)
STORED = "select count(*) from item_file where state = 'stored'"
READY = (
    "select count(*) from item_file where state = 'wanted' and taken_until is null"
    " and due_at <= headgate_real_now()"
)
FILES = (
    "select s.file_name || ' ' || encode(b.sha256, 'hex') from item_file f"
    " join sighting s on s.id = f.sighting_id join blob b on b.id = f.blob_id where f.state = 'stored'"
)
OBJECTS = "select object_name from blob"
TROUBLE = "select (select count(*) from miss) + (select count(*) from dead_letter)"
LISTENER = "select holder from lease where name = 'listen:' || (select id from account)"
A_GAP = TIMELINE_EVENTS + 10
"""More messages of a room than a sync tells at once."""
LIVE = 15


async def let_read(product: Product, number: int) -> None:
    """Wait until so many messages have been read."""
    await product.eventually(f"select ({READ}) >= {number}", [True], patience_s=PATIENCE_S)


async def everything_is_there(product: Product, history: History, folder: Path) -> None:
    """Wait for the last message and file, then compare all of it with what was posted."""
    counts = [f"{title} {history.counts[title]}" for title in TITLES]
    await product.eventually(COUNTS, counts, patience_s=PATIENCE_S)
    await product.eventually(READY, [0], patience_s=PATIENCE_S)
    await product.let_downloads_wait_less()
    await product.eventually(STORED, [len(history.hashes)], patience_s=PATIENCE_S)
    assert sorted(await product.column(FILES)) == history.files
    objects = [folder / DEFAULT_FOLDER / name for name in await product.column(OBJECTS)]
    on_disk = [hashlib.sha256(path.read_bytes()).hexdigest() for path in objects]
    assert sorted(on_disk) == sorted(history.hashes.values())
    assert await product.column(TROUBLE) == [0]


async def test_a_long_history_is_read_whole_although_its_server_is_killed(
    stage: Stage, history: History, database_url: str, tmp_path: Path
) -> None:
    await history.let_in(stage.account)
    async with open_product(stage, database_url, tmp_path, LANES) as product:
        await product.follow_rooms()
        async with product.running():
            await let_read(product, history.total // 5)
            await history.post(LIVE)
            await let_read(product, history.total // 3)
            assert (await product.column(READ))[0] < history.total, "it was killed too late"
            posting = asyncio.create_task(history.post(LIVE))
            await stage.door.close()
            await history.restart(stage.synapse)
            await posting
            await history.post(A_GAP * len(TITLES))
            await stage.door.open()
            await history.post(LIVE)
            await everything_is_there(product, history, tmp_path)


async def test_a_long_history_is_read_whole_although_workers_are_killed(
    stage: Stage, history: History, database_url: str, tmp_path: Path
) -> None:
    await history.let_in(stage.account)
    async with open_product(stage, database_url, tmp_path, LANES) as product:
        await keep_lanes(product)
        with working(database_url, tmp_path) as workers:
            first, second = [await asyncio.to_thread(workers.start) for _ in range(2)]
            await product.follow_rooms()
            await let_read(product, history.total // 5)
            await history.post(LIVE)
            listening = await listener_of(product, workers)
            workers.kill(first if listening == second else second)
            assert (await product.column(READ))[0] < history.total, "it was killed too late"
            await history.post(LIVE)
            await asyncio.to_thread(workers.start)
            await let_read(product, history.total // 2)
            workers.kill(listening)
            await history.post(A_GAP * len(TITLES))
            assert await listener_of(product, workers) != listening
            await history.post(LIVE)
            await everything_is_there(product, history, tmp_path)


async def keep_lanes(product: Product) -> None:
    """Set the pace of the account as a person does, so that the workers keep it."""
    owner = str(product.account.id)
    await product.parts.links.link(product.account)
    async with product.parts.database.transaction() as tx:
        plans = plan_lanes(LANES)
        await change_lanes(tx, owners=[owner], plans=plans, established=True, by_person=True)


async def listener_of(product: Product, workers: Workers) -> int:
    """Wait until one of the running workers listens, and return which."""
    names = {f"{socket.gethostname()}:{pid}": pid for pid in workers.pids}
    known = ", ".join(f"'{name}'" for name in names)
    await product.eventually(f"select count(*) from ({LISTENER}) h where holder in ({known})", [1])
    return names[(await product.column(LISTENER))[0]]
