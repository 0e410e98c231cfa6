"""Sends as the platform sees them: dedupe kinds, floods, lapsed uploads, and effects without an answer."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headgate.connectors.protocol import DedupeWindow, Link, OutgoingFile, Part
from headgate.domain.errors import Ambiguous, Gone, RateLimited
from headgate.domain.reminders.recognition import Sought
from headgate.kernel.clock import RealClock, ScaledClock
from headgate.testing import FaultRates, Profile, SimulatedConnector, VirtualClock, World
from headgate.testing.memory import VolatileMemory
from headgate.testing.platform.errors import SimFlood, SimMediaLapsed, SimTimeout

pytestmark = pytest.mark.once


async def link_to(world: World) -> Link:
    world.add_account("sender")
    world.add_group("club")
    return await SimulatedConnector(world).open("sender", {}, VolatileMemory())


@pytest.mark.parametrize(
    ("dedupe", "arrivals"),
    [
        (DedupeWindow("same_message", 60), [1, 2]),
        (DedupeWindow("error", 60), [1, 2]),
        (DedupeWindow("none"), [2, 3]),
    ],
    ids=["same message", "error", "none"],
)
async def test_a_repeat_within_and_after_the_window(
    clock: VirtualClock, dedupe: DedupeWindow, arrivals: list[int]
) -> None:
    world = World(1, clock, Profile(dedupe=dedupe))
    link = await link_to(world)
    await link.send("club", Part("hello"), key="k")
    await link.send("club", Part("hello"), key="k")
    within = len(world.log.sends())
    clock.advance(61)
    await link.send("club", Part("hello"), key="k")
    assert [within, len(world.log.sends())] == arrivals
    assert world.log.doubled_sends() == [("sender", "club", "k")]


async def test_a_refused_repeat_is_told_as_sent_under_no_key(clock: VirtualClock) -> None:
    world = World(1, clock, Profile(dedupe=DedupeWindow("error", 60)))
    link = await link_to(world)
    first = await link.send("club", Part("hello"), key="k")
    again = await link.send("club", Part("hello"), key="k")
    assert first.key
    assert again.key == ""
    assert world.log.doubled_sends() == []


async def test_a_timeout_after_the_effect_leaves_the_effect_in_the_log(clock: VirtualClock) -> None:
    world = World(1, clock, rates=FaultRates(timeout_after=1))
    link = await link_to(world)
    with pytest.raises(SimTimeout) as caught:
        await link.send("club", Part("hello"), key="k")
    assert [effect.key for effect in world.log.sends()] == ["k"]
    assert [call.outcome for call in world.log.calls("send")] == ["SimTimeout"]
    assert isinstance(SimulatedConnector(world).classify(caught.value), Ambiguous)
    world.faults.stop()
    found = await link.find_sent("club", Sought(), key="k", since=clock.now() - timedelta(minutes=1))
    assert found is not None


async def test_a_timeout_before_the_effect_leaves_none(clock: VirtualClock) -> None:
    world = World(1, clock, rates=FaultRates(timeout_before=1))
    link = await link_to(world)
    with pytest.raises(SimTimeout):
        await link.send("club", Part("hello"), key="k")
    assert world.log.sends() == []


async def test_the_platform_signals_a_flood_above_its_rate(clock: VirtualClock) -> None:
    world = World(1, clock, Profile(flood_per_minute={"send": 10}))
    link = await link_to(world)
    for n in range(10):
        await link.send("club", Part("hello"), key=str(n))
        clock.advance(1)
    with pytest.raises(SimFlood) as caught:
        await link.send("club", Part("hello"), key="one too many")
    error = SimulatedConnector(world).classify(caught.value)
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == pytest.approx(50)
    clock.advance(error.retry_after_s)
    await link.send("club", Part("hello"), key="in time")
    assert world.log.most_sends_within(60) == 10


async def test_a_lapsed_upload_is_gone(clock: VirtualClock) -> None:
    world = World(1, clock, Profile(media_life_s=60))
    link = await link_to(world)
    media = await link.upload(OutgoingFile.of("a.txt", "text/plain", b"hello"))
    await link.send("club", Part("see file", media.handle), key="1")
    clock.advance(61)
    with pytest.raises(SimMediaLapsed) as caught:
        await link.send("club", Part("see file", media.handle), key="2")
    assert isinstance(SimulatedConnector(world).classify(caught.value), Gone)
    assert media.expires_at is not None
    assert media.expires_at < clock.now()


async def test_a_driver_is_asked_at_every_await_of_a_call(clock: VirtualClock) -> None:
    world = World(1, clock)
    link = await link_to(world)
    points: list[tuple[str, int]] = []

    async def note(point: str) -> None:
        points.append((point, len(world.log.sends())))

    world.on_point = note
    await link.send("club", Part("hello"), key="k")
    assert points == [("send.began", 0), ("send.before_effect", 0), ("send.after_effect", 1)]


async def test_a_caller_that_crashes_after_the_effect_never_hears_of_it(clock: VirtualClock) -> None:
    world = World(1, clock)
    link = await link_to(world)

    class Crash(BaseException):
        pass

    async def crash(point: str) -> None:
        if point == "send.after_effect":
            raise Crash

    world.on_point = crash
    with pytest.raises(Crash):
        await link.send("club", Part("hello"), key="k")
    assert [effect.key for effect in world.log.sends()] == ["k"]
    assert [call.outcome for call in world.log.calls("send")] == ["Crash"]


async def test_a_dedupe_window_is_real_time_also_where_product_time_is_much_quicker() -> None:
    start = RealClock().now()
    quick = ScaledClock(real_anchor=start, product_anchor=start, scale=1e8)
    world = World(1, quick, Profile(dedupe=DedupeWindow("same_message", 60)))
    link = await link_to(world)
    await link.send("club", Part("hello"), key="k")
    await link.send("club", Part("hello"), key="k")
    assert len(world.log.sends()) == 1
