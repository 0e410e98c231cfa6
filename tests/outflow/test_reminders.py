"""Reminders: what can be kept, and what becomes of a plan that is changed, paused, copied or removed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from plans_bench import START, PlansBench, unknown

from headgate.domain.errors import UserError
from headgate.domain.reminders.recurrence import Schedule, daily
from headgate.domain.reminders.windows import Window
from headgate.outflow.reminders import reminders
from headgate.outflow.reminders import targets as outflow_targets
from headgate.outflow.reminders.drafts import Draft, DraftPart
from headgate.outflow.reminders.previews import preview
from headgate.outflow.reminders.reminders import Saved
from headgate.storage.reminders.reminder_overview import ReminderCursor, list_reminders
from headgate.storage.reminders.targets import note_targets


async def save(plans: PlansBench, draft: Draft) -> Saved:
    return await plans.do(lambda tx: reminders.create(tx, draft, ids=plans.ids, now=plans.now))


async def test_a_reminder_is_kept_with_all_that_belongs_to_it(plans: PlansBench) -> None:
    media_id = await plans.media()
    (lake,) = await plans.targets("lake")
    list_id = await plans.do(
        lambda tx: outflow_targets.create_list(tx, "Walkers", [lake], ids=plans.ids, now=plans.now)
    )
    parts = (DraftPart("Dear {group}"), DraftPart("", media_id), DraftPart("a caption", media_id))
    draft = await plans.draft("hill", "lake", parts=parts, lists=(list_id,), at_close="carry")
    saved = await save(plans, draft)
    assert saved == Saved(saved.id, datetime(2026, 3, 2, 9, tzinfo=UTC), targets=2)
    full = await plans.do(lambda tx: reminders.get(tx, saved.id))
    assert [(part.text, part.media_name) for part in full.parts] == [
        ("Dear {group}", ""),
        ("", "a.png"),
        ("a caption", "a.png"),
    ]
    assert [(target.key, target.seen) for target in full.targets] == [("hill", True), ("lake", True)]
    assert [(one.name, one.members) for one in full.lists] == [("Walkers", 1)]
    assert (full.reminder.at_close, full.reminder.state, full.reminder.account_name) == (
        "carry",
        "active",
        "main",
    )


async def test_a_new_reminder_may_be_sent_from_six_to_eighteen(plans: PlansBench) -> None:
    reminder = await plans.reminder(await plans.create("lake"))
    assert reminder.window.text == "06:00–18:00"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"title": " "}, "needs a title"),
        ({"account_id": None}, "needs an account"),
        ({"account_id": unknown()}, "no such account"),
        ({"parts": ()}, "1 to 20 messages"),
        ({"parts": (DraftPart(" "),)}, "Message 1 is empty"),
        ({"parts": (DraftPart("x" * 4097),)}, "4,097 characters"),
        ({"parts": (DraftPart("Dear {gruop}"),)}, r"no variable \{gruop\}"),
        ({"parts": (DraftPart("", unknown()),)}, "files no longer exists"),
        ({"targets": ()}, "needs a target"),
        ({"targets": (unknown(),)}, "do not exist on simulated"),
        ({"lists": (unknown(),)}, "lists no longer exists"),
        ({"at_close": "wait"}, "'wait' is not an option"),
        ({"schedule": Schedule(datetime.fromisoformat("2026-03-02 07:00"))}, "in the past"),
    ],
)
async def test_a_reminder_that_cannot_be_is_refused_in_words(
    plans: PlansBench, changes: dict[str, Any], sentence: str
) -> None:
    draft = await plans.draft("lake", **changes)
    with pytest.raises(UserError, match=sentence):
        await save(plans, draft)


async def test_a_fire_time_outside_the_window_is_refused_when_it_is_saved(plans: PlansBench) -> None:
    draft = await plans.draft("lake", schedule=daily("19:30"))
    with pytest.raises(UserError, match=r"19:30 is outside the delivery window 06:00–18:00\."):
        await save(plans, draft)
    assert (await save(plans, replace(draft, window=Window(0, 1440)))).due_at is not None


async def test_evening_reminders_with_a_window_of_the_whole_day_keep_firing(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake", schedule=daily("23:00"), window=Window(0, 1440))
    plans.to(datetime(2026, 3, 2, 23, tzinfo=UTC))
    await plans.work()
    assert await plans.values("select state from run where reminder_id = $1", reminder_id) == ["waiting"]


async def test_targets_that_the_account_does_not_see_are_a_warning(plans: PlansBench) -> None:
    account = await plans.account()
    draft = await plans.draft("lake", "hill")
    await plans.do(
        lambda tx: note_targets(tx, account.id, [], platform="simulated", ids=plans.ids, now=plans.now)
    )
    (warning,) = (await save(plans, draft)).warnings
    assert warning == "main does not see 2 of the 2 targets; what is sent there may fail."


async def test_messages_that_are_alike_for_all_groups_are_a_warning(plans: PlansBench) -> None:
    draft = await plans.draft("lake", "hill", parts=(DraftPart("Hello"),))
    (warning,) = (await save(plans, draft)).warnings
    assert "byte-identical" in warning


async def test_targets_of_another_platform_are_refused(plans: PlansBench) -> None:
    other = await plans.account("elsewhere", platform="telegram")
    draft = await plans.draft("lake", account_id=other.id)
    with pytest.raises(
        UserError, match="1 of the targets do not exist on telegram, the platform of elsewhere"
    ):
        await save(plans, draft)


async def test_a_change_replaces_everything_and_counts_from_now_on(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake")
    plans.to(datetime(2026, 3, 2, 12, tzinfo=UTC))
    draft = await plans.draft("hill", title="Harvest", schedule=daily("11:00"))
    saved = await plans.do(lambda tx: reminders.update(tx, reminder_id, draft, now=plans.now))
    assert saved.due_at == datetime(2026, 3, 3, 11, tzinfo=UTC)
    full = await plans.do(lambda tx: reminders.get(tx, reminder_id))
    assert (full.reminder.title, [target.key for target in full.targets]) == ("Harvest", ["hill"])
    await plans.work()
    assert await plans.values("select count(*) from run") == [0]


async def test_a_new_title_does_not_swallow_a_fire_that_is_due(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake")
    plans.to(datetime(2026, 3, 2, 9, 1, tzinfo=UTC))
    draft = await plans.draft("lake", title="Harvest")
    await plans.do(lambda tx: reminders.update(tx, reminder_id, draft, now=plans.now))
    await plans.work()
    assert await plans.values("select title from run") == ["Harvest"]


async def test_a_reminder_that_fired_once_can_still_be_renamed(plans: PlansBench) -> None:
    once = Schedule(datetime.fromisoformat("2026-03-02 09:00"))
    reminder_id = await plans.create("lake", schedule=once)
    plans.to(datetime(2026, 3, 2, 10, tzinfo=UTC))
    await plans.work()
    draft = await plans.draft("lake", title="Harvest", schedule=once)
    saved = await plans.do(lambda tx: reminders.update(tx, reminder_id, draft, now=plans.now))
    assert saved.due_at is None
    with pytest.raises(UserError, match="in the past"):
        moved = replace(draft, window=Window(zone="Europe/London"))
        await plans.do(lambda tx: reminders.update(tx, reminder_id, moved, now=plans.now))


async def test_what_is_missed_while_paused_is_not_made_up_for(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake")
    await plans.do(lambda tx: reminders.pause(tx, reminder_id, now=plans.now))
    plans.to(datetime(2026, 3, 4, 10, tzinfo=UTC))
    assert await plans.work() == 0
    due_at = await plans.do(lambda tx: reminders.resume(tx, reminder_id, now=plans.now))
    assert due_at == datetime(2026, 3, 5, 9, tzinfo=UTC)
    await plans.work()
    assert await plans.values("select count(*) from run") == [0]


async def test_resuming_what_is_active_leaves_a_due_fire_due(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake")
    plans.to(datetime(2026, 3, 2, 9, 5, tzinfo=UTC))
    await plans.do(lambda tx: reminders.resume(tx, reminder_id, now=plans.now))
    await plans.work()
    assert await plans.values("select count(*) from run") == [1]


async def test_a_time_that_passed_during_a_pause_is_told_when_resumed(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake", schedule=Schedule(datetime.fromisoformat("2026-03-02 09:00")))
    await plans.do(lambda tx: reminders.pause(tx, reminder_id, now=plans.now))
    plans.to(datetime(2026, 3, 3, 9, tzinfo=UTC))
    with pytest.raises(UserError, match="is not sent any more"):
        await plans.do(lambda tx: reminders.resume(tx, reminder_id, now=plans.now))


async def test_a_copy_has_everything_and_is_paused(plans: PlansBench) -> None:
    original = await plans.create("lake", "hill")
    copy = await plans.do(lambda tx: reminders.duplicate(tx, original, ids=plans.ids, now=plans.now))
    first = await plans.do(lambda tx: reminders.get(tx, original))
    second = await plans.do(lambda tx: reminders.get(tx, copy))
    assert (second.parts, second.targets, second.lists) == (first.parts, first.targets, first.lists)
    assert (second.reminder.title, second.reminder.state) == ("Copy of Water the plants", "paused")
    assert second.reminder.due_at is None


async def test_what_is_archived_neither_fires_nor_changes_until_it_is_taken_out(plans: PlansBench) -> None:
    reminder_id = await plans.create("lake")
    draft = await plans.draft("lake")
    await plans.do(lambda tx: reminders.archive(tx, reminder_id, now=plans.now))
    plans.clock.advance(86400)
    assert await plans.work() == 0
    with pytest.raises(UserError, match="is archived"):
        await plans.do(lambda tx: reminders.resume(tx, reminder_id, now=plans.now))
    with pytest.raises(UserError, match="is archived"):
        await plans.do(lambda tx: reminders.pause(tx, reminder_id, now=plans.now))
    with pytest.raises(UserError, match="is archived"):
        await plans.do(lambda tx: reminders.update(tx, reminder_id, draft, now=plans.now))
    with pytest.raises(UserError, match="is archived"):
        await plans.run_now(reminder_id)
    await plans.do(lambda tx: reminders.unarchive(tx, reminder_id, now=plans.now))
    assert (await plans.reminder(reminder_id)).state == "paused"


@pytest.mark.parametrize("state", ["waiting", "running", "paused"])
async def test_a_reminder_with_a_run_under_way_is_not_deleted(plans: PlansBench, state: str) -> None:
    reminder_id = await plans.create("lake")
    await plans.run_now(reminder_id)
    await plans.rows("update run set state = $1", state)
    with pytest.raises(UserError, match="A run of 'Water the plants' has not ended yet"):
        await plans.do(lambda tx: reminders.delete(tx, reminder_id))
    await plans.rows("update run set state = 'success'")
    await plans.do(lambda tx: reminders.delete(tx, reminder_id))
    assert await plans.values("select count(*) from run union all select count(*) from part") == [0, 0]
    with pytest.raises(UserError, match="no such reminder"):
        await plans.do(lambda tx: reminders.delete(tx, reminder_id))


async def test_whom_a_reminder_reached_is_forgotten_with_it(plans: PlansBench) -> None:
    kept, gone = await plans.create("lake"), await plans.create("lake")
    await plans.rows(
        "insert into reminder_reach (reminder_id, target_id, sent_at)"
        " select r.id, t.id, $1 from reminder r cross join target t",
        plans.now,
    )
    await plans.do(lambda tx: reminders.delete(tx, gone))
    assert await plans.values("select reminder_id from reminder_reach") == [kept]


async def test_a_list_that_reminders_send_to_is_not_deleted(plans: PlansBench) -> None:
    (lake,) = await plans.targets("lake")
    list_id = await plans.do(
        lambda tx: outflow_targets.create_list(tx, "Walkers", [lake], ids=plans.ids, now=plans.now)
    )
    reminder_id = await plans.create(lists=(list_id,))
    with pytest.raises(UserError, match="send to the list 'Walkers': 'Water the plants'"):
        await plans.do(lambda tx: outflow_targets.delete_list(tx, list_id))
    await plans.do(lambda tx: reminders.archive(tx, reminder_id, now=plans.now))
    await plans.do(lambda tx: outflow_targets.delete_list(tx, list_id))
    assert await plans.values("select count(*) from target_list") == [0]


async def test_reminders_are_listed_newest_first_page_by_page(plans: PlansBench) -> None:
    made = [await plans.create("lake", title=f"R{number}") for number in range(3)]
    await plans.do(lambda tx: reminders.pause(tx, made[0], now=plans.now))
    first = await plans.do(lambda tx: list_reminders(tx, limit=2))
    assert [line.title for line in first] == ["R2", "R1"]
    place = ReminderCursor(first[-1].created_at, first[-1].id)
    rest = await plans.do(lambda tx: list_reminders(tx, below=place, limit=2))
    assert [(line.title, line.parts, line.targets, line.last_run_state) for line in rest] == [
        ("R0", 1, 1, None)
    ]
    paused = await plans.do(lambda tx: list_reminders(tx, state="paused", limit=9))
    assert [line.title for line in paused] == ["R0"]


async def test_a_preview_shows_the_next_fires_and_what_the_first_groups_read(plans: PlansBench) -> None:
    media_id = await plans.media(name="garden.jpg")
    parts = (DraftPart("Dear {group}, {weekday} {date} {time}: {number} of {total}"), DraftPart("", media_id))
    window = Window(zone="Asia/Kuala_Lumpur")
    draft = await plans.draft("lake", "hill", parts=parts, window=window)
    shown = await plans.do(lambda tx: preview(tx, draft, now=plans.now))
    assert shown.next_sends[:2] == (START + timedelta(hours=17), START + timedelta(hours=41))
    assert [message.text for message in shown.groups[1].messages] == [
        "Dear hill, Tuesday 2026-03-03 09:00: 2 of 2",
        "",
    ]
    assert shown.groups[1].messages[1].file == "garden.jpg"
    assert (shown.schedule, shown.total) == ("Daily at 09:00", 2)
