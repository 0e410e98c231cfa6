"""Killed at every step in turn: nobody is told twice, nothing is lost, and no push is repeated."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

import pytest
from notification_bench import GATHER_S, NewsBench

from headgate.connectors.apprise_out import AppriseOut
from headgate.domain.breaker import FIRST_OPEN_S
from headgate.domain.notifications.push_reach import PushLimits
from headgate.jobs.stepper import Stepper
from headgate.kernel.clock import RealClock
from headgate.storage.database import Database, Tx

CHAPTERS = ("45", "46", "47")


class Killed(BaseException):
    """The process is gone: nobody catches this."""


@dataclass
class Countdown:
    """Kills at a step."""

    kill_at: int
    steps: int = 0

    def step(self) -> None:
        self.steps += 1
        if self.steps == self.kill_at:
            raise Killed

    @property
    def has_killed(self) -> bool:
        return self.steps >= self.kill_at


class FragileDatabase(Database):
    """A way to the database on which a process can die: before, at the end of, and after a transaction."""

    countdown: Countdown

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Tx, None]:
        self.countdown.step()
        async with super().transaction() as tx:
            yield tx
            self.countdown.step()
        self.countdown.step()


@dataclass
class FragilePusher:
    """A pusher with which a process can die: before and after the call."""

    countdown: Countdown

    def recognise(self, url: str) -> str:
        return AppriseOut().recognise(url)

    async def push(self, url: str, *, title: str, body: str, limits: PushLimits) -> None:
        self.countdown.step()
        await AppriseOut().push(url, title=title, body=body, limits=limits)
        self.countdown.step()


async def run_fragile(telling: NewsBench, kill_at: int) -> bool:
    """Carry out what is due, die at a step, and let another go on; false if there was no such step."""
    countdown = Countdown(kill_at)
    fragile = FragileDatabase(telling.database.url, RealClock())
    fragile.countdown = countdown
    await fragile.open()
    sound = telling.pusher
    telling.running_on, telling.pusher = fragile, FragilePusher(countdown)
    try:
        async with telling.stepper() as stepper:
            await _run_until_killed(telling, stepper)
    finally:
        telling.running_on, telling.pusher = None, sound
        await fragile.close()
    # Its heart has stopped for long, so that others take over.
    await telling.rows("update pgqueuer set heartbeat = now() - interval '1 hour' where status = 'picked'")
    await telling.work()
    return countdown.has_killed


async def _run_until_killed(telling: NewsBench, stepper: Stepper) -> None:
    await telling.tick()
    while job := await stepper.claim():
        try:
            _, settlement = await stepper.execute(job)
        except Killed:
            return
        await stepper.settle(job, settlement)


async def follower(telling: NewsBench) -> tuple[UUID, UUID]:
    user, series, source = await telling.user(), await telling.series(), await telling.source()
    await telling.follow(user, series)
    await telling.address(user)
    return series, source


@pytest.mark.parametrize("kill_at", range(1, 5))
async def test_telling_is_done_once_wherever_it_is_killed(telling: NewsBench, kill_at: int) -> None:
    series, source = await follower(telling)
    await telling.publish(series, source, *CHAPTERS)
    killed = await run_fragile(telling, kill_at)
    # Before, at the end of, and after the one transaction there is.
    assert killed is (kill_at <= 3)
    assert await telling.told() == [f"Chapter {number} · Asura" for number in CHAPTERS]
    assert await telling.values("select count(*) from news") == [0]
    assert await telling.values("select count(*) from push_notification where push_id is null") == [3]


MARKED, SETTLED = 9, 14
"""The steps at which it is known that it is being sent, and what became of it."""
MAX_STEPS = 15


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("kill_at", range(1, MAX_STEPS + 1))
async def test_a_push_killed_at_any_step_is_sent_once_or_uncertain(telling: NewsBench, kill_at: int) -> None:
    series, source = await follower(telling)
    await telling.publish(series, source, *CHAPTERS)
    await telling.work()
    telling.clock.advance(GATHER_S)
    killed = await run_fragile(telling, kill_at)
    assert killed is (kill_at < MAX_STEPS), "the steps have changed; count them again"
    for _ in range(3):
        await telling.pass_time(60)
    ((state, attempts),) = await telling.pushes()
    assert (state, attempts) == ("uncertain" if MARKED <= kill_at < SETTLED else "sent", 1)
    assert len(telling.receiver.taken) == (0 if kill_at in {MARKED, MARKED + 1} else 1)
    assert await telling.values("select count(*) from push_notification where push_id is null") == [0]
    # The address goes on to work.
    await telling.publish(series, source, "48")
    await telling.work()
    await telling.pass_time(60)
    assert (await telling.pushes())[-1] == ("sent", 1)
    assert sum("Chapter 48" in text for text in telling.receiver.texts) == 1


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("kill_at", [1, 3, 6, MARKED - 1, MARKED, MARKED + 2, SETTLED - 1, SETTLED])
async def test_a_push_tried_again_after_an_outage_is_sent_once_or_uncertain(
    telling: NewsBench, kill_at: int
) -> None:
    series, source = await follower(telling)
    telling.receiver.answers = [503] * 5
    await telling.publish(series, source, "45")
    await telling.work()
    await telling.pass_time(120)
    await telling.publish(series, source, "46")
    await telling.work()
    assert await telling.pushes() == [("planned", 5)]
    telling.clock.advance(FIRST_OPEN_S)
    await run_fragile(telling, kill_at)
    await telling.pass_time(2 * FIRST_OPEN_S)
    assert await telling.pushes() == [("uncertain" if MARKED <= kill_at < SETTLED else "sent", 6)]
    assert len(telling.receiver.taken) == (0 if kill_at in {MARKED, MARKED + 1} else 1)
    assert await telling.values("select notifications from push") == [2]
    assert await telling.values("select count(*) from push_notification where push_id is null") == [0]


async def test_a_push_that_was_marked_by_somebody_who_vanished_says_so(telling: NewsBench) -> None:
    series, source = await follower(telling)
    await telling.publish(series, source, "45")
    await telling.work()
    telling.clock.advance(GATHER_S)

    class Vanishing(FragilePusher):
        async def push(self, url: str, *, title: str, body: str, limits: PushLimits) -> None:
            raise Killed

    telling.pusher = Vanishing(Countdown(0))
    with pytest.raises(Killed):
        await telling.work()
    assert await telling.pushes() == [("sending", 1)]
    telling.pusher = AppriseOut()
    await telling.rows("update pgqueuer set heartbeat = now() - interval '1 hour' where status = 'picked'")
    await telling.work()
    assert await telling.rows("select state, error from push") == [
        {
            "state": "uncertain",
            "error": "Headgate stopped while this was being sent; it may have arrived.",
        }
    ]
    await telling.pass_time(600)
    assert (telling.receiver.calls, len(await telling.told())) == (0, 1)
