"""Figures, sizes, times and other small words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from fastapi import HTTPException

from headgate.access.password_rules import weakness
from headgate.access.throttle import network_of
from headgate.domain.text import typed_text
from headgate.storage.catalogue.items import LibraryCursor
from headgate.storage.channels.channel_overview import ChannelCursor
from headgate.storage.jobs.engine import QueueDepth
from headgate.web.cursors import read_time_cursor, read_title_cursor, time_cursor
from headgate.web.pages.jobs import sum_up
from headgate.web.wording import browser, count, relative, share, size

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (99_949, "99.9 kB"),
        (99_950, "100 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (4_870_000_000, "4.9 GB"),
        (10**19, "10000 PB"),
    ],
)
def test_sizes_are_short(size_bytes: int, shown: str) -> None:
    assert size(size_bytes).replace("\u00a0", " ") == shown


@pytest.mark.parametrize(
    ("age_s", "shown"),
    [
        (0, "just now"),
        (59, "59 s ago"),
        (60, "1 min ago"),
        (3 * 3600, "3 h ago"),
        (86400 * 59, "59 d ago"),
        (86400 * 70, "2 months ago"),
        (86400 * 800, "2 years ago"),
        (-5, "now"),
        (-90, "in 1 min"),
    ],
)
def test_times_are_relative(age_s: int, shown: str) -> None:
    assert relative(NOW - timedelta(seconds=age_s), NOW).replace("\u00a0", " ") == shown


@pytest.mark.parametrize(
    ("part", "shown"), [(0, "0 %"), (0.00001, "0.1 %"), (0.5, "50.0 %"), (0.99999, "99.9 %"), (1, "100 %")]
)
def test_a_share_is_whole_only_if_nothing_is_missing(part: float, shown: str) -> None:
    assert share(part).replace("\u00a0", " ") == shown


def test_counts_stop_at_a_cap() -> None:
    assert count(10_000, 10_000) == "10\u202f000"
    assert count(10_001, 10_000) == "10\u202f000+"


def test_a_browser_is_recognised() -> None:
    firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"
    assert browser(firefox) == "Firefox on Linux"
    assert browser("curl/8.1") == "curl"
    assert browser("Something/1.0 (x)") == "Something"
    assert browser("") == "Unknown browser"


def test_a_place_survives_its_way_to_the_microsecond() -> None:
    place = LibraryCursor(NOW + timedelta(microseconds=1), UUID(int=5))
    assert read_time_cursor(time_cursor(place.caught_at, place.id), LibraryCursor) == place


@pytest.mark.parametrize("cursor", ["x", "1.x", "9" * 40 + "." + "0" * 32, "\x00.\x00"])
def test_a_damaged_place_is_refused(cursor: str) -> None:
    with pytest.raises(HTTPException):
        read_time_cursor(cursor, LibraryCursor)
    with pytest.raises(HTTPException):
        read_title_cursor(cursor, ChannelCursor)


def test_without_a_cursor_a_list_begins_at_its_start() -> None:
    assert read_time_cursor("", LibraryCursor) is None
    assert read_title_cursor("", ChannelCursor) is None


def test_a_place_that_postgresql_would_refuse_is_refused_before() -> None:
    with pytest.raises(HTTPException):
        read_title_cursor(f"{UUID(int=5).hex}.a%00b", ChannelCursor)


def test_addresses_of_one_site_are_one() -> None:
    assert network_of("2001:db8:1:2::5") == network_of("2001:db8:1:2:ffff::1")
    assert network_of("192.0.2.1") != network_of("192.0.2.2")


def test_typed_text_is_one_plain_line() -> None:
    assert typed_text("  a\x00 b\u200b  c ") == "a b c"
    assert typed_text("x" * 300) == "x" * 200


@pytest.mark.parametrize(
    "password",
    [
        "password12",
        "password1234",
        "Password2026!",
        "P@ssw0rd!!!!",
        "p4ssw0rd1234",
        "pass word 1234",
        "letmein-letmein",
        "iloveyou12345",
        "monkey dragon 7",
        "qwertyuiop12",
        "1q2w3e4r5t6y",
        "asdfghjkl;123",
        "abcdefghijkl",
        "zyxwvutsrqpon",
        "123456789012",
        "2026-11-16-00",
        "abcabcabcabc",
        "aaaaaaaaaaaab",
        "Headgate2026!",
        "headgate-admin",
        "ada lovelace",
        "AdaLovelace1815",
        "ecalevolada99",
        "correct horse battery staple",
        "eleven char",
        "x" * 300,
    ],
)
def test_passwords_that_are_easy_to_guess_are_refused(password: str) -> None:
    assert weakness(password, name="Ada Lovelace") is not None


@pytest.mark.parametrize(
    "password",
    [
        "correct horse battery",
        "tr0ubador&3xyzzy",
        "gate keeps every ship",
        "Wm7-plinth-okra",
        "ÄÖÜß ist kein Wort",
    ],
)
def test_passwords_of_unrelated_words_are_accepted(password: str) -> None:
    assert weakness(password, name="Ada Lovelace") is None


def test_queues_are_summed_up_over_runners() -> None:
    lines = sum_up(
        [
            QueueDepth("scan", "fast", "queued", 3, 5.0),
            QueueDepth("scan", "suspect", "queued", 1, 60.0),
            QueueDepth("scan", "fast", "picked", 2, 1.0),
            QueueDepth("heads", "fast", "failed", 1, 1.0),
        ]
    )
    assert [(line.kind, line.waiting, line.running, line.held) for line in lines] == [
        ("heads", 0, 0, 1),
        ("scan", 4, 2, 0),
    ]
    assert lines[1].oldest == timedelta(seconds=60)
    assert lines[0].oldest is None
