"""Search lag, disorder, and what may be proven in spite of them."""

from __future__ import annotations

import pytest

from headgate.connectors.protocol import Link
from headgate.domain.streams.messages import Page, Span
from headgate.testing import Profile, SimulatedConnector, VirtualClock, World
from headgate.testing.memory import VolatileMemory

pytestmark = pytest.mark.once

EVERYTHING = 2**62


async def link_to(world: World) -> Link:
    world.add_account("reader")
    world.add_stream("packs")
    return await SimulatedConnector(world).open("reader", {}, VolatileMemory())


async def read(link: Link, *, bound: int = EVERYTHING, bookmark: str = "", limit: int = 50) -> Page:
    hole = Span(0, bound)
    return await link.read("packs", lens="everything", hole=hole, bound=bound, bookmark=bookmark, limit=limit)


async def test_a_message_becomes_visible_to_heads_and_read_after_the_lag(clock: VirtualClock) -> None:
    world = World(1, clock, Profile(search_lag_s=10))
    link = await link_to(world)
    message = world.post("packs", text="new")
    clock.advance(9)
    assert (await link.heads(["packs"]))["packs"].position is None
    assert (await read(link)).messages == ()
    assert await link.message("packs", message.key) is not None
    clock.advance(2)
    assert (await link.heads(["packs"]))["packs"].position == message.position
    assert [m.key for m in (await read(link)).messages] == [message.key]


async def test_messages_become_visible_out_of_order_and_none_is_proven_before_its_time(
    clock: VirtualClock,
) -> None:
    world = World(1, clock, Profile(disorder_s=20))
    link = await link_to(world)
    posted: list[int] = []
    out_of_order = False
    for n in range(60):
        posted.append(world.post("packs", text=str(n)).position)
        clock.advance(1)
        page = await read(link)
        seen = {message.position for message in page.messages}
        hidden = {position for position in posted if position not in seen and position > min(posted[-40:])}
        out_of_order = out_of_order or any(position < max(seen, default=0) for position in hidden)
        assert not [position for position in hidden if position in page.proven]
    assert out_of_order


async def test_a_busy_stream_is_read_on_below_a_page_that_proves_nothing(clock: VirtualClock) -> None:
    world = World(1, clock)
    link = await link_to(world)
    old = world.post("packs", text="old")
    clock.advance(60)
    young = [world.post("packs", text="young") for _ in range(5)]
    bound = young[-1].position + 1
    first = await read(link, bound=bound, limit=5)
    second = await read(link, bound=bound, bookmark=first.bookmark, limit=5)
    assert first.proven.empty
    assert old.position in second.proven
    assert not [m for m in young if m.position in second.proven]


def test_a_lag_beyond_the_settle_margin_is_refused() -> None:
    with pytest.raises(ValueError, match="settle margin"):
        Profile(search_lag_s=40)
    with pytest.raises(ValueError, match="needs a settle margin"):
        Profile(search_lag_s=1, settle_margin_s=0)
