"""Titles of entries: the number that is read out of them, and what is left to be shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.listings.chapters import MAX_PARSED_LENGTH, better_title, chapter_key, read_number

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("title", "number", "volume"),
    [
        ("One Piece - Chapter 1045.5: The Thing", "1045.5", ""),
        ("Vol.2 Ch.5", "5", "2"),
        ("Foo, Volume 12, Chapter 100", "100", "12"),
        ("[Group] Foo 12 (v2)", "12", ""),
        ("[Group] Foo 12v2 [1080p]", "12", ""),
        ("Foo v02 c012", "12", "2"),
        ("第12話", "12", ""),
        ("第１２話 はじまり", "12", ""),
        ("나 혼자만 레벨업 179화", "179", ""),
        ("第3巻 第12話", "12", "3"),
        ("Capítulo 7", "7", ""),
        ("Chapitre 7,5", "7.5", ""),
        ("Глава 7", "7", ""),
        ("Episode 3", "3", ""),
        ("Ep.3 The Start", "3", ""),
        ("#45", "45", ""),
        ("S2 Episode 4", "4", "2"),
        ("Season 2 Chapter 4", "4", "2"),
        ("Foo S02E04", "4", "2"),
        ("Foo 2x05 - Title", "5", "2"),
        ("Foo c045", "45", ""),
        ("Foo Ch.45a", "45a", ""),
        ("Foo Ch. 45-46", "45-46", ""),
        ("Foo Chapter -1", "-1", ""),
        ("foo-chapter-12", "12", ""),
        ("Chapter 45 - 12 Ways", "45", ""),
        ("Chapter 5 (Part 2)", "5 part 2", ""),
        ("Chapter 2024", "2024", ""),
        ("Mob Psycho 100 - 12", "12", ""),
        ("Mob Psycho 100 12", "12", ""),
        ("2.5 Dimensional Seduction 7", "7", ""),
        ("20th Century Boys 5", "5", ""),
        ("Foo 2nd Season - 03", "3", ""),
        ("Foo 2nd Season Episode 4", "4", ""),
        ("100% Perfect Girl 5", "5", ""),
        ("Foo 12: The 3 Brothers", "12", ""),
        ("Foo 12 - The 3", "12", ""),
        ("12. The Thing", "12", ""),
        ("12", "12", ""),
        ("Foo (12)", "12", ""),
        ("Foo 45.10", "45.10", ""),
        ("Foo - Extra 3", "Extra 3", ""),
        ("Foo Extra Chapter 3: Rain", "Extra 3", ""),
        ("Foo: Omake", "Omake", ""),
        ("Chapter 45: Special", "45", ""),
        ("Foo Vol. 3", "", "3"),
    ],
)
def test_the_number_is_found(title: str, number: str, volume: str) -> None:
    assert read_number(title) == (number, volume)


@pytest.mark.parametrize(
    "title",
    [
        "",
        "The Thing",
        "Foo (2024)",
        "Foo 2024",
        "News of 2024-01-15",
        "15.01.2024",
        "Foo 2nd Season",
        "Foo [1080p]",
        "Foo 1080p",
        "50% off",
        "Only 12%",
        "Top 10 manga of the year",
        "5 reasons to read on",
        "It costs $10",
        "At 12:30",
        "COVID-19",
        "A 1920x1080 wallpaper",
        "A 3rd chapter",
        "Foo in 3D",
    ],
)
def test_other_figures_are_no_chapter(title: str) -> None:
    assert read_number(title) == ("", "")


@pytest.mark.parametrize(
    ("title", "left"),
    [
        ("One Piece, chapter 45", ""),
        ("Chapter 45: The Thing", "The Thing"),
        ("One Piece - Chapter 045: The Thing", "The Thing"),
        ("one piece 45", ""),
        ("One Piece #45 – The Thing", "The Thing"),
        ("Vol.2 Ch.45 - The Thing", "The Thing"),
        ("Volume 2, Chapter 45", ""),
        ("第45話 はじまり", "はじまり"),
        ("45. The Thing", "The Thing"),
        ("45", ""),
        ("[Group] One Piece 45 (v2)", ""),
        ("Chapter 45 | One Piece", ""),
        ("Chapter 45: The Thing - One Piece", "The Thing"),
        ("Chapter 45: ...And Then", "...And Then"),
        ("One Piece", ""),
        ("The Thing", "The Thing"),
        ("  The   Thing ", "The Thing"),
        ("[Special] The Thing", "[Special] The Thing"),
        ("One Piece Film Red", "One Piece Film Red"),
        ("One Pieces", "One Pieces"),
        ("Chapter 46: The Thing", "Chapter 46: The Thing"),
        ("45 Ways to Die", "45 Ways to Die"),
        ("All for One Piece", "All for One Piece"),
        ("", ""),
    ],
)
def test_only_what_is_not_known_anyway_is_left_of_a_title(title: str, left: str) -> None:
    assert better_title(title, series="One Piece", number="45") == left


def test_without_a_number_only_the_series_is_cut() -> None:
    assert better_title("Foo: Extra 3", series="Foo", number="") == "Extra 3"
    assert better_title("Chapter 45", series="", number="") == "Chapter 45"


@given(
    st.integers(0, 1899), st.sampled_from(["Foo Chapter {}", "Ch.{}: Bar", "[G] Foo - {} [720p]", "第{}話"])
)
def test_every_number_is_found_again_in_common_titles(number: int, form: str) -> None:
    assert read_number(form.format(number)) == (str(number), "")


@given(st.text())
def test_any_title_can_be_read(title: str) -> None:
    number, volume = read_number(title)
    chapter_key(number, volume, entry_key="e", source="s")
    assert len(better_title(title, series=title[:5], number=number)) <= len(title)


@pytest.mark.parametrize(
    "part", ["1", "1 ", "1.", "chapter ", "chapter 1-", "[", "(1", "- ", "第", "special ", "v1 "]
)
def test_a_title_without_end_is_read_no_further_than_its_bound(part: str) -> None:
    assert read_number(part * 20_000) == read_number((part * 20_000)[:MAX_PARSED_LENGTH])
    assert len(better_title(part * 20_000, series=part, number="1")) <= len(part) * 20_000
