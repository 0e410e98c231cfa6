"""Patterns of links: what they match, and which must not be used."""

from __future__ import annotations

import signal

import pytest

from headgate.domain.listings.link_patterns import check_link_pattern, matches_link

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("pattern", "url", "matches"),
    [
        ("mega.nz/*", "https://mega.nz/file/1", True),
        ("MEGA.nz/*", "https://mega.NZ/file/1", True),
        ("mega.nz/*", "https://evil.test/mega.nz/1", False),
        ("*mega.nz/*", "https://www.mega.nz/1", True),
        ("https://*.example/watch?v=*", "https://a.example/watch?v=1", True),
        ("http://*", "https://a.example/", False),
        (r"re:https://(?:www\.)?mega\.nz/.+", "https://mega.nz/x", True),
        (r"re:mega\.nz", "https://mega.nz/x", False),
        ("re:.*", "x" * 10_000, True),
        ("*", "x" * 10_000, True),
        ("a.example/?", "https://a.example/1", True),
        ("a.example/?", "https://a.example/12", False),
        ("a.example/[0-9]*", "https://a.example/7up", True),
        ("a.example/[!0-9]*", "https://a.example/7up", False),
        ("a.example/[x", "https://a.example/[x", True),
        ("a.example/**", "https://a.example/x\ny", True),
        ("a+b.example/*", "https://aab.example/", False),
    ],
)
def test_a_pattern_is_compared_with_the_whole_link(pattern: str, url: str, *, matches: bool) -> None:
    assert matches_link(check_link_pattern(pattern), url) is matches


@pytest.mark.parametrize(
    "pattern",
    [
        r"re:https?://(www\.)?(mega|mediafire|gofile)\.(nz|com|io)/.+",
        r"re:https://[\w.-]+/d/[0-9a-f]{8}-[0-9a-f]{4}",
        r"re:https://example\.com/[^/]+/[^/]+\.zip",
        r"re:\(\[\*\|\)",
        "re:[(*+|]a",
    ],
)
def test_ordinary_expressions_are_accepted(pattern: str) -> None:
    assert check_link_pattern(f" {pattern} ") == pattern


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("", "1 to 200 characters"),
        ("x" * 201, "1 to 200 characters"),
        ("re:(", "is not a regular expression"),
        (r"re:(a)\1", "is not a regular expression"),
        ("re:(?=a)a", "is not a regular expression"),
        ("re:(?<!a)a", "is not a regular expression"),
        ("re:((a{100}){100}){100}", "is not a regular expression"),
    ],
)
def test_what_cannot_be_matched_in_linear_time_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        check_link_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["re:.*.*.*x", "re:" + ".*" * 50 + "x", "re:(a+)+b", "re:(a|a)*b", "re:(a?){30}b", "*a" * 50 + "x"],
)
def test_no_link_keeps_a_pattern_busy(pattern: str) -> None:
    """Backtracking would take longer than the universe has; linear time takes milliseconds."""

    def give_up(*_: object) -> None:
        raise AssertionError(f"{pattern} is still busy")

    signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, 10)
    try:
        assert not matches_link(check_link_pattern(pattern), "https://" + "a" * 5000)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
