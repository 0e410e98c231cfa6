"""Patterns of titles: what they match and tell, and which must not be used."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.errors import UserError
from headgate.domain.listings.title_patterns import MAX_PATTERN, TitleMatch, TitlePattern
from headgate.domain.text import MAX_TITLE_LENGTH

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("pattern", "title", "told"),
    [
        ("One Piece {number}*", "One Piece 1045: The Thing", ("1045", "", "")),
        ("One Piece {number}*", "ONE  piece\t1045.5", ("1045.5", "", "")),
        ("One Piece {number}*", "One Piece １２ (end)", ("12", "", "")),
        ("One Piece {number} *", "One Piece 12", ("12", "", "")),
        ("* One Piece {number}", "One Piece 12", ("12", "", "")),
        ("*One Piece {number}*", "[Group] One Piece 12v2 [1080p]", ("12", "", "")),
        (
            "[Group] Berserk - {volume}x{number} - {title}",
            "[Group] Berserk - 2x05 - Rain",
            ("5", "2", "Rain"),
        ),
        ("Foo {volume}.{number}", "Foo 2.45", ("45", "2", "")),
        ("Foo {volume}-{number}", "Foo 2-45", ("45", "2", "")),
        ("Foo {number}", "Foo 45-46", ("45-46", "", "")),
        ("Foo {number}", "Foo 45a", ("45a", "", "")),
        ("Foo {number}-{title}", "Foo 45-The Thing", ("45", "", "The Thing")),
        ("第{number}話 {title}", "第12話 はじまり", ("12", "", "はじまり")),
        ("{title} | Foo #{number}", "The Thing | Part | Foo #7", ("7", "", "The Thing | Part")),
        ("Foo - {title} - {number}", "Foo - 3 - 4 - 5", ("5", "", "3 - 4")),
        ("Foo*", "Foo Vol. 2 Chapter 7: Rain", ("7", "2", "")),
        ("Foo: {title}", "Foo: Rain", ("", "", "Rain")),
        ("Foo {volume}: {title}", "Foo 3: Chapter 9", ("9", "3", "Chapter 9")),
        ("C++ (a|b) {number}", "c++ (A|B) 1", ("1", "", "")),
    ],
)
def test_a_pattern_tells_what_it_names(pattern: str, title: str, told: tuple[str, str, str]) -> None:
    assert TitlePattern.parse(pattern).match(title) == TitleMatch(*told)


@pytest.mark.parametrize(
    ("pattern", "title"),
    [
        ("One Piece {number}*", "One Piece Film Red"),
        ("One Piece {number}*", "One Piece 20th anniversary"),
        ("One Piece {number}", "One Piece 12: The Thing"),
        ("One Piece {number}", "The One Piece 12"),
        ("One Piece", "One Pieces"),
        ("Foo {number} Bar", "Foo 12 Ba"),
        ("Foo.{number}", "Foox12"),
    ],
)
def test_the_whole_title_has_to_match(pattern: str, title: str) -> None:
    assert TitlePattern.parse(pattern).match(title) is None


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("", "1 to 200 characters"),
        ("  ", "1 to 200 characters"),
        ("x" * (MAX_PATTERN + 1), "1 to 200 characters"),
        ("Foo {chapter}", r"cannot contain \{chapter\}. Use \{number\}"),
        ("Foo {", "for a brace in the title write"),
        ("Foo }", "for a brace"),
        ("Foo {{number}}", "for a brace"),
        ("*", "no fixed text"),
        ("{number}", "no fixed text"),
        ("[*] - {number}", "no fixed text"),
        ("Foo {number} {number}", "twice"),
        ("Foo **", r"between \* and \*"),
        ("Foo {title}*", "has nothing between"),
        ("Foo {title} *", "has nothing between"),
        ("Foo *{number}", "has nothing between"),
        ("Foo {volume}{number}", "has nothing between"),
    ],
)
def test_patterns_that_cannot_be_meant_are_refused_with_a_remedy(pattern: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as refused:
        TitlePattern.parse(pattern)
    assert refused.value.remedy


PIECES = st.sampled_from(
    ["*", "{number}", "{volume}", "{title}", " ", "-", "a", "b c", ".", "1", "(", "\\", "話"]
)
TEXTS = st.text(alphabet="ab c-.,1239(\\話xV", max_size=80)


@given(st.lists(PIECES, max_size=12).map("".join), TEXTS)
def test_whatever_is_accepted_can_be_matched(pattern: str, title: str) -> None:
    try:
        parsed = TitlePattern.parse(pattern)
    except UserError:
        return
    told = parsed.match(title)
    assert told is None or told.title in title
    assert TitlePattern.parse(parsed.text) == parsed


@given(
    st.integers(0, 99_999),
    st.integers(0, 99),
    st.text("abc ", max_size=20).map(lambda text: " ".join(text.split())),
)
def test_what_is_written_by_a_pattern_is_read_by_it(number: int, volume: int, title: str) -> None:
    pattern = "Foo v{volume} c{number}: {title}"
    written = pattern.format(number=number, volume=volume, title=title)
    assert TitlePattern.parse(pattern).match(written) == TitleMatch(str(number), str(volume), title)


@pytest.mark.parametrize("part", ["a", "a ", "1", "1-", "a1.", "(a"])
def test_no_title_keeps_a_pattern_busy(part: str) -> None:
    pattern = TitlePattern.parse("*a" * 60 + "*c {number}d")
    assert pattern.match(part * 100_000) is None


def test_what_comes_late_in_a_title_is_not_looked_at() -> None:
    told = TitlePattern.parse("Foo {title}").match("Foo " + "x" * 10_000)
    assert told is not None
    assert len(told.title) <= MAX_TITLE_LENGTH
