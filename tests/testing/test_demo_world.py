"""The demo's world: fills by itself, and is the same after a restart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from headgate.testing import SimulatedConnector, VirtualClock, World, build_demo_world
from headgate.testing.listener import LinkListener
from headgate.testing.memory import VolatileMemory

pytestmark = pytest.mark.once

OPENED_AT = datetime(2026, 3, 1, 12, 20, tzinfo=UTC)


def demo_at(days: float, *, seed: int = 1) -> World:
    return build_demo_world(seed, VirtualClock(OPENED_AT + timedelta(days=days)), opened_at=OPENED_AT)


def all_messages(world: World) -> dict[str, list[str]]:
    return {key: [repr(message) for message in world.messages(key)] for key in world.streams}


def test_it_opens_with_a_library_to_browse() -> None:
    world = demo_at(0)
    messages = [message for key in world.streams for message in world.messages(key)]
    forum = next(stream for stream in world.streams.values() if stream.is_forum)
    assert 450 <= len(messages) <= 800
    assert (len(world.accounts), len(world.streams), len(world.listings), len(world.groups)) == (2, 8, 3, 20)
    assert len({message.topic for message in world.messages(forum.key)}) == len(forum.topics) == 12
    assert {a.mime_type.partition("/")[0] for m in messages for a in m.attachments} >= {
        "image",
        "application",
    }
    assert any(message.album for message in messages)


def test_a_restart_finds_the_same_messages_and_what_came_meanwhile() -> None:
    before, after = all_messages(demo_at(0.5)), all_messages(demo_at(0.5))
    assert before == after
    later = {key: {m.key for m in demo_at(0.6).messages(key)} for key in before}
    settled = demo_at(0.5)
    for key in before:
        gone = {m.key for m in settled.messages(key)} - later[key]
        assert len(gone) <= 4
    assert sum(map(len, later.values())) > sum(map(len, before.values())) + 30


def test_another_seed_is_another_world() -> None:
    assert demo_at(0, seed=1).digest() != demo_at(0, seed=2).digest()


async def test_opening_it_after_months_makes_only_what_is_asked_for() -> None:
    world = demo_at(days=200)
    world.profile = world.profile.but(latency_s=0)
    link = await SimulatedConnector(world).open("atlas", {}, VolatileMemory())
    heads = await link.heads(list(world.streams))
    made = [stream.activity.buckets_made for stream in world.streams.values() if stream.activity]
    assert all(head.position for head in heads.values())
    assert max(made) < 20


def test_listings_go_on_by_themselves() -> None:
    then, now = demo_at(0), demo_at(3)
    for key, listing in then.listings.items():
        old, new = listing.newest(then.clock.now()), now.listings[key].newest(now.clock.now())
        assert old[0].key != new[0].key
        assert {entry.key for entry in old} & {entry.key for entry in new}
        assert len({entry.key for entry in new}) == len(new)


async def test_about_one_thing_happens_every_product_minute_or_two() -> None:
    clock = VirtualClock(OPENED_AT)
    world = build_demo_world(1, clock)
    world.profile = world.profile.but(latency_s=0)
    listeners = [
        LinkListener(await SimulatedConnector(world).open(name, {}, VolatileMemory()))
        for name in world.accounts
    ]
    for listener in listeners:
        await listener.start()
    for _ in range(120):
        clock.advance(60)
        await listeners[0].catch_up()
    heard = {(e.stream, e.key) for listener in listeners for e in listener.events if e.kind == "message"}
    happened = {
        (key, message.key)
        for key in world.streams
        for message in world.messages(key)
        if OPENED_AT < message.sent_at <= clock.now() - timedelta(minutes=2)
    }
    assert 60 <= len(heard) <= 300
    assert happened <= heard
    for listener in listeners:
        await listener.stop()


@pytest.mark.parametrize("days", [0, 30])
def test_scheduled_positions_are_strictly_ordered(days: float) -> None:
    world = demo_at(days)
    for key in ("forge", "attic"):
        positions = [message.position for message in world.messages(key)]
        assert positions == sorted(set(positions))
        assert all(position % 2 for position in positions)
