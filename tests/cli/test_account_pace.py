"""`headgate account pace`: how fast an account sends, and why."""

from __future__ import annotations

import pytest
from ledger import LOGIN, Ledger


@pytest.fixture
def atlas(ledger: Ledger) -> Ledger:
    """An account that has not been opened yet."""
    ledger.said("account", "add", "simulated", "atlas", "--established", *LOGIN)
    return ledger


def test_before_the_first_call_the_pace_to_come_is_told(atlas: Ledger) -> None:
    said = atlas.said("account", "pace", "atlas")
    assert "not sent yet; begins with at most 40 a minute" in said
    assert "3 (the deployment's number)" in said
    assert atlas.document("account", "pace", "atlas")["lane"] is None


def test_the_deployments_pace_bounds_that_of_the_connector(
    atlas: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADGATE_OUTFLOW_MESSAGES_PER_MINUTE", "25")
    assert "at most 25 a minute" in atlas.said("account", "pace", "atlas")
    atlas.said("target", "refresh", "atlas")
    assert atlas.values("select ceiling from lane where kind = 'send'") == [25.0]


def test_a_person_sets_the_pace_and_it_is_recorded(atlas: Ledger) -> None:
    said = atlas.said("account", "pace", "atlas", "--per-minute", "20", "--daily-cap", "500", "--groups", "2")
    assert "20 messages a minute, of at most 20" in said
    assert "0 messages, of at most 500" in said
    assert "a person set it" in said
    shown = atlas.document("account", "pace", "atlas", "--daily-cap", "none", "--groups", "default")
    assert (shown["lane"]["ceiling"], shown["lane"]["daily_cap"], shown["lane"]["pinned"]) == (20, None, True)
    assert (shown["group_concurrency"], shown["groups_at_once"]) == (None, 3)
    (change,) = shown["changes"]
    assert (change["from_rate"], change["to_rate"], change["cause"]) == (40, 20, "adjusted")
    # What a person set outlasts the connector's defaults.
    atlas.said("target", "refresh", "atlas")
    assert atlas.document("account", "pace", "atlas")["rate"] == 20


def test_a_slowed_account_says_why_and_for_how_long(atlas: Ledger) -> None:
    atlas.said("target", "refresh", "atlas")
    atlas.rows(
        "update lane set rate = 20, rate_at = now(), rate_cause = 'limit_signal', rate_epoch = 2, epoch = 2,"
        " cool_until = now() + interval '90 s' where kind = 'send'"
    )
    said = atlas.said("account", "pace", "atlas")
    assert "20 messages a minute, of at most 40" in said
    assert said.count("the platform asked to slow down") == 2
    assert "nothing is sent for" in said
    atlas.rows("update lane set rate_at = now() - interval '10 min 1 s' where kind = 'send'")
    assert "24 messages a minute" in (said := atlas.said("account", "pace", "atlas"))
    assert "speeding up again after the platform asked to slow down" in said


def test_a_new_account_shows_its_warm_up(ledger: Ledger) -> None:
    ledger.said("account", "add", "simulated", "beacon", *LOGIN)
    ledger.said("target", "refresh", "beacon")
    said = ledger.said("account", "pace", "beacon")
    assert "10 messages a minute, of at most 40" in said
    assert "0 quiet days so far" in said


def test_an_account_can_be_called_established_later_and_new_again(ledger: Ledger) -> None:
    ledger.said("account", "add", "simulated", "beacon", *LOGIN)
    ledger.said("target", "refresh", "beacon")
    assert "40 messages a minute, of at most 40" in ledger.said("account", "pace", "beacon", "--established")
    # The next connection finds it so, and no person's pace is pinned by it.
    ledger.said("target", "refresh", "beacon")
    shown = ledger.document("account", "pace", "beacon")
    assert (shown["rate"], shown["lane"]["established"], shown["lane"]["pinned"]) == (40, True, False)
    assert "10 messages a minute" in ledger.said("account", "pace", "beacon", "--slow-start")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--per-minute", "0"], "Messages a minute must be above 0"),
        (["--burst", "1"], "A burst is 2 to"),
        (["--daily-cap", "0"], "A daily cap is 1 to"),
        (["--daily-cap", "many"], "--daily-cap takes a number or `none`, not 'many'"),
        (["--groups", "11"], "1 to 10 groups at once"),
    ],
)
def test_a_pace_that_makes_no_sense_is_refused(atlas: Ledger, arguments: list[str], sentence: str) -> None:
    assert sentence in atlas.refused("account", "pace", "atlas", *arguments)
    assert atlas.values("select count(*) from lane") == [0]
