"""Entries whose keys change: the same link and title, and what must not be taken for the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from headgate.domain.listings.entry_identity import NamedEntry, identity_of, match_renamed

pytestmark = pytest.mark.once

MONDAY = datetime(2026, 3, 2, 12, tzinfo=UTC)


def entry(key: str, name: str, at: datetime | None = MONDAY) -> NamedEntry:
    return NamedEntry(key, identity_of(name, f"https://a.example/{name}"), at)


def test_an_entry_under_another_key_is_known_by_link_title_and_date() -> None:
    assert match_renamed([entry("new", "flood")], [entry("old", "flood")]) == {"new": "old"}
    assert match_renamed([entry("new", "flood", None)], [entry("old", "flood")]) == {"new": "old"}


def test_an_entry_with_another_date_is_another_one_while_nothing_else_speaks_for_it() -> None:
    tuesday = MONDAY + timedelta(days=1)
    assert match_renamed([entry("new", "flood", tuesday)], [entry("old", "flood")]) == {}


def test_where_all_keys_are_new_dates_may_be_as_new() -> None:
    known = [entry("1", "flood"), entry("2", "ebb"), entry("3", "weir")]
    now = MONDAY + timedelta(days=1)
    listed = [entry("7", "flood", now), entry("8", "ebb", now), entry("9", "lock", now)]
    assert match_renamed(listed, known) == {"7": "1", "8": "2"}
    # One key that holds means that keys hold.
    assert match_renamed([*listed, entry("3", "weir")], known) == {}


def test_two_entries_of_one_answer_are_never_one() -> None:
    listed = [entry("a", "flood"), entry("b", "flood")]
    assert match_renamed(listed, []) == {}
    assert list(match_renamed(listed, [entry("old", "flood")]).values()) == ["old"]
    assert match_renamed(listed, [entry("a", "flood")]) == {}


def test_a_new_entry_beside_one_whose_key_holds_is_new() -> None:
    """Comments on one page: all have the same link and title, and the oldest falls out."""
    known = [entry("1", "comment", None), entry("2", "comment", None)]
    assert match_renamed([entry("3", "comment", None), entry("2", "comment", None)], known) == {}


@pytest.mark.parametrize("url", ["", "https://a.example", "https://a.example/"])
def test_a_link_to_a_front_page_identifies_nothing(url: str) -> None:
    assert identity_of("Update", url) == 0
    assert match_renamed([NamedEntry("b", 0, MONDAY)], [NamedEntry("a", 0, MONDAY)]) == {}


def test_another_title_or_link_is_another_entry() -> None:
    one = identity_of("Flood", "https://a.example/1")
    assert one not in {identity_of("Ebb", "https://a.example/1"), identity_of("Flood", "https://a.example/2")}
