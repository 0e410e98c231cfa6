"""When a set counts as complete, and what is said about it until then."""

from __future__ import annotations

from uuid import UUID

import pytest
from missing import Missing
from set_stage import DAY_S, HOUR_S, ask, get_item_id, library, pass_time, post, read_up_to_now, take_in

from headgate.catalogue.sets import dismiss_problem
from headgate.domain.errors import NotFound
from headgate.outflow.notifications.follows import follow
from headgate.outflow.notifications.notify import Notifier
from headgate.storage.catalogue.sets import note_evidence
from headgate.storage.notifications.follows import Subject


@pytest.fixture
async def user(missing: Missing) -> UUID:
    """Return a user who follows the channel."""
    missing.kinds.add(Notifier(missing.clock).kind())
    user_id = missing.ids.new()
    await ask(
        missing,
        "insert into app_user (id, name, password_hash, role, created_at)"
        " values ($1, 'ada', '', 'member', $2)",
        user_id,
        missing.clock.now(),
    )
    async with missing.database.transaction() as tx:
        subject = Subject(channel_id=missing.channel_id)
        await follow(tx, subject, user_id=user_id, ids=missing.ids, now=missing.clock.now())
    return user_id


async def told(missing: Missing) -> list[str]:
    return [row["body"] for row in await ask(missing, "select body from notification order by at, id")]


class TestCompleteness:
    """When a set is complete, and who hears of it."""

    async def test_it_is_told_once_when_nothing_more_came_for_a_day(
        self, missing: Missing, user: UUID
    ) -> None:
        await take_in(missing, *(post(missing, f"pack.part{n}.rar", 300 - n) for n in (1, 2, 3)))
        await pass_time(missing, DAY_S - 60)
        assert await told(missing) == []
        await pass_time(missing, 120)
        (item,) = await library(missing)
        assert (item["state"], item["reason"], item["total"]) == ("assumed", "last_is_smaller", 3)
        assert await told(missing) == ["pack"]
        await pass_time(missing, 30 * DAY_S)
        assert await told(missing) == ["pack"]

    async def test_silence_counts_only_while_the_channel_was_read(self, missing: Missing) -> None:
        await take_in(missing, *(post(missing, f"pack.part{n}.rar", 300 - n) for n in (1, 2)))
        await read_up_to_now(missing)
        missing.clock.advance(3 * DAY_S)
        await missing.work()
        (item,) = await library(missing)
        assert item["state"] == "waiting"
        await pass_time(missing, HOUR_S + 1)
        (item,) = await library(missing)
        assert item["state"] == "assumed"

    async def test_a_missing_volume_is_a_problem_after_quiet_days_that_a_person_can_dismiss(
        self, missing: Missing
    ) -> None:
        await take_in(missing, post(missing, "pack.part1.rar"), post(missing, "pack.part3.rar"))
        item_id = await get_item_id(missing, "pack")
        await pass_time(missing, 6 * DAY_S)
        (item,) = await library(missing)
        assert not item["problem"]
        await pass_time(missing, DAY_S + 60)
        (item,) = await library(missing)
        assert (item["problem"], item["missing"]) == (True, ["pack.part2.rar"])
        async with missing.database.transaction() as tx:
            await dismiss_problem(tx, item_id, now=missing.clock.now())
        (item,) = await library(missing)
        assert not item["problem"]
        with pytest.raises(NotFound):
            async with missing.database.transaction() as tx:
                await dismiss_problem(tx, item_id, now=missing.clock.now())

    async def test_an_archive_that_may_be_a_volume_is_told_after_half_an_hour(
        self, missing: Missing, user: UUID
    ) -> None:
        await take_in(missing, post(missing, "whole.zip"))
        assert await told(missing) == []
        await pass_time(missing, 29 * 60)
        assert await told(missing) == []
        await pass_time(missing, 61)
        assert await told(missing) == ["whole"]

    async def test_first_bytes_that_show_a_whole_archive_end_the_wait(
        self, missing: Missing, user: UUID
    ) -> None:
        await take_in(missing, post(missing, "whole.zip"))
        (sighting,) = await ask(missing, "select id from sighting")
        async with missing.database.transaction() as tx:
            await note_evidence(tx, missing.channel_id, {sighting["id"]: "whole"}, now=missing.clock.now())
        await missing.work()
        assert await told(missing) == ["whole"]

    async def test_an_archive_that_turned_out_to_be_a_volume_is_not_told_before_its_set(
        self, missing: Missing, user: UUID
    ) -> None:
        await take_in(missing, post(missing, "pack.rar"))
        await pass_time(missing, 60)
        await take_in(missing, post(missing, "pack.r00"), post(missing, "pack.r01", 20))
        await pass_time(missing, 2 * HOUR_S)
        assert await told(missing) == []
        await pass_time(missing, DAY_S)
        assert await told(missing) == ["pack"]
