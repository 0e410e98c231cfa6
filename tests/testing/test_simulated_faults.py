"""Faults come from the seed, can be switched off one by one, and leave the world true."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headgate.connectors.protocol import Part
from headgate.domain.errors import WorkError
from headgate.domain.streams.messages import Span
from headgate.testing import PRESETS, SimulatedConnector, VirtualClock, World
from headgate.testing.memory import VolatileMemory
from headgate.testing.platform.errors import SimError
from headgate.testing.platform.faults import LEVELS, NONE, WILD, FaultRates, Faults

pytestmark = pytest.mark.once

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


async def live_a_while(seed: int, rates: FaultRates, *, profile: str = "hostile") -> World:
    """Post, read and send for two minutes, whatever goes wrong."""
    clock = VirtualClock(START)
    world = World(seed, clock, PRESETS[profile], rates=rates)
    for account in ("one", "two"):
        world.add_account(account)
    world.add_stream("packs")
    world.add_group("club")
    connector = SimulatedConnector(world)
    links = [await connector.open(name, {}, VolatileMemory()) for name in ("one", "two")]
    whole = Span(0, 2**62)
    for n in range(120):
        clock.advance(1)
        world.post("packs")
        link = links[n % 2]
        try:
            await link.heads(["packs"])
            await link.read("packs", lens="everything", hole=whole, bound=2**62, bookmark="", limit=7)
            await link.send("club", Part("hello"), key=str(n))
        except SimError as error:
            assert isinstance(connector.classify(error), WorkError)
    return world


async def test_the_same_seed_gives_the_same_faults_and_the_same_log() -> None:
    first, again, other = [await live_a_while(seed, WILD) for seed in (1, 1, 2)]
    assert first.log.digest() == again.log.digest()
    assert first.digest() == again.digest()
    assert first.log.digest() != other.log.digest()


async def test_wild_faults_strike_in_all_ways() -> None:
    world = await live_a_while(3, WILD)
    outcomes = {call.outcome for call in world.log.calls()}
    assert {"ok", "SimFlood", "SimTimeout", "SimDisconnected"} <= outcomes


@pytest.mark.parametrize("level", list(LEVELS))
async def test_every_call_ends_in_the_log(level: str) -> None:
    world = await live_a_while(4, LEVELS[level], profile="discord_like")
    assert world.log.counts.total() == len(list(world.log.calls()))
    assert all(call.outcome != "open" and call.finished_at is not None for call in world.log.calls())


async def test_without_faults_everything_succeeds() -> None:
    world = await live_a_while(5, NONE, profile="plain")
    assert {call.outcome for call in world.log.calls()} == {"ok"}
    assert world.log.counts["send"] == len(world.log.sends()) == 120


async def test_after_calm_nothing_goes_wrong_any_more() -> None:
    world = await live_a_while(6, FaultRates(ban=0.2, timeout_after=0.5))
    assert {account.state for account in world.accounts.values()} == {"banned"}
    world.calm()
    link = await SimulatedConnector(world).open("one", {}, VolatileMemory())
    before = len(list(world.log.calls()))
    for _ in range(30):
        await link.heads(["packs"])
    assert {call.outcome for call in list(world.log.calls())[before:]} == {"ok"}


def test_switching_one_kind_off_does_not_move_the_others() -> None:
    rates = FaultRates(flood=0.5, disconnect=0.5)
    both, one = Faults(1, rates), Faults(1, rates)
    one.switch_off("flood")
    drawn = [(both.strikes("flood", "a"), both.strikes("disconnect", "a")) for _ in range(50)]
    alone = [(one.strikes("flood", "a"), one.strikes("disconnect", "a")) for _ in range(50)]
    assert [d for _, d in drawn] == [d for _, d in alone]
    assert not any(f for f, _ in alone)


def test_what_one_account_meets_does_not_depend_on_another() -> None:
    rates = FaultRates(flood=0.5)
    alone, together = Faults(1, rates), Faults(1, rates)
    expected = [alone.strikes("flood", "a") for _ in range(30)]
    met: list[bool] = []
    for _ in range(30):
        together.strikes("flood", "b")
        met.append(together.strikes("flood", "a"))
    assert met == expected


def test_probabilities_and_names_are_checked() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        FaultRates(flood=1.5)
    with pytest.raises(ValueError, match="no fault named"):
        Faults(1).switch_off("earthquake")
