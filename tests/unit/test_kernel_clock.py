"""The product clock in its three forms."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from headgate.kernel.clock import RealClock, ScaledClock, VirtualClock, utc_from_timestamp

pytestmark = pytest.mark.once

START = datetime(2030, 1, 1, tzinfo=UTC)


def test_the_real_clock_is_aware_and_never_waits_for_the_past() -> None:
    clock = RealClock()
    assert clock.now().utcoffset() == timedelta(0)
    assert clock.real_s_until(clock.now() - timedelta(days=1)) == 0.0


def test_a_scaled_clock_passes_an_hour_of_product_time_in_a_minute() -> None:
    anchor = RealClock().now() - timedelta(minutes=1)
    clock = ScaledClock(real_anchor=anchor, product_anchor=START, scale=60)
    assert timedelta(hours=1) <= clock.now() - START < timedelta(hours=2)


def test_a_scaled_clock_waits_shorter_by_its_scale() -> None:
    clock = ScaledClock(real_anchor=RealClock().now(), product_anchor=START, scale=60)
    wait_s = clock.real_s_until(clock.now() + timedelta(hours=10))
    assert 500 < wait_s <= 600


def test_scaled_clocks_with_one_anchor_agree_across_restarts() -> None:
    anchor = RealClock().now() - timedelta(days=1)
    first, second = (ScaledClock(real_anchor=anchor, product_anchor=START, scale=60) for _ in range(2))
    assert first.now() <= second.now() < first.now() + timedelta(hours=1)


@pytest.mark.parametrize("scale", [0, -1])
def test_a_clock_that_stands_or_runs_back_is_refused(scale: float) -> None:
    with pytest.raises(ValueError, match="above zero"):
        ScaledClock(real_anchor=START, product_anchor=START, scale=scale)


def test_a_virtual_clock_stands_still_until_it_is_moved() -> None:
    clock = VirtualClock(START)
    assert (clock.now(), clock.monotonic()) == (START, 0.0)
    clock.advance(90)
    assert (clock.now(), clock.monotonic()) == (START + timedelta(seconds=90), 90.0)
    assert clock.real_s_until(START + timedelta(seconds=100)) == 10.0


def test_a_virtual_clock_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="does not go back"):
        VirtualClock(START).advance(-1)


async def test_sleepers_of_a_virtual_clock_wake_in_the_order_of_their_times() -> None:
    clock = VirtualClock(START)
    woken: list[str] = []

    async def sleep(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(name)

    async with asyncio.TaskGroup() as group:
        for name, seconds in (("late", 30.0), ("early", 10.0), ("also early", 10.0)):
            group.create_task(sleep(name, seconds))
        await asyncio.sleep(0)
        assert clock.next_wake_s() == 10.0
        clock.advance(29)
        await asyncio.sleep(0)
        assert woken == ["early", "also early"]
        clock.advance(1)
    assert woken == ["early", "also early", "late"]
    assert clock.next_wake_s() is None


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    clock = VirtualClock(START)
    task = asyncio.create_task(clock.sleep(10))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert clock.next_wake_s() is None
    clock.advance(20)
    assert clock.monotonic() == 20


async def test_a_sleep_of_nothing_ends_without_the_clock_moving() -> None:
    clock = VirtualClock(START)
    await clock.sleep(0)
    assert clock.next_wake_s() is None


def test_a_timestamp_becomes_an_aware_time() -> None:
    assert utc_from_timestamp(0) == datetime(1970, 1, 1, tzinfo=UTC)
