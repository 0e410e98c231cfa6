"""`headgate channel`: following, scanning, switching and removing, as a person does it."""

from __future__ import annotations

import pytest
from ledger import Ledger

DISABLED = "Channel scanning disabled for this channel"


def test_nothing_followed_says_what_to_do(ledger: Ledger) -> None:
    assert "`headgate channel add ACCOUNT`" in ledger.said("channel", "list")


def test_without_a_choice_what_can_be_followed_is_listed(ledger: Ledger) -> None:
    ledger.follow("attic")
    lines = [line.split() for line in ledger.said("channel", "add", "atlas").splitlines()]
    assert [line[-1] for line in lines if line[:1] == ["attic"]] == ["yes"]
    assert [line[-1] for line in lines if line[:1] == ["panels"]] == ["no"]
    found = {one["key"]: one for one in ledger.document("channel", "add", "atlas")}
    assert (found["attic"]["followed"], found["panels"]["followed"]) == (True, False)


def test_chosen_channels_are_followed_by_key_or_title(ledger: Ledger) -> None:
    ledger.follow("attic")
    said = ledger.said("channel", "add", "atlas", "Long Exposure")
    assert said.startswith("1 new channel is followed.\nFiles are downloaded. Change it with")
    assert [one["key"] for one in ledger.document("channel", "list")] == ["longexposure", "attic"]


def test_a_channel_that_the_account_does_not_see_is_refused(ledger: Ledger) -> None:
    ledger.follow("attic")
    assert "sees no channel 'atic'. Did you mean 'attic'?" in ledger.refused(
        "channel", "add", "atlas", "atic"
    )


def test_a_second_account_stands_by(ledger: Ledger) -> None:
    ledger.follow("attic")
    ledger.said("account", "add", "simulated", "beacon", "--answer", "code=12345")
    assert ledger.said("channel", "add", "beacon", "attic") == (
        "beacon is on standby for 1 channel that other accounts read.\n"
    )
    readers = ledger.document("channel", "show", "attic")["readers"]
    assert [(one["name"], one["reads"]) for one in readers] == [("atlas", True), ("beacon", False)]


@pytest.mark.parametrize("command", [["channel", "show"], ["channel", "scan"], ["explain"]], ids=" ".join)
def test_an_unknown_channel_is_told_with_the_nearest(ledger: Ledger, command: list[str]) -> None:
    ledger.follow("attic")
    sentence = ledger.refused(*command, "atic")
    assert "There is no channel 'atic'. Did you mean 'attic'" in sentence
    assert "headgate channel list" in sentence


def test_a_channel_is_named_by_id_key_or_title_in_any_case(ledger: Ledger) -> None:
    ledger.follow("attic")
    (channel_id,) = ledger.values("select id::text from channel")
    for name in (channel_id, channel_id.upper(), "attic", "the attic (QUIET)"):
        assert ledger.document("channel", "show", name)["id"] == channel_id


def test_a_title_that_two_channels_have_is_asked_back(ledger: Ledger) -> None:
    ledger.follow("attic", "panels")
    ledger.rows("update channel set title = 'Same'")
    sentence = ledger.refused("channel", "show", "same")
    assert "2 channels are called 'same'." in sentence
    assert all(str(one) in sentence for one in ledger.values("select id from channel"))
    assert ledger.document("channel", "show", "panels")["key"] == "panels"


def test_an_asked_scan_is_queued_as_it_was_asked_for(ledger: Ledger) -> None:
    ledger.follow("attic")
    asked = ledger.document(
        "channel", "scan", "attic", "--direction", "backward", "--limit", "7", "--no-auto-continue"
    )
    assert ledger.rows(
        "select id::text, direction, page_limit, auto_continue, status, trigger from scan"
    ) == [
        {
            "id": asked["id"],
            "direction": "backward",
            "page_limit": 7,
            "auto_continue": False,
            "status": "QUEUED",
            "trigger": "person",
        }
    ]
    assert "already running" in ledger.said("channel", "scan", "attic")


def test_waiting_ends_with_the_scan_and_fails_if_it_failed(ledger: Ledger) -> None:
    ledger.follow("attic")
    # The scan ends in the transaction that asks for it, as if a worker had been very quick.
    ledger.rows(
        "create function end_at_once() returns trigger language plpgsql as $$ begin"
        " new.status := 'FAILED'; new.error_message := 'the platform is on fire'; new.pages := 2;"
        " new.ended_at := new.queued_at; new.due_at := null; return new; end $$"
    )
    ledger.rows("create trigger quick before insert on scan for each row execute function end_at_once()")
    sentence = ledger.refused("channel", "scan", "attic", "--wait")
    assert "has FAILED: the platform is on fire. 2 pages, 0 messages, 0 items until then." in sentence


def test_disabling_cancels_and_a_scan_is_refused_until_it_is_enabled(ledger: Ledger) -> None:
    ledger.follow("attic")
    ledger.said("channel", "scan", "attic")
    assert "1 scan cancelled" in ledger.said("channel", "disable", "attic")
    assert ledger.rows("select status, error_message from scan") == [
        {"status": "CANCELLED", "error_message": DISABLED}
    ]
    sentence = ledger.refused("channel", "scan", "attic")
    assert DISABLED in sentence
    assert "headgate channel enable" in sentence
    assert "off" in ledger.said("channel", "list")
    assert "1 channel is checked now" in ledger.said("channel", "enable", "attic")
    ledger.said("channel", "scan", "attic")


def test_what_is_off_above_a_channel_is_named_everywhere(ledger: Ledger) -> None:
    ledger.follow("attic")
    above = None
    for key in ("guild", "category"):
        (above,) = ledger.values(
            "insert into channel (id, platform, key, kind, title, parent_id, created_at)"
            " values (gen_random_uuid(), 'simulated', $1, 'parent', $1, $2, $3) returning id",
            key,
            above,
            ledger.now,
        )
    ledger.rows("update channel set parent_id = $1 where key = 'attic'", above)
    ledger.said("channel", "disable", "guild")
    assert "headgate channel enable 'guild'" in ledger.refused("channel", "scan", "attic")
    assert "off, because guild is off" in ledger.said("explain", "attic")
    assert [one["enabled"] for one in ledger.document("channel", "list")] == [False]
    assert "but guild, which it is in, is off" in ledger.said("channel", "enable", "attic")
    assert ledger.values("select due_at from stream") == [None]
    assert "1 channel is checked now" in ledger.said("channel", "enable", "guild")


def test_a_topic_has_a_switch_of_its_own(ledger: Ledger) -> None:
    ledger.follow("forge")
    assert "kept as rejected" in ledger.said("channel", "disable", "forge", "--topic", "Copperleaf")
    topics = {one["key"]: one for one in ledger.document("channel", "show", "forge")["topics"]}
    assert (topics["Copperleaf"]["message_scan_enabled"], topics["Requests"]["message_scan_enabled"]) == (
        False,
        True,
    )
    assert "There is no topic 'Bust'" in ledger.refused("channel", "disable", "forge", "--topic", "Bust")


def test_a_rescan_judges_and_a_reset_reads_again(ledger: Ledger) -> None:
    ledger.follow("attic")
    ledger.rows("update coverage set ranges = '{[1,9)}'")
    assert "judged again" in ledger.said("channel", "rescan", "attic")
    assert ledger.values("select count(*) from judging where due_at is not null") == [1]
    assert "--yes" in ledger.refused("channel", "rescan", "attic", "--reset")
    assert ledger.values("select ranges::text from coverage") == ["{[1,9)}"]
    ledger.said("channel", "rescan", "attic", "--reset", "--yes")
    assert ledger.values("select ranges::text from coverage") == ["{}"]
    assert ledger.values("select trigger from scan") == ["reset"]


def test_a_removal_is_confirmed_and_tells_what_went(ledger: Ledger) -> None:
    ledger.follow("attic")
    ledger.said("channel", "scan", "attic")
    assert "--yes" in ledger.refused("channel", "remove", "attic")
    assert ledger.said("channel", "remove", "attic", "--yes") == (
        "The Attic (quiet) is removed, with the history of 1 scan.\n"
    )
    assert ledger.values("select count(*) from channel union all select count(*) from scan") == [0, 0]


def test_what_to_download_can_be_said_when_a_channel_is_added(ledger: Ledger) -> None:
    ledger.follow("attic")
    said = ledger.said("channel", "add", "atlas", "Long Exposure", "--fetch", "none")
    assert "Files are listed, not downloaded." in said
    assert {"fetch": "none"} in ledger.values("select settings from channel")


def test_settings_are_set_in_layers_and_say_where_they_come_from(ledger: Ledger) -> None:
    ledger.follow("forge")
    ledger.said("channel", "settings", "--global", "--set", "bots=off", "--set", "max_size_bytes=1000")
    ledger.said("channel", "settings", "forge", "--set", "extensions=zip, .7z")
    topic = ("channel", "settings", "forge", "--topic", "Copperleaf")
    shown = ledger.document(*topic, "--set", "max_size_bytes=0")
    assert shown["set"] == {"max_size_bytes": 0}
    assert shown["effective"]["max_size_bytes"] == {"value": 0, "from": "itself"}
    assert shown["effective"]["extensions"] == {"value": ["zip", "7z"], "from": "the channel"}
    assert shown["effective"]["bots"] == {"value": False, "from": "all channels"}
    assert shown["effective"]["authors"] == {"value": None, "from": "default"}
    assert (
        ledger.document(*topic, "--unset", "max_size_bytes")["effective"]["max_size_bytes"]["value"] == 1000
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["forge", "--set", "extension=zip"], "There is no setting 'extension'. Did you mean 'extensions'"),
        (["forge", "--set", "bots"], "'bots' sets nothing."),
        (["forge", "--set", "every_nth=0"], "every_nth should be greater than or equal to 1"),
        (["forge", "--set", "extensions=[zip"], "extensions is not a list in JSON"),
        (["forge", "--parent", "--set", "bots=no"], "has no parent"),
        (["forge", "--topic", "None"], "There is no topic 'None'"),
        (["forge", "--topic", "Copperleaf", "--global"], "cannot be combined"),
        (["--global", "--frequency", "often"], "apply to one channel"),
        ([], "Which channel?"),
    ],
)
def test_settings_that_cannot_be_are_explained(ledger: Ledger, arguments: list[str], sentence: str) -> None:
    ledger.follow("forge")
    assert sentence in ledger.refused("channel", "settings", *arguments)
    assert ledger.values("select settings from channel") == [{}]


def test_a_frequency_and_a_start_are_set(ledger: Ledger) -> None:
    ledger.follow("attic")
    ledger.said("channel", "settings", "attic", "--frequency", "rarely", "--start-at", "12")
    assert ledger.rows("select tier, tier_pinned, floor from stream") == [
        {"tier": "COLD", "tier_pinned": True, "floor": 12}
    ]
