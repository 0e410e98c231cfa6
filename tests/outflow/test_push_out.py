"""Pushing out: one message for a burst, never in quiet hours, retried, left alone when it keeps failing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from unittest.mock import ANY
from uuid import UUID

import pytest
from notification_bench import GATHER_S, START, NewsBench
from receiver import LOST

from headgate.domain.breaker import FIRST_OPEN_S, state_of
from headgate.kernel.metrics import REGISTRY
from headgate.outflow.notifications import inbox
from headgate.outflow.notifications.inbox import change_settings
from headgate.outflow.notifications.push_out import ALL_READ, MAX_WAIT, TOO_OLD
from headgate.storage.notifications.notification_settings import NotificationSettings


class Scene:
    """A user with an address who follows a series with a source."""

    def __init__(self, telling: NewsBench, ids: list[UUID]) -> None:
        self.telling = telling
        self.user, self.series, self.source, self.address = ids

    async def publish(self, *numbers: str) -> None:
        await self.telling.publish(self.series, self.source, *numbers)
        await self.telling.work()

    async def to(self, at: datetime) -> None:
        """Move the time to a moment, without anything happening on the way, and then let it happen."""
        self.telling.clock.advance((at - self.telling.now).total_seconds())
        await self.telling.work()


@pytest.fixture
async def scene(telling: NewsBench) -> Scene:
    user, series, source = await telling.user(), await telling.series(), await telling.source()
    await telling.follow(user, series)
    return Scene(telling, [user, series, source, await telling.address(user)])


async def test_one_notification_goes_out_after_the_gathering_time(scene: Scene) -> None:
    telling = scene.telling
    await scene.publish("45")
    assert telling.receiver.taken == []
    await telling.pass_time(GATHER_S)
    (text,) = telling.receiver.texts
    assert "Solo Leveling" in text
    assert "Chapter 45" in text
    assert await telling.pushes() == [("sent", 1)]
    shown = await telling.shown_address(scene.address)
    assert (shown.sent_at, shown.error, shown.waiting, shown.due_at) == (telling.now, "", 0, None)


async def test_a_burst_is_one_digest(scene: Scene) -> None:
    telling = scene.telling
    for number in range(45, 51):
        await scene.publish(str(number))
    await telling.pass_time(GATHER_S)
    assert len(telling.receiver.taken) == 1
    assert await telling.values("select notifications from push") == [6]
    await telling.pass_time(300)
    assert len(telling.receiver.taken) == 1


async def test_what_is_not_to_be_pushed_does_not_go_out(scene: Scene) -> None:
    telling = scene.telling
    await telling.follow(scene.user, scene.series, push=False)
    await scene.publish("45")
    await telling.pass_time(60)
    assert (telling.receiver.taken, await telling.pushes()) == ([], [])


async def test_what_was_read_meanwhile_does_not_go_out(scene: Scene) -> None:
    telling = scene.telling
    await scene.publish("45")
    now = telling.now
    await telling.do(lambda tx: inbox.mark_all_read(tx, user_id=scene.user, until=now, now=now))
    await telling.pass_time(60)
    assert (telling.receiver.taken, await telling.pushes()) == ([], [])


async def test_each_address_gets_it_once(scene: Scene) -> None:
    telling = scene.telling
    await telling.address(scene.user, "tablet")
    await scene.publish("45")
    await telling.pass_time(60)
    assert len(telling.receiver.taken) == 2
    assert await telling.pushes() == [("sent", 1)] * 2


async def quiet(scene: Scene, zone: str, from_min: int, to_min: int) -> None:
    settings = NotificationSettings(zone, from_min, to_min)
    telling = scene.telling
    await telling.do(lambda tx: change_settings(tx, settings, user_id=scene.user, now=telling.now))


async def test_quiet_hours_over_midnight_put_it_off_to_their_end(scene: Scene) -> None:
    telling = scene.telling
    await quiet(scene, "Asia/Kuala_Lumpur", 22 * 60, 7 * 60)
    # 22:30 on the wall.
    await scene.to(START.replace(hour=14, minute=30))
    await scene.publish("45")
    await telling.pass_time(60)
    await scene.to(START.replace(hour=16, minute=30))
    await scene.publish("46")
    await scene.to(START.replace(hour=22, minute=59))
    assert telling.receiver.taken == []
    assert (await telling.shown_address(scene.address)).waiting == 2
    await scene.to(START.replace(hour=23, minute=0))
    assert len(telling.receiver.taken) == 1
    assert await telling.values("select notifications from push") == [2]


@pytest.mark.parametrize(
    ("at", "ends_at"),
    [
        # The clock goes from 01:00 to 02:00 on 29 March 2026, and back from 02:00 to 01:00 on 25 October.
        (datetime(2026, 3, 28, 23, tzinfo=UTC), datetime(2026, 3, 29, 6, tzinfo=UTC)),
        (datetime(2026, 10, 24, 22, tzinfo=UTC), datetime(2026, 10, 25, 7, tzinfo=UTC)),
    ],
)
async def test_quiet_hours_end_on_the_wall_when_clocks_are_changed(
    scene: Scene, at: datetime, ends_at: datetime
) -> None:
    telling = scene.telling
    await quiet(scene, "Europe/London", 22 * 60, 7 * 60)
    await scene.to(at)
    await scene.publish("45")
    await telling.pass_time(60)
    assert (await telling.shown_address(scene.address)).due_at == ends_at
    await scene.to(ends_at - timedelta(seconds=1))
    assert telling.receiver.taken == []
    await scene.to(ends_at)
    assert len(telling.receiver.taken) == 1


async def test_whoever_ends_the_quiet_hours_gets_what_waits(scene: Scene) -> None:
    telling = scene.telling
    await quiet(scene, "UTC", 0, 23 * 60)
    await scene.publish("45")
    await telling.pass_time(60)
    assert telling.receiver.taken == []
    await telling.do(
        lambda tx: change_settings(tx, NotificationSettings(), user_id=scene.user, now=telling.now)
    )
    await telling.work()
    assert len(telling.receiver.taken) == 1


async def test_a_service_that_fails_three_times_and_then_works_gets_it_once(scene: Scene) -> None:
    telling = scene.telling
    telling.receiver.answers = [500, 503, 403]
    await scene.publish("45")
    await telling.pass_time(GATHER_S)
    assert await telling.pushes() == [("planned", 1)]
    shown = await telling.shown_address(scene.address)
    assert "error=500" in shown.error
    assert (shown.failures, shown.due_at) == (0, telling.now + timedelta(seconds=5))
    await telling.pass_time(120)
    assert await telling.pushes() == [("sent", 4)]
    assert (telling.receiver.calls, len(telling.receiver.taken)) == (4, 1)
    assert (await telling.shown_address(scene.address)).error == ""


async def test_a_service_that_limits_us_slows_the_pace_of_its_address(scene: Scene) -> None:
    telling = scene.telling
    telling.receiver.answers = [429]
    await scene.publish("45")
    await telling.pass_time(GATHER_S)
    assert await telling.pushes() == [("planned", 1)]
    assert await telling.values("select rate < ceiling from lane") == [True]
    # Until the pause is over nothing is even marked.
    await telling.pass_time(30)
    assert (telling.receiver.calls, await telling.pushes()) == (1, [("planned", 1)])


async def test_what_fails_five_times_waits_for_the_address_and_says_why(scene: Scene) -> None:
    telling = scene.telling
    telling.receiver.answers = [500] * 5
    await scene.publish("45")
    await telling.pass_time(120)
    assert await telling.pushes() == [("planned", 5)]
    shown = await telling.shown_address(scene.address)
    assert (shown.failures, shown.waiting, telling.receiver.calls) == (1, 1, 5)
    assert state_of(shown.breaker, now=telling.now) == "open"
    assert shown.due_at == shown.open_until
    (push,) = await telling.do(
        lambda tx: telling.addresses.list_pushes(tx, scene.address, user_id=scene.user)
    )
    assert "Internal server error" in push.error
    assert "127.0.0.1" not in push.error
    await telling.pass_time(FIRST_OPEN_S)
    assert (len(telling.receiver.taken), await telling.pushes()) == (1, [("sent", 6)])


@pytest.mark.long
async def test_a_days_outage_ends_with_one_digest_of_all_that_fell_into_it(scene: Scene) -> None:
    telling = scene.telling
    telling.receiver.answers = [503] * 1000
    for number in range(1, 13):
        await scene.publish(str(number))
        await telling.pass_time(2 * 3600)
    shown = await telling.shown_address(scene.address)
    assert (telling.receiver.taken, shown.waiting) == ([], 12)
    # Five quick tries, five pauses that grow to an hour, then a try an hour.
    assert telling.receiver.calls <= 5 + 5 + 24
    telling.receiver.answers = []
    await telling.pass_time(3600)
    assert len(telling.receiver.taken) == 1
    assert "12 new chapters" in telling.receiver.texts[0]
    assert await telling.values("select notifications from push where state = 'sent'") == [12]
    shown = await telling.shown_address(scene.address)
    assert (shown.failures, shown.open_until, shown.error, shown.waiting) == (0, None, "", 0)
    await telling.pass_time(2 * 3600)
    assert len(telling.receiver.taken) == 1


async def test_what_was_read_during_an_outage_does_not_go_out(scene: Scene) -> None:
    telling = scene.telling
    telling.receiver.answers = [500] * 5
    await scene.publish("45")
    await telling.pass_time(120)
    now = telling.now
    await telling.do(lambda tx: inbox.mark_all_read(tx, user_id=scene.user, until=now, now=now))
    await telling.pass_time(FIRST_OPEN_S)
    assert (telling.receiver.taken, await telling.pushes()) == ([], [("failed", 5)])
    assert await telling.values("select error from push") == [ALL_READ]
    assert (await telling.shown_address(scene.address)).due_at is None
    await scene.publish("46")
    await telling.pass_time(120)
    assert ["Chapter 46" in text for text in telling.receiver.texts] == [True]


async def test_what_waited_for_a_week_is_given_up_and_a_person_can_send_it(scene: Scene) -> None:
    telling = scene.telling
    telling.receiver.answers = [500] * 1000
    await scene.publish("45")
    await telling.pass_time(60)
    await scene.to(telling.now + MAX_WAIT - timedelta(hours=1))
    await scene.publish("46")
    await scene.to(telling.now + timedelta(hours=2))
    assert sorted(await telling.rows("select state, error from push"), key=lambda row: row["state"]) == [
        {"state": "failed", "error": TOO_OLD},
        {"state": "planned", "error": ANY},
    ]
    telling.receiver.answers = []
    await telling.pass_time(2 * 3600)
    (text,) = telling.receiver.texts
    assert "Chapter 46" in text
    (push_id,) = await telling.values("select id from push where state = 'failed'")
    await telling.do(
        lambda tx: telling.addresses.repeat(tx, push_id, address_id=scene.address, user_id=scene.user)
    )
    await telling.work()
    assert "Chapter 45" in telling.receiver.texts[-1]


async def fail_until_open(scene: Scene) -> None:
    telling = scene.telling
    telling.receiver.answers = [500] * 5
    await scene.publish("1")
    await telling.pass_time(120)
    assert await telling.pushes() == [("planned", 5)]
    shown = await telling.shown_address(scene.address)
    assert state_of(shown.breaker, now=telling.now) == "open"


async def test_an_address_that_keeps_failing_waits_and_gets_all_as_one_digest(scene: Scene) -> None:
    telling = scene.telling
    await fail_until_open(scene)
    calls = telling.receiver.calls
    for number in range(100, 110):
        await scene.publish(str(number))
    await telling.pass_time(60)
    assert telling.receiver.calls == calls
    await telling.pass_time(FIRST_OPEN_S)
    assert (len(telling.receiver.taken), await telling.pushes()) == (1, [("sent", 6)])
    assert await telling.values("select notifications from push where state = 'sent'") == [11]
    shown = await telling.shown_address(scene.address)
    assert (shown.failures, shown.open_until, shown.error) == (0, None, "")


async def test_a_probe_that_fails_is_one_call_and_loses_nothing(scene: Scene) -> None:
    telling = scene.telling
    await fail_until_open(scene)
    await scene.publish("100")
    calls = telling.receiver.calls
    telling.receiver.answers = [500]
    await telling.pass_time(FIRST_OPEN_S)
    shown = await telling.shown_address(scene.address)
    assert (telling.receiver.calls, shown.opened, shown.waiting) == (calls + 1, 2, 2)
    await scene.publish("101")
    await telling.pass_time(2 * FIRST_OPEN_S + 60)
    assert len(telling.receiver.taken) == 1
    assert await telling.values("select notifications from push where state = 'sent'") == [3]


async def test_an_answer_that_is_lost_is_uncertain_and_never_repeated_by_itself(scene: Scene) -> None:
    telling = scene.telling
    telling.receiver.answers = [LOST]
    await scene.publish("45")
    await telling.pass_time(600)
    assert (telling.receiver.calls, await telling.pushes()) == (1, [("uncertain", 1)])
    assert "lost on the way" in (await telling.shown_address(scene.address)).error
    (push_id,) = await telling.values("select id from push")
    await telling.do(
        lambda tx: telling.addresses.repeat(tx, push_id, address_id=scene.address, user_id=scene.user)
    )
    await telling.work()
    assert await telling.pushes() == [("sent", 1)]


async def test_an_address_that_is_off_gets_nothing_later_either(scene: Scene) -> None:
    telling = scene.telling
    await scene.publish("45")
    for enabled in (False, True):
        await telling.do(
            lambda tx, enabled=enabled: telling.addresses.enable(
                tx, scene.address, user_id=scene.user, enabled=enabled
            )
        )
        await scene.publish(f"{46 + enabled}")
    await telling.pass_time(60)
    (text,) = telling.receiver.texts
    assert "Chapter 47" in text


async def test_pushes_are_counted_by_what_came_of_them(scene: Scene) -> None:
    telling = scene.telling

    def count(result: str) -> float:
        return REGISTRY.get_sample_value("headgate_pushes_total", {"result": result}) or 0.0

    sent, failed = count("sent"), count("failed")
    telling.receiver.answers = [500, 500]
    await scene.publish("45")
    await telling.pass_time(120)
    assert (count("sent"), count("failed")) == (sent + 1, failed + 2)
