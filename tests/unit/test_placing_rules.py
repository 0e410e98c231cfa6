"""Where messages belong whose platform has no usable numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.streams.messages import LiveEvent, Span
from headgate.domain.streams.placing import GAP, HISTORY, next_head, place_events, place_page

HOLE = Span(100, 200)


def test_new_messages_of_a_page_are_placed_downwards_from_the_end_of_the_hole() -> None:
    placed = place_page(HOLE, ["c", "b", "a"], known={}, exhausted=False)
    assert placed.new == {"c": 199, "b": 198, "a": 197}
    assert placed.proven == Span(197, 200)


def test_the_beginning_of_the_history_proves_the_rest_of_the_hole() -> None:
    assert place_page(HOLE, ["a"], known={}, exhausted=True).proven == HOLE
    assert place_page(HOLE, [], known={}, exhausted=True).proven == HOLE


def test_a_whole_page_of_known_messages_from_below_proves_the_rest_of_the_hole() -> None:
    known = {"b": 99, "a": 98, "late": 450}
    assert place_page(HOLE, ["b", "late", "a"], known=known, exhausted=False).proven == HOLE
    assert place_page(HOLE, ["new", "b", "a"], known=known, exhausted=False).proven == Span(199, 200)


def test_known_messages_from_above_lead_on_and_end_nothing() -> None:
    placed = place_page(HOLE, ["e", "d"], known={"e": 301, "d": 300}, exhausted=False)
    assert (placed.new, placed.proven) == ({}, Span(199, 200))


def test_a_page_of_a_stream_that_is_read_again_proves_down_to_its_oldest_message() -> None:
    known = {"c": 180, "b": 150, "a": 149}
    placed = place_page(HOLE, ["c", "b", "a"], known=known, exhausted=False)
    assert (placed.new, placed.proven) == ({}, Span(149, 200))


@given(
    keys=st.lists(st.sampled_from("abcdefgh"), unique=True),
    known=st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 300)),
    exhausted=st.booleans(),
)
def test_every_page_makes_progress_within_its_hole(
    keys: list[str], known: dict[str, int], *, exhausted: bool
) -> None:
    placed = place_page(HOLE, keys, known=known, exhausted=exhausted)
    assert placed.proven.end == HOLE.end
    assert HOLE.start <= placed.proven.start < HOLE.end
    assert placed.new.keys() == set(keys) - known.keys()
    assert all(position in placed.proven for position in placed.new.values())


def message(key: str, bookmark: str = "") -> LiveEvent:
    return LiveEvent("message", "room", key=key, bookmark=bookmark)


def test_messages_that_follow_each_other_are_placed_upwards_from_the_head() -> None:
    placed = place_events(7, [message("a"), message("b")], known={}, continuous=True)
    assert (placed.new, placed.gaps, placed.head) == ({"a": 8, "b": 9}, {}, 9)


def test_before_the_first_message_of_a_connection_there_may_be_a_gap() -> None:
    placed = place_events(7, [message("a", "t1"), message("b", "t2")], known={}, continuous=False)
    assert placed.gaps == {8 + GAP: "t1"}
    assert placed.new == {"a": 8 + GAP, "b": 9 + GAP}


def test_a_known_message_shows_that_nothing_was_missed_before_it() -> None:
    placed = place_events(7, [message("old"), message("a", "t")], known={"old": 7}, continuous=False)
    assert (placed.new, placed.gaps) == ({"a": 8}, {})


def test_a_stream_that_was_never_read_has_room_for_its_history() -> None:
    placed = place_events(None, [message("a", "t")], known={}, continuous=False)
    assert (placed.new, placed.gaps) == ({"a": HISTORY}, {HISTORY: "t"})
    assert next_head(None) == HISTORY - 1


def test_a_gap_is_told_once_also_before_the_first_message() -> None:
    gap = LiveEvent("gap", "room", bookmark="g")
    placed = place_events(7, [gap, message("a", "t")], known={}, continuous=False)
    assert (placed.gaps, placed.new) == ({8 + GAP: "g"}, {"a": 8 + GAP})


def test_a_message_that_comes_twice_keeps_its_place() -> None:
    placed = place_events(7, [message("a"), message("a"), message("b")], known={}, continuous=True)
    assert placed.new == {"a": 8, "b": 9}
