"""The form in which reminders are planned: it works as a plain form, and loses nothing."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest
from outflow_pages import all_targets, plain_form, send_form, text_of, value_of, wrong
from programs import add_targets
from webworld import WebWorld

from headgate.outflow.reminders.media import MAX_MEDIA_BYTES
from headgate.storage.reminders.reminder_overview import FullReminder, get_reminder


async def kept(world: WebWorld, path: str) -> FullReminder:
    async with world.database.transaction() as tx:
        full = await get_reminder(tx, UUID(path.rpartition("/")[2]))
    assert full is not None
    return full


async def test_a_form_becomes_a_reminder(world: WebWorld) -> None:
    account_id = await add_targets(world, "a", "b")
    fields = plain_form(account_id, await all_targets(world), text__2="Bye", media__2="", at_close="carry")
    async with world.signed_in() as client:
        saved = await send_form(client, fields)
        assert saved.status_code == 303
        page = await client.get(saved.headers["location"])
    full = await kept(world, saved.headers["location"])
    assert (full.reminder.title, full.reminder.cron, full.reminder.at_close) == (
        "Water",
        "0 9 * * *",
        "carry",
    )
    assert [part.text for part in full.parts] == ["Dear {group}", "Bye"]
    assert [target.title for target in full.targets] == ["a", "b"]
    assert "Daily at 09:00 · UTC" in text_of(page)
    assert "2 groups, done by about 2026-05-05 09:0" in text_of(page)


async def test_errors_stand_beside_their_fields_and_nothing_typed_is_lost(world: WebWorld) -> None:
    account_id = await add_targets(world, "a")
    fields = plain_form(
        account_id,
        [],
        title="",
        text__1="Dear {grup}\n & <b>all</b>",
        zone="Mars/Olympus",
        repeat="cron",
        cron="* * * *",
    )
    async with world.signed_in() as client:
        answer = await send_form(client, fields)
    said = wrong(answer)
    assert answer.status_code == 422
    assert set(said) == {"title", "part-1", "targets", "zone", "schedule"}
    assert said["part-1"].startswith("There is no variable {grup}.")
    assert value_of(answer, "text-1") == "Dear {grup}\n & <b>all</b>"
    assert (value_of(answer, "zone"), value_of(answer, "cron")) == ("Mars/Olympus", "* * * *")
    assert '<option value="' + str(account_id) + '" selected' in answer.text


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"time": "19:00"}, "schedule", "19:00 is outside the delivery window 06:00–18:00."),
        ({"repeat": "once", "date": "2026-05-04"}, "schedule", "is in the past"),
        ({"repeat": "once", "date": ""}, "schedule", "Choose a date."),
        ({"repeat": "once", "date": "9999-12-31"}, "schedule", "The year 9999 cannot be scheduled."),
        ({"repeat": "once", "date": "0001-01-01"}, "schedule", "The year 1 cannot be scheduled."),
        ({"repeat": "weekly"}, "schedule", "Choose a day of the week."),
        ({"window_end": "06:00"}, "window", "cannot start and end at 06:00"),
        ({"window_start": "soon"}, "window", "'soon' is not a time of day."),
        ({"account": ""}, "account", "Choose the account that sends."),
        ({"text__1": " "}, "part-1", "Message 1 is empty."),
        ({"text__1": "x" * 4097}, "part-1", "at most 4,096 can be sent"),
    ],
)
async def test_what_cannot_be_is_said_where_it_stands(
    world: WebWorld, changes: dict[str, Any], field: str, words: str
) -> None:
    account_id = await add_targets(world, "a")
    async with world.signed_in() as client:
        answer = await send_form(client, plain_form(account_id, await all_targets(world), **changes))
    assert answer.status_code == 422
    assert words in wrong(answer)[field]


@pytest.mark.parametrize(
    ("changes", "described"),
    [
        ({"repeat": "once", "date": "2026-05-05"}, "Once on 2026-05-05 at 09:00"),
        ({"repeat": "weekdays"}, "Weekdays at 09:00"),
        ({"repeat": "weekly", "days": ["mon", "thu"]}, "Weekly on Monday and Thursday at 09:00"),
        ({"repeat": "monthly", "day": "last"}, "Monthly on the last day at 09:00"),
        ({"repeat": "monthly", "day": "31"}, "Monthly on day 31 at 09:00"),
        ({"repeat": "cron", "cron": "0 9,15 * * *"}, "cron 0 9,15 * * *"),
    ],
)
async def test_a_schedule_is_the_same_when_it_is_edited(
    world: WebWorld, changes: dict[str, Any], described: str
) -> None:
    account_id = await add_targets(world, "a")
    async with world.signed_in() as client:
        saved = await send_form(client, plain_form(account_id, await all_targets(world), **changes))
        path = saved.headers["location"]
        assert described in text_of(await client.get(path))
        form = (await client.get(f"{path}/edit")).text
    assert re.findall(r'name="repeat" value="(\w+)" checked', form) == [changes["repeat"]]
    days = re.findall(r'name="days" value="(\w+)" checked', form)
    assert days == changes.get("days", days)


async def test_a_window_may_be_the_whole_day_cross_midnight_and_end_at_midnight(world: WebWorld) -> None:
    account_id = await add_targets(world, "a")
    targets = await all_targets(world)
    windows = {
        (0, 1440): {"whole_day": "true"},
        (1320, 360): {"window_start": "22:00", "window_end": "06:00", "time": "23:00"},
        (360, 1440): {"window_end": "00:00"},
    }
    async with world.signed_in() as client:
        for ends, changes in windows.items():
            path = (await send_form(client, plain_form(account_id, targets, **changes))).headers["location"]
            known = (await kept(world, path)).reminder
            assert (known.window_start, known.window_end) == ends
            form = await client.get(f"{path}/edit")
            assert ('name="whole_day" value="true" checked' in form.text) == (ends == (0, 1440))


async def test_messages_are_added_moved_and_removed_without_scripts(world: WebWorld) -> None:
    account_id = await add_targets(world, "a")
    fields = plain_form(account_id, [], text__1="one", text__2="two", text__3="three")

    async def texts(do: str) -> list[str]:
        page = await send_form(client, fields, do)
        return re.findall(r"<textarea[^>]*>(.*?)</textarea>", page.text)

    async with world.signed_in() as client:
        assert await texts("part-add") == ["one", "two", "three", ""]
        assert await texts("part-up:2") == ["two", "one", "three"]
        assert await texts("part-down:2") == ["one", "three", "two"]
        assert await texts("part-remove:1") == ["two", "three"]
        assert await texts("part-up:1") == ["one", "two", "three"]
        assert await texts("part-up:99") == ["one", "two", "three"]
        assert await texts("nonsense") == ["one", "two", "three"]


async def test_a_file_is_kept_even_if_something_else_is_wrong(world: WebWorld) -> None:
    account_id = await add_targets(world, "a")
    fields = plain_form(account_id, await all_targets(world), title="", text__1="")
    async with world.signed_in() as client:
        page = await send_form(client, fields, files={"file-1": ("plants.jpg", b"green", "image/jpeg")})
        assert set(wrong(page)) == {"title"}
        assert "plants.jpg" in page.text
        again = fields | {"title": "Water", "media-1": value_of(page, "media-1")}
        saved = await send_form(client, again)
        assert "plants.jpg" in (await client.get(saved.headers["location"])).text
        without = await send_form(client, again, "file-remove:1")
        assert value_of(without, "media-1") == ""


async def test_a_file_that_is_too_large_is_refused_in_words(world: WebWorld) -> None:
    account_id = await add_targets(world, "a")
    fields = plain_form(account_id, await all_targets(world))
    async with world.signed_in() as client:
        files = {"file-1": ("film.mp4", b"x" * (MAX_MEDIA_BYTES + 1), "video/mp4")}
        page = await send_form(client, fields, files=files)
    assert "at most 50 MB can be sent" in wrong(page)["part-1"]
    assert value_of(page, "text-1") == "Dear {group}"


async def test_groups_are_found_by_words_and_ticked(world: WebWorld) -> None:
    account_id = await add_targets(world, "North garden", "South garden", "The lake")
    north, south, lake = await all_targets(world)
    async with world.signed_in() as client:
        page = await send_form(client, plain_form(account_id, [lake], words="garden"), "look")
        assert value_of(page, "shown") == f"{north} {south}"
        assert "1 group ticked: The lake" in text_of(page)
        shown = {"words": "garden", "shown": f"{north} {south}"}
        # South was ticked before and is not any more; North is new; the lake is not shown and stays.
        fields = plain_form(account_id, [lake, south], tick=north, **shown)
        assert value_of(await send_form(client, fields, "look"), "chosen") == f"{lake} {north}"
        everything = await send_form(client, plain_form(account_id, [lake], **shown), "choose-found")
        assert value_of(everything, "chosen") == f"{lake} {north} {south}"
        nothing = await send_form(client, plain_form(account_id, [lake]), "choose-none")
        assert value_of(nothing, "chosen") == ""
        ticked = await send_form(client, plain_form(account_id, [lake], only_chosen="true"), "look")
        assert value_of(ticked, "shown") == lake


async def test_thousands_of_groups_fit_into_a_form(world: WebWorld) -> None:
    account_id = await add_targets(world, *(f"group {number}" for number in range(3000)))
    async with world.signed_in() as client:
        page = await send_form(client, plain_form(account_id, []), "choose-found")
        chosen = value_of(page, "chosen").split()
        assert len(chosen) == 3000
        many = plain_form(account_id, chosen * 20)
        files = {"file-1": ("a.txt", b"a", "text/plain")}
        saved = await send_form(client, many, files=files)
    assert len((await kept(world, saved.headers["location"])).targets) == 3000


async def test_the_ticked_groups_become_a_list_that_takes_their_place(world: WebWorld) -> None:
    account_id = await add_targets(world, "a", "b")
    fields = plain_form(account_id, await all_targets(world), list_name="  Both of  them ")
    async with world.signed_in() as client:
        page = await send_form(client, fields, "save-list")
        assert "The list “Both of them” is saved" in page.text
        assert value_of(page, "chosen") == ""
        list_id = re.search(r'name="list" value="([^"]+)" checked', page.text)
        assert list_id is not None
        saved = await send_form(client, plain_form(account_id, [], list=list_id[1]))
        assert "the list Both of them (2)" in text_of(await client.get(saved.headers["location"]))
        again = await send_form(client, fields, "save-list")
        assert "There is already a list 'Both of them'." in wrong(again)["list_name"]
        nobody = await send_form(client, plain_form(account_id, [], list_name="x"), "save-list")
        assert "list_name" in wrong(nobody)


async def test_what_will_happen_is_told_before_saving(world: WebWorld) -> None:
    account_id = await add_targets(world, "The lake", "The hill")
    async with world.signed_in() as client:
        fields = plain_form(account_id, await all_targets(world), title="", text__1="It is {weekday}")
        page = text_of(await send_form(client, fields, "look"))
    assert "Tue 2026-05-05 09:00" in page
    assert "It is Tuesday" in page
    assert "2 groups, done by about" in page
    assert "All messages are byte-identical" in page
    assert "Still to do Give it a title." in page


async def test_a_reminder_is_edited(world: WebWorld) -> None:
    account_id = await add_targets(world, "a", "b")
    targets = await all_targets(world)
    async with world.signed_in() as client:
        path = (await send_form(client, plain_form(account_id, targets))).headers["location"]
        form = await client.get(f"{path}/edit")
        assert (value_of(form, "title"), value_of(form, "text-1")) == ("Water", "Dear {group}")
        assert value_of(form, "chosen").split() == targets
        changed = plain_form(account_id, targets[:1], title="Rain")
        assert (await send_form(client, changed, path=f"{path}/edit")).headers["location"] == path
        await send_form(client, {}, path=f"{path}/archive")
        refused = await send_form(client, changed, path=f"{path}/edit")
        assert "is archived" in text_of(refused)
    full = await kept(world, path)
    assert (full.reminder.title, len(full.targets)) == ("Rain", 1)
