"""Chapter numbers: what is the same chapter, what is another, and in which order they come."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.listings.chapters import MAX_NUMBER, ChapterKey, chapter_key
from headgate.domain.text import MAX_KEY

pytestmark = pytest.mark.once

IN_ORDER = [
    "Prologue", "-2", "-1.5", "-1", "0", "0.5", "1", "9", "10", "44.9", "45", "45-46", "45 part 1",
    "45 part 2", "45a", "45b", "45.01", "45.05", "45.1", "45.1.2", "45.2", "45.5", "45.5a", "45.9", "45.10",
    "45.11", "45.25", "45.100", "46",
    "100", "1045", "9" * 40, "Bonus 1", "Extra 3", "Extra 10", "Side story 2", "Special 1", "",
]  # fmt: skip


def key(
    number: str, volume: str = "", *, entry: str = "e1", source: str = "s1", reset: bool = False
) -> ChapterKey:
    return chapter_key(number, volume, entry_key=entry, source=source, numbers_reset=reset)


@pytest.mark.parametrize(
    "written",
    ["45", "45.0", "045", " 45 ", "45.00", "４５", "45,0", "Ch. 45", "chapter 45", "#45", "45v2", "c045"],
)
def test_one_number_written_in_many_ways_is_one_chapter(written: str) -> None:
    assert key(written, entry="other", source="s2") == key("45")
    assert key(written).number == "45"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("45,5", "45.5"),
        ("1,045", "1045"),
        ("45A", "45a"),
        ("45 a", "45a"),
        ("45–46", "45-46"),
        ("45 - 46", "45-46"),
        ("45～46", "45-46"),
        ("−1", "-1"),
        ("-0", "0"),
        ("Extra 03", "extra #3"),
        ("Extra Chapter 3", "Extra 3"),
        ("番外編3", "Extra 3"),
        ("Side-story 2", "side story 2"),
        ("Chapter 5 (Part 2)", "5 part 2"),
    ],
)
def test_signs_and_letters_do_not_make_another_chapter(one: str, other: str) -> None:
    assert key(one, source="s2") == key(other, source="s1")


def test_all_these_are_different_chapters_in_this_order() -> None:
    places = [key(number).place for number in IN_ORDER]
    assert len({key(number).key for number in IN_ORDER}) == len(IN_ORDER)
    assert all(one < next_one for one, next_one in pairwise(places)), [
        (IN_ORDER[i], IN_ORDER[i + 1]) for i in range(len(places) - 1) if places[i] >= places[i + 1]
    ]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("045.50", "45.50"),
        ("45B", "45b"),
        ("-01", "-1"),
        ("45-046", "45-46"),
        ("Extra 3", ""),
        ("", ""),
        ("?", ""),
    ],
)
def test_the_number_is_shown_in_its_plain_form(written: str, shown: str) -> None:
    assert key(written).number == shown


def test_the_volume_is_no_part_of_the_key_where_numbers_go_on() -> None:
    assert key("45", "6").key == key("45").key
    assert key("45", "6").place == key("45").place
    assert key("45", "06").volume == "6"


def test_the_volume_comes_first_where_numbers_begin_anew_and_an_unknown_one_last() -> None:
    volumes = ["0", "1", "2", "2.5", "10", "special", ""]
    made = [key(number, volume, reset=True) for volume in volumes for number in ("1", "2", "10")]
    assert len({chapter.key for chapter in made}) == len(made)
    assert [chapter.place for chapter in made] == sorted(chapter.place for chapter in made)
    assert key("1", "Vol. 02", reset=True) == key("1", "2", reset=True)
    assert key("Extra 1", "1", reset=True).place > made[-1].place


def test_those_without_a_number_are_known_by_source_and_entry() -> None:
    made = [
        key("", entry=entry, source=source).key
        for entry, source in [("a", "s"), ("b", "s"), ("a", "t"), ("a:s", "s"), ("a", "s:a"), ("s", "s%3aa")]
    ]
    assert len(set(made)) == len(made)
    assert key("", entry="a") == key("", entry="a")
    assert key("", entry="a").place != key("", entry="b").place


def test_extras_without_a_number_are_not_all_one() -> None:
    assert key("Omake", entry="a").key != key("Omake", entry="b").key
    assert key("46").place < key("Omake", entry="a").place < key("", entry="a").place
    assert key("Epilogue", entry="a", source="s1") == key("Epilogue", entry="b", source="s2")


@pytest.mark.parametrize("text", ["9" * 5000, "1." * 3000, "a" * 10_000, "-" * 5000, "9" * MAX_NUMBER])
def test_very_long_texts_stay_within_their_bounds(text: str) -> None:
    made = [key(text, text, entry=text + end, reset=reset) for end in "ab" for reset in (True, False)]
    for chapter in made:
        assert len(chapter.key) <= MAX_KEY
        assert len(chapter.place) < 2 * MAX_KEY
    if len(text) > MAX_NUMBER:
        assert made[0].key != made[2].key
        assert made[0].place != made[2].place


@given(st.text(), st.text(), st.text(min_size=1), st.booleans())
def test_any_text_gives_a_key_that_can_be_stored_and_sorted(
    number: str, volume: str, entry: str, reset: bool
) -> None:
    chapter = key(number, volume, entry=entry, reset=reset)
    assert chapter.key
    assert chapter.place.isascii()
    assert "\0" not in chapter.key + chapter.place + chapter.number + chapter.volume
    assert chapter == key(number, volume, entry=entry, reset=reset)


@given(st.text(alphabet="0123456789.-,a ", max_size=12))
def test_what_is_shown_is_the_same_chapter_when_read_again(number: str) -> None:
    chapter = key(number)
    if chapter.number:
        assert key(chapter.number) == chapter


@given(st.integers(-99, 99), st.integers(1, 999), st.integers(1, 999))
def test_digits_after_the_point_count_on_from_nine_to_ten(whole: int, one: int, other: int) -> None:
    places = [key(f"{whole}.{digits}").place for digits in (one, other)]
    assert (places[0] < places[1]) == ((one < other) if whole >= 0 else (one > other))


@given(st.integers(-9999, 9999), st.integers(-9999, 9999))
def test_whole_numbers_are_in_their_order(one: int, other: int) -> None:
    assert (key(str(one)).place < key(str(other)).place) == (one < other)


@given(*[st.tuples(st.integers(-99, 99), st.text("0123456789", min_size=1, max_size=3))] * 2)
def test_numbers_have_one_key_exactly_if_they_have_one_place(
    one: tuple[int, str], other: tuple[int, str]
) -> None:
    first, second = (key(f"{whole}.{fraction}") for whole, fraction in (one, other))
    assert (first.key == second.key) == (first.place == second.place)
