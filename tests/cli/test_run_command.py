"""`headgate run`, and `headgate reminder run`, `test` and `cancel`: what people do to what is sent."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from ledger import LOGIN, Ledger

PLAN = (
    *("--title", "Water", "--account", "atlas", "--text", "Dear {group}", "--text", "Goodbye"),
    *("--target", "group-01", "--target", "group-02", "--target", "group-03", "--daily", "09:00"),
)
WHOLE_DAY = ("--window", "all-day")


@pytest.fixture
def sender(ledger: Ledger) -> Ledger:
    """A demo with an account that sees groups, and a reminder to three of them."""
    ledger.said("account", "add", "simulated", "atlas", "--established", *LOGIN)
    ledger.said("target", "refresh", "atlas")
    ledger.said("reminder", "create", *PLAN, *WHOLE_DAY)
    return ledger


def begin(ledger: Ledger) -> Any:
    return ledger.document("reminder", "run", "Water", "--yes")


def end(ledger: Ledger, state: str, **deliveries: str) -> None:
    """Bring the only run to an end, with these states of the groups."""
    for key, delivered in deliveries.items():
        ledger.rows(
            "update delivery set state = $1, error = $2, ended_at = $3 where target_key = $4",
            delivered,
            {"failed": "no such group", "skipped": "delivery window closed"}.get(delivered, ""),
            ledger.now,
            key.replace("_", "-"),
        )
        parts = {"sent": "sent", "uncertain": "uncertain", "failed": "failed"}.get(delivered, "planned")
        ledger.rows(
            "update part p set state = $1 from delivery d"
            " where d.run_id = p.run_id and d.number = p.delivery and d.target_key = $2",
            parts,
            key.replace("_", "-"),
        )
    ledger.rows("update run set state = $1, due_at = null, summary = 'So it ended.'", state)


def test_without_runs_it_is_said_how_to_begin_one(ledger: Ledger) -> None:
    assert "`headgate reminder run` begins one" in ledger.said("run", "list")


def test_saving_and_previewing_a_reminder_shows_the_forecast_of_its_next_fire(sender: Ledger) -> None:
    said = sender.said("reminder", "create", *PLAN, *WHOLE_DAY, "--title", "Weed")
    assert "3 groups, done by about " in said
    assert "3 groups, done by about " in sender.said("reminder", "preview", "Weed")
    forecast = sender.document("reminder", "preview", "Weed")["forecast"]
    assert (forecast["targets"], forecast["messages"], forecast["queued"]) == (3, 6, 0)
    assert sender.document("reminder", "create", *PLAN, "--dry-run")["forecast"]["targets"] == 3


def test_a_run_begins_now_and_is_shown_with_its_forecast(sender: Ledger) -> None:
    said = sender.said("reminder", "run", "Water")
    assert said.startswith("3 groups, done by about ")
    (run,) = sender.document("run", "list")
    assert f"`headgate run show {run['id']}`" in said
    assert (run["state"], run["trigger"], run["total"], run["pending"]) == ("waiting", "person", 3, 3)
    shown = sender.said("run", "show", "Water")
    assert "waiting: waits for its turn" in shown
    assert "0 of 3 groups, 3 pending" in shown
    assert "0 of 6 sent" in shown
    assert "3 groups, done by about" in shown
    document = sender.document("run", "show", run["id"])
    assert (document["parts"], document["messages"], document["forecast"]["messages"]) == (2, 6, 6)


def test_a_run_that_will_not_reach_everybody_asks_first(sender: Ledger) -> None:
    sender.said("account", "pace", "atlas", "--per-minute", "60", "--daily-cap", "2")
    # The next message but one is a day away, and so is the next window.
    minute = sender.now.hour * 60 + sender.now.minute
    start, until = (minute - 30) % 1440, (minute + 30) % 1440
    sender.rows("update reminder set window_start = $1, window_end = $2, zone = 'UTC'", start, until or 1440)
    sentence = sender.refused("reminder", "run", "Water")
    assert "2 groups of 3 will not be reached. Begin all the same?" in sentence
    assert sender.values("select count(*) from run") == [0]
    said = sender.said("reminder", "run", "Water", "--yes")
    assert "2 of 3 groups are not reached before the delivery window closes" in said
    assert "Going on in the next window" in said
    assert sender.values("select count(*) from run") == [1]


def test_a_run_is_named_by_pieces_of_its_id_or_by_its_reminder(sender: Ledger) -> None:
    run_id = begin(sender)["id"]
    for name in (run_id, run_id[-12:], run_id[:20], "water"):
        assert sender.document("run", "show", name)["id"] == run_id
    begin(sender)
    assert "could be several runs" in sender.refused("run", "show", run_id[:6])
    assert "There is no run 'Watre'. Did you mean 'Water'?" in sender.refused("run", "show", "Watre")


def test_the_list_is_filtered_and_paged(sender: Ledger) -> None:
    first, second = begin(sender)["id"], begin(sender)["id"]
    sender.said("run", "cancel", first, "--yes")

    def ids(*arguments: str) -> list[str]:
        return [run["id"] for run in sender.document("run", "list", *arguments)]

    assert ids() == [second, first]
    assert ids("--active") == [second]
    assert ids("--state", "cancelled", "--state", "success") == [first]
    assert ids("--reminder", "Water", "--account", "atlas", "--limit", "1") == [second]
    assert ids("--below", second) == [first]
    assert "There is no state 'done'" in sender.refused("run", "list", "--state", "done")
    assert "cannot be combined" in sender.refused("run", "list", "--active", "--state", "waiting")
    said = sender.said("run", "list")
    assert second[-12:] in said
    assert "Cancelled" in said


def test_a_run_is_paused_resumed_and_cancelled(sender: Ledger) -> None:
    begin(sender)
    assert sender.said("run", "pause", "Water") == "Water is paused.\n"
    assert "If it were resumed now:" in sender.said("run", "show", "Water")
    assert "is paused and cannot be paused" in sender.refused("run", "pause", "Water")
    assert sender.said("run", "resume", "Water") == "Water continues: it waits for its turn.\n"
    assert "3 groups of 3 would get nothing" in sender.refused("run", "cancel", "Water")
    said = sender.said("run", "cancel", "Water", "--yes")
    assert said.startswith("Water: Cancelled. 0 of 3 groups delivered.")
    assert sender.document("run", "show", "Water")["state"] == "cancelled"
    assert "cannot be resumed" in sender.refused("run", "resume", "Water")


def test_an_account_with_a_run_under_way_is_not_removed(sender: Ledger) -> None:
    begin(sender)
    assert "atlas has a run in progress" in sender.refused("account", "remove", "atlas", "--yes")
    sender.said("run", "cancel", "Water", "--yes")
    assert "atlas is removed" in sender.said("account", "remove", "atlas", "--yes")


def test_the_runs_of_a_reminder_are_cancelled_by_its_name(sender: Ledger) -> None:
    assert "Water has no run in progress" in sender.refused("reminder", "cancel", "Water", "--yes")
    begin(sender)
    assert "--yes" in sender.refused("reminder", "cancel", "Water")
    assert "Water: Cancelled." in sender.said("reminder", "cancel", "Water", "--yes")
    begin(sender)
    begin(sender)
    assert [run["state"] for run in sender.document("reminder", "cancel", "Water", "--yes")] == [
        "cancelled",
        "cancelled",
    ]


def test_deliveries_are_listed_with_causes_and_tries(sender: Ledger) -> None:
    begin(sender)
    end(sender, "partial", group_01="sent", group_02="failed", group_03="skipped")
    sender.rows("update part set attempts = 2, error = 'no such group' where delivery = 2")
    said = sender.said("run", "show", "Water", "--deliveries")
    assert "1 of 3 groups, 1 failed, 1 skipped" in said
    assert "So it ended." in said
    lines = [line.split() for line in said.splitlines()]
    assert ["1", "failed", "no", "such", "group"] in lines
    assert ["1", "skipped", "delivery", "window", "closed"] in lines
    assert any(" ".join(line).endswith("group-02 failed 0 of 2 4 no such group") for line in lines)
    (failed,) = sender.document("run", "show", "Water", "--state", "failed")["deliveries"]
    assert (failed["target_key"], failed["parts"][0]["attempts"]) == ("group-02", 2)
    assert sender.document("run", "show", "Water", "--deliveries", "--after", "3")["deliveries"] == []


def test_what_failed_is_tried_again_and_what_is_uncertain_only_after_a_question(sender: Ledger) -> None:
    begin(sender)
    end(sender, "partial", group_01="sent", group_02="failed", group_03="uncertain")
    assert sender.said("run", "retry", "Water") == "Water continues with 1 group: it waits for its turn.\n"
    end(sender, "partial", group_02="failed")
    assert "may arrive twice" in sender.refused("run", "retry", "Water", "--uncertain")
    again = sender.document("run", "retry", "Water", "--uncertain", "--yes")
    assert (again["state"], again["pending"], again["sent"]) == ("waiting", 2, 1)


def test_a_person_says_what_became_of_an_uncertain_message(sender: Ledger) -> None:
    begin(sender)
    end(sender, "partial", group_01="sent", group_02="uncertain", group_03="uncertain")
    assert "Is the message in the group?" in sender.refused("run", "resolve", "Water", "2")
    assert "counts it as arrived" in sender.said("run", "resolve", "Water", "2", "--arrived")
    assert "sends it again" in sender.said("run", "resolve", "Water", "3", "--again")
    assert "is not uncertain" in sender.refused("run", "resolve", "Water", "1", "--arrived")
    assert sender.values("select state from part where delivery = 3") == ["planned", "planned"]


def test_another_account_sends_the_rest(sender: Ledger) -> None:
    sender.said("account", "add", "simulated", "beacon", "--established", *LOGIN)
    begin(sender)
    end(sender, "partial", group_01="sent", group_02="failed", group_03="uncertain")
    assert "already sends this run" in sender.refused("run", "send-rest", "Water", "atlas")
    old = sender.document("run", "list")[0]["id"]
    assert "may get it twice" in sender.refused("run", "send-rest", old, "beacon", "--include-uncertain")
    said = sender.said("run", "send-rest", old, "beacon")
    assert "beacon sends the rest of Water to 1 group: run " in said
    assert "1 group, done by about" in said
    rest = sender.document("run", "list")[0]
    assert (rest["account_name"], rest["rest_of"], rest["total"]) == ("beacon", old, 1)
    assert f"run {old}" in sender.said("run", "show", rest["id"])


def end_at_once(ledger: Ledger, state: str) -> None:
    """Let runs end in the transaction that makes them, as if a worker had been very quick."""
    ledger.rows(
        "create function end_at_once() returns trigger language plpgsql as $$ begin"
        f" new.state := '{state}'; new.summary := 'It was quick.'; new.due_at := null; return new; end $$"
    )
    ledger.rows("create trigger quick before insert on run for each row execute function end_at_once()")


def test_a_test_send_goes_to_one_group_and_tells_what_came_of_it(sender: Ledger) -> None:
    run = sender.document("reminder", "test", "Water", "--target", "group-03", "--no-wait")
    assert (run["trigger"], run["total"], run["window"]) == ("test", 1, "00:00–24:00")
    assert "Water (test)" in sender.said("run", "list")
    assert "no target 'nobody'" in sender.refused("reminder", "test", "Water", "--target", "nobody")
    end_at_once(sender, "success")
    said = sender.said("reminder", "test", "Water", "--target", "group-03")
    assert "Water is sent to group-03 as a test" in said
    assert "Water: success. It was quick." in said


def test_waiting_for_a_run_fails_if_it_did_not_reach_everybody(sender: Ledger) -> None:
    end_at_once(sender, "partial")
    result = sender.run("reminder", "run", "Water", "--wait")
    assert result.exit_code == 1
    assert "Water: partial. It was quick." in result.output


def test_watching_ends_with_the_run(sender: Ledger) -> None:
    run_id = begin(sender)["id"]
    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(sender.run, "run", "show", run_id, "--watch")
        sender.rows(
            "update run set state = 'success', summary = 'All is done.' where id = $1::text::uuid", run_id
        )
        result = watching.result(timeout=60)
    assert result.exit_code == 0, result.output
    assert "All is done." in result.output


def test_a_second_run_of_a_reminder_is_asked_about(sender: Ledger) -> None:
    begin(sender)
    asked = sender.refused("reminder", "run", "Water")
    assert "A run of 'Water' is under way: 0 of 3 delivered. Send it a second time?" in asked
    begin(sender)
    assert sender.values("select count(*) from run") == [2]
