"""Live connections: what they lose, double and disorder, and what they prove all the same."""

from __future__ import annotations

import pytest

from headgate.domain.streams.messages import Span
from headgate.testing import FaultRates, Profile, SimulatedConnector, VirtualClock, World
from headgate.testing.listener import LinkListener
from headgate.testing.memory import VolatileMemory

pytestmark = pytest.mark.once


async def listen_to(world: World) -> LinkListener:
    world.add_account("reader")
    world.add_stream("packs")
    listener = LinkListener(await SimulatedConnector(world).open("reader", {}, VolatileMemory()))
    await listener.start()
    return listener


async def test_an_event_proves_the_range_since_the_previous_one(clock: VirtualClock) -> None:
    world = World(1, clock)
    listener = await listen_to(world)
    first, second = world.post("packs", text="1"), world.post("packs", text="2")
    await listener.catch_up()
    assert [event.proven for event in listener.events] == [
        Span(first.position, first.position + 1),
        Span(first.position + 1, second.position + 1),
    ]
    await listener.stop()


async def test_a_hint_proves_nothing(clock: VirtualClock) -> None:
    world = World(1, clock, Profile(live="hint"))
    listener = await listen_to(world)
    world.post("packs", text="1")
    world.post("packs", text="2")
    await listener.catch_up()
    assert [event.proven for event in listener.events] == [None, None]
    await listener.stop()


async def test_hints_are_dropped_silently_and_proofs_never(clock: VirtualClock) -> None:
    heard: dict[str, int] = {}
    for profile in (Profile("hints", live="hint"), Profile("proofs", live="proof")):
        world = World(1, clock, profile, rates=FaultRates(live_drop=0.5))
        listener = await listen_to(world)
        for n in range(40):
            world.post("packs", text=str(n))
        await listener.catch_up()
        heard[profile.name] = len(listener.keys())
        await listener.stop()
    assert heard["proofs"] == 40
    assert 5 < heard["hints"] < 35


async def test_a_connection_that_ends_says_so_and_loses_what_was_under_way(clock: VirtualClock) -> None:
    world = World(1, clock, Profile(late_chance=1.0, late_s=30))
    listener = await listen_to(world)
    world.post("packs", text="on its way")
    world.disconnect()
    await listener.catch_up()
    assert [event.kind for event in listener.events] == ["disconnect"]
    assert listener.ended


async def test_a_connection_may_end_with_an_error_as_well(clock: VirtualClock) -> None:
    endings: set[str] = set()
    for seed in range(12):
        world = World(seed, clock, rates=FaultRates(live_end=1))
        listener = await listen_to(world)
        world.post("packs", text="never heard")
        await listener.catch_up()
        assert listener.ended
        assert listener.keys() == []
        endings.add("a word" if listener.error is None else type(listener.error).__name__)
    assert endings == {"a word", "SimDisconnected"}


async def test_late_events_come_when_their_time_has_come(clock: VirtualClock) -> None:
    world = World(1, clock, Profile(late_chance=1.0, late_s=30))
    listener = await listen_to(world)
    message = world.post("packs", text="late")
    await listener.catch_up()
    assert listener.keys() == []
    clock.advance(30)
    await listener.catch_up()
    assert listener.keys() == [message.key]
    await listener.stop()


@pytest.mark.parametrize(
    ("rates", "edited"), [(FaultRates(edit=1), True), (FaultRates(edit=1, delete=1), False)]
)
async def test_faults_edit_and_delete_soon_after_but_nobody_edits_what_is_deleted(
    clock: VirtualClock, rates: FaultRates, *, edited: bool
) -> None:
    # With this seed the deletion comes before the edit.
    world = World(1, clock, rates=rates)
    listener = await listen_to(world)
    message = world.post("packs", text="short life")
    for _ in range(60):
        clock.advance(1)
        await listener.catch_up()
    assert listener.keys("edit") == ([message.key] if edited else [])
    assert listener.keys("delete") == ([] if edited else [message.key])
    assert [held.key for held in world.messages("packs")] == ([message.key] if edited else [])
    await listener.stop()
