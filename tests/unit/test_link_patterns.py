"""Patterns of links: what they match, and which must not be used."""

from __future__ import annotations

import pytest

from headgate.domain.link_patterns import LONGEST_LINK, check_link_pattern, matches_link

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
        ("re:.*", "x" * (LONGEST_LINK + 1), False),
        ("*", "x" * (LONGEST_LINK + 1), True),
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
        ("re:(", "is no regular expression"),
        ("re:(a+)+b", "must not repeat"),
        ("re:(?:a|a)*b", "must not repeat"),
        ("re:(a?){30}b", "must not repeat"),
        ("re:((a|b)c)+", "must not repeat"),
        ("re:(a|b)?+c", "must not repeat"),
        ("re:a*a*a*a*b", "more than 3"),
        ("re:a{0,99}a{0,99}a{0,99}a{,99}b", "more than 3"),
        ("re:" + "a?" * 20 + "a" * 20, "too many choices"),
        ("re:" + "(a|a)" * 20 + "b", "too many choices"),
        (r"re:(a)\1", "look around or back"),
        ("re:(?=a)a", "look around or back"),
        ("re:(?P<n>a)", "look around or back"),
        ("re:(?i)a", "look around or back"),
    ],
)
def test_expressions_that_a_link_could_keep_busy_are_refused(pattern: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        check_link_pattern(pattern)
