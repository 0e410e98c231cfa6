"""`headgate target`: finding groups and keeping lists of them, as a person does it."""

from __future__ import annotations

import pytest
from ledger import LOGIN, Ledger


@pytest.fixture
def groups(ledger: Ledger) -> Ledger:
    """A demo whose account was asked where it can write to."""
    ledger.said("account", "add", "simulated", "atlas", "--established", *LOGIN)
    ledger.said("target", "refresh", "atlas")
    return ledger


def test_without_targets_it_is_said_how_to_get_some(ledger: Ledger) -> None:
    assert "`headgate target refresh ACCOUNT`" in ledger.said("target", "list")
    assert "`headgate target list-save NAME TARGET…`" in ledger.said("target", "lists")


def test_a_refresh_says_what_is_new(ledger: Ledger) -> None:
    ledger.said("account", "add", "simulated", "atlas", "--established", *LOGIN)
    first = ledger.document("target", "refresh", "atlas")
    assert first["seen"] == first["new"] > 0
    assert f"atlas can write to {first['seen']} targets; 0 new, 0 gone." in ledger.said(
        "target", "refresh", "atlas"
    )


def test_targets_are_found_by_words_of_their_titles(groups: Ledger) -> None:
    title = groups.values("select title from target order by key limit 1")[0]
    word = title.split()[0].upper()
    found = groups.document("target", "list", word, "--account", "atlas")
    assert title in [one["title"] for one in found]
    assert all(word.lower() in one["title"].lower() for one in found)
    assert "No target is known by these words." in groups.said("target", "list", "no", "such", "words")
    assert "… and more" in groups.said("target", "list", "--limit", "1")


def test_a_list_is_saved_extended_renamed_and_deleted(groups: Ledger) -> None:
    assert "Friends has 2 targets; 2 new." in groups.said(
        "target", "list-save", "Friends", "group-02", "group-01"
    )
    assert "Friends has 3 targets; 1 new." in groups.said(
        "target", "list-save", "friends", "group-01", "group-03"
    )
    shown = groups.document("target", "list-show", "FRIENDS")
    assert [one["key"] for one in shown["members"]] == ["group-02", "group-01", "group-03"]
    assert "1 taken out" in groups.said("target", "list-remove", "friends", "group-01")
    assert "is called Good friends now" in groups.said("target", "list-rename", "friends", "Good friends")
    assert [(one["name"], one["members"]) for one in groups.document("target", "lists")] == [
        ("Good friends", 2)
    ]
    assert "--yes" in groups.refused("target", "list-delete", "good friends")
    groups.said("target", "list-delete", "good friends", "--yes")
    assert groups.document("target", "lists") == []


def test_what_is_not_known_is_told_with_the_nearest(groups: Ledger) -> None:
    assert "There is no target 'group-99' on simulated. Did you mean 'group-" in groups.refused(
        "target", "list-save", "Friends", "group-99"
    )
    assert "There is no list 'Friends'" in groups.refused("target", "list-show", "Friends")
    assert "Which targets?" in groups.refused("target", "list-remove", "Friends")


def test_a_title_that_two_targets_have_is_asked_back(groups: Ledger) -> None:
    groups.rows("update target set title = 'Same' where key in ('group-01', 'group-02')")
    sentence = groups.refused("target", "list-save", "Friends", "same")
    assert "2 targets are called 'same'. Use the key of one: group-01 (Same); group-02 (Same)." in sentence
