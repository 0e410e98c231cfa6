"""Sends to a real Synapse at its default limits; it counts in real time, so this takes minutes of waiting."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from matrix_product import QUICK_LANES, Lanes, Product, open_product
from matrix_stage import Stage

from headgate.connectors.protocol import LaneDefault, Part, Sent
from headgate.domain.errors import RateLimited

# A group of its own: other tests can use the processor while this one waits.
pytestmark = [
    pytest.mark.once,
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("strict synapse"),
]

ROOMS = 40
TEXT = "Water the plants."
BURST = 10
SERVER_PER_MINUTE = 12.0
"""`rc_message` of Synapse by default: 0.2 a second, and a burst of 10."""
LANES: Lanes = {**QUICK_LANES, "send": LaneDefault(per_minute=40, burst=5)}
"""More than three times what the server takes."""
PATIENCE_S = 500.0
SENT = "select count(*) from part where state = 'sent'"
OPEN = "select count(*) from part where state <> 'sent'"
LATER = (
    "create or replace function headgate_real_now() returns timestamptz language sql volatile"
    " return clock_timestamp() + interval '30 minutes'"
)
"""Lanes count in real time; nothing of the server's is asked for after this."""
CHANGES = "select from_rate, to_rate, cause from lane_change where kind = 'send' order by id"


async def test_a_reminder_at_default_limits_reaches_each_of_forty_rooms_once(
    strict_stage: Stage, database_url: str, tmp_path: Path
) -> None:
    stage = strict_stage
    rooms = [await stage.make_room(f"room {number:02}") for number in range(ROOMS)]
    async with open_product(stage, database_url, tmp_path, LANES) as product:
        await product.find_targets()
        await stage.account.restore_limits()
        await product.remind(TEXT)
        async with product.running():
            await product.eventually(SENT, [ROOMS], patience_s=PATIENCE_S)
        await adapts_to_the_server(product)
        assert await product.column(OPEN) == [0]
    for room in rooms:
        texts = [event["content"]["body"] for event in await stage.other.history(room)]
        assert texts == [TEXT]


async def adapts_to_the_server(product: Product) -> None:
    """Tell that each limit halved the pace until the server took it, and that the pace comes back."""
    changes = await product.rows(CHANGES)
    slowed = [row for row in changes if row["cause"] == "limit_signal"]
    assert slowed
    assert all(row["to_rate"] == row["from_rate"] / 2 for row in slowed)
    assert slowed[-1]["to_rate"] <= SERVER_PER_MINUTE
    await product.rows(LATER)
    await product.parts.lanes.acquire(str(product.account.id), "send")
    last = (await product.rows(CHANGES))[-1]
    assert (last["cause"], last["from_rate"]) == ("recovered", slowed[-1]["to_rate"])
    assert last["to_rate"] > last["from_rate"]


async def test_a_limit_says_how_long_to_wait_and_is_never_waited_for(strict_stage: Stage) -> None:
    room = await strict_stage.make_room()
    link = await strict_stage.open()
    await strict_stage.account.restore_limits()
    ends = await asyncio.gather(
        *(link.send(room, Part(f"{n}"), key=f"limit-{n}") for n in range(BURST + 5)), return_exceptions=True
    )
    refused = [strict_stage.connector.classify(end) for end in ends if isinstance(end, Exception)]
    assert len([end for end in ends if isinstance(end, Sent)]) >= BURST
    assert refused
    assert all(isinstance(error, RateLimited) and 0 < error.retry_after_s <= 60 for error in refused)
    await link.close()
