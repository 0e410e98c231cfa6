"""`headgate reminder`: planning messages, as a person does it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ledger import LOGIN, Ledger

PLAN = ("--title", "Water", "--account", "atlas", "--target", "group-01", "--target", "group-02")
DAILY = ("--daily", "09:00", "--zone", "Asia/Kuala_Lumpur")


@pytest.fixture
def groups(ledger: Ledger) -> Ledger:
    """A demo whose account was asked where it can write to."""
    ledger.said("account", "add", "simulated", "atlas", "--established", *LOGIN)
    ledger.said("target", "refresh", "atlas")
    return ledger


def create(ledger: Ledger, *arguments: str) -> Any:
    return ledger.document("reminder", "create", *PLAN, *DAILY, "--text", "Dear {group}", *arguments)


def test_without_reminders_it_is_said_how_to_make_one(ledger: Ledger) -> None:
    assert "`headgate reminder create --help`" in ledger.said("reminder", "list")


def test_a_new_reminder_shows_when_it_fires_and_what_groups_read(groups: Ledger) -> None:
    groups.rows("update target set title = 'The lake' where key = 'group-01'")
    said = groups.said("reminder", "create", *PLAN, *DAILY, "--text", "Dear {group},\nhello")
    assert "Daily at 09:00 (Asia/Kuala_Lumpur)" in said
    assert "To The lake\n  Dear The lake,\n  hello\n" in said
    assert "Water is saved: it goes to 2 groups and is sent in" in said
    (line,) = groups.document("reminder", "list")
    assert (line["title"], line["schedule"], line["window"], line["targets"], line["state"]) == (
        "Water",
        "Daily at 09:00",
        "06:00–18:00",
        2,
        "active",
    )
    assert "Water" in groups.said("reminder", "list", "--state", "active")


def test_messages_keep_the_order_in_which_they_were_typed(groups: Ledger, tmp_path: Path) -> None:
    picture, letter = tmp_path / "view.jpg", tmp_path / "letter.pdf"
    picture.write_bytes(b"jpeg")
    letter.write_bytes(b"pdf")
    made = groups.document(
        *("reminder", "create", *PLAN, *DAILY),
        *("--media", str(picture), "--caption", "A view", "--text=First", "--media", str(letter)),
        *("--text", "Last", "--media", str(picture)),
    )
    assert [(part["text"], part["media_name"], part["mime_type"]) for part in made["parts"]] == [
        ("A view", "view.jpg", "image/jpeg"),
        ("First", "", ""),
        ("", "letter.pdf", "application/pdf"),
        ("Last", "", ""),
        ("", "view.jpg", "image/jpeg"),
    ]
    assert groups.values("select count(*) from media") == [2]
    assert "[view.jpg, 0.0 MB] A view" in groups.said("reminder", "show", "Water")


@pytest.mark.parametrize(
    ("arguments", "described"),
    [
        (["--once", "2999-12-01 09:00"], "Once on 2999-12-01 at 09:00"),
        (["--weekdays", "09:30"], "Weekdays at 09:30"),
        (["--weekly", "mon,thu@09:00"], "Weekly on Monday and Thursday at 09:00"),
        (["--weekly", "fri"], "Weekly on Friday at 09:00"),
        (["--monthly", "last@09:00"], "Monthly on the last day at 09:00"),
        (["--monthly", "15"], "Monthly on day 15 at 09:00"),
        (["--cron", "0 9 * * 1-5"], "Weekdays at 09:00"),
    ],
)
def test_schedules_are_typed_as_people_say_them(groups: Ledger, arguments: list[str], described: str) -> None:
    made = groups.document("reminder", "create", *PLAN, "--text", "Hello", *arguments)
    assert made["schedule"] == described


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([*PLAN, "--text", "x"], "needs a schedule. Give --once, --daily"),
        ([*PLAN, *DAILY], "1 to 20 messages; this one has 0"),
        ([*DAILY, "--text", "x", "--account", "atlas"], "needs a title"),
        ([*DAILY, "--text", "x", "--title", "Water"], "needs an account"),
        ([*PLAN, *DAILY, "--text", "x", "--weekdays", "10:00"], "--daily and --weekdays cannot be combined"),
        ([*PLAN, "--daily", "9 o'clock", "--text", "x"], "is not a time of day"),
        ([*PLAN, "--daily", "20:00", "--text", "x"], "20:00 is outside the delivery window 06:00–18:00"),
        ([*PLAN, "--once", "tomorrow", "--text", "x"], "'tomorrow' is not a date and time"),
        ([*PLAN, "--once", "2001-01-01 09:00", "--text", "x"], "is in the past"),
        ([*PLAN, "--monthly", "first@09:00", "--text", "x"], "'first' is not a day of the month"),
        ([*PLAN, *DAILY, "--text", "x", "--zone", "Mars/Olympus"], "no time zone 'Mars/Olympus'"),
        ([*PLAN, *DAILY, "--text", "x", "--window", "morning"], "'morning' is not a window"),
        ([*PLAN, *DAILY, "--text", "{nobody}"], "no variable {nobody}"),
        ([*PLAN, *DAILY, "--text", "x", "--caption", "y"], "belongs to the --media right before it"),
        ([*PLAN, *DAILY, "--media", "/nonexistent.jpg"], "/nonexistent.jpg cannot be read"),
        ([*PLAN, *DAILY, "--text", "x", "--list", "friends"], "There is no list 'friends'"),
        ([*PLAN, *DAILY, "--text", "x", "--target", "nobody"], "There is no target 'nobody'"),
    ],
)
def test_what_cannot_be_planned_is_explained(groups: Ledger, arguments: list[str], sentence: str) -> None:
    assert sentence in groups.refused("reminder", "create", *arguments)
    assert groups.values("select count(*) from reminder") == [0]


def test_a_dry_run_shows_everything_and_keeps_nothing(groups: Ledger) -> None:
    said = groups.said("reminder", "create", *PLAN, *DAILY, "--text", "Dear {group}", "--dry-run")
    assert "Nothing was kept." in said
    assert create(groups, "--dry-run")["kept"] is False
    assert groups.values("select count(*) from reminder union all select count(*) from media") == [0, 0]


def test_an_edit_changes_what_is_given_and_nothing_else(groups: Ledger) -> None:
    groups.said("target", "list-save", "Friends", "group-03")
    made = create(groups)
    changed = groups.document(
        *("reminder", "edit", "water", "--window", "all-day", "--daily", "22:00", "--at-close", "carry")
    )
    assert (changed["id"], changed["schedule"], changed["window"], changed["at_close"], changed["zone"]) == (
        made["id"],
        "Daily at 22:00",
        "00:00–24:00",
        "carry",
        "Asia/Kuala_Lumpur",
    )
    assert (changed["parts"], changed["targets"]) == (made["parts"], made["targets"])
    moved = groups.document(
        "reminder", "edit", "water", "--list", "friends", "--title", "Rain", "--text", "Hi"
    )
    assert (moved["title"], moved["targets"], [one["name"] for one in moved["lists"]]) == (
        "Rain",
        [],
        ["Friends"],
    )
    assert [part["text"] for part in moved["parts"]] == ["Hi"]
    assert "outside the delivery window" in groups.refused(
        "reminder", "edit", "rain", "--window", "06:00-18:00"
    )


def test_a_reminder_is_paused_resumed_copied_archived_and_deleted(groups: Ledger) -> None:
    create(groups)
    assert "Water is paused." in groups.said("reminder", "pause", "water")
    assert groups.document("reminder", "show", "water")["due_at"] is None
    assert "Water is sent in" in groups.said("reminder", "resume", "water")
    assert "Copy of Water is paused" in groups.said("reminder", "duplicate", "water")
    assert "Water is archived." in groups.said("reminder", "archive", "water")
    assert "is archived" in groups.refused("reminder", "resume", "water")
    assert groups.document("reminder", "archive", "water", "--undo")["state"] == "paused"
    assert "--yes" in groups.refused("reminder", "delete", "water")
    assert "Water is deleted." in groups.said("reminder", "delete", "water", "--yes")
    assert [one["title"] for one in groups.document("reminder", "list")] == ["Copy of Water"]


def test_a_preview_of_a_kept_reminder_shows_its_first_groups(groups: Ledger) -> None:
    create(groups, "--title", "Rain")
    shown = groups.document("reminder", "preview", "rain")
    assert len(shown["next_sends"]) == 5
    assert [group["messages"][0]["text"].startswith("Dear ") for group in shown["groups"]] == [True, True]
    assert "To " in groups.said("reminder", "preview", "rain")


def test_an_unknown_or_shared_title_is_asked_back(groups: Ledger) -> None:
    create(groups)
    assert "There is no reminder 'watr'. Did you mean 'Water'?" in groups.refused("reminder", "show", "watr")
    create(groups)
    sentence = groups.refused("reminder", "pause", "water")
    assert "2 reminders are called 'water'." in sentence
    assert all(str(one) in sentence for one in groups.values("select id from reminder"))
