"""Coverage as sets of positions, and in which order holes are read."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.domain.streams.coverage import Hole, merge, uncovered, what_is_left
from headgate.domain.streams.messages import Span

SPANS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 15)).map(lambda pair: Span(pair[0], sum(pair))), max_size=12
)


def positions(spans: list[Span]) -> set[int]:
    return {position for span in spans for position in range(span.start, span.end)}


@settings(deadline=None)
@given(SPANS)
def test_merging_keeps_every_position_in_disjoint_spans_that_do_not_touch(spans: list[Span]) -> None:
    merged = merge(spans)
    assert positions(merged) == positions(spans)
    assert all(first.end < second.start for first, second in itertools.pairwise(merged))
    assert not any(span.empty for span in merged)


@settings(deadline=None)
@given(SPANS.flatmap(lambda spans: st.tuples(st.just(spans), st.permutations([*spans, *spans[::2]]))))
def test_spans_add_up_to_the_same_in_any_order_and_number(pair: tuple[list[Span], list[Span]]) -> None:
    spans, shuffled = pair
    bit_by_bit: list[Span] = []
    for span in shuffled:
        bit_by_bit = merge([*bit_by_bit, span])
    assert bit_by_bit == merge(spans)


@settings(deadline=None)
@given(SPANS, st.integers(0, 70), st.integers(0, 70))
def test_what_is_uncovered_is_all_between_floor_and_bound_but_the_covered(
    spans: list[Span], floor: int, bound: int
) -> None:
    holes = uncovered(spans, floor=floor, bound=bound)
    assert positions(holes) == set(range(floor, bound)) - positions(spans)
    assert holes == merge(holes)


def hole(start: int, end: int) -> Hole:
    return Hole("everything", Span(start, end))


@pytest.mark.parametrize(
    ("holes", "tip", "inner"),
    [([], False, False), ([hole(90, 100)], True, False), ([hole(4, 9)], False, True)],
)
def test_the_tip_is_told_from_the_rest(holes: list[Hole], tip: bool, inner: bool) -> None:
    left = what_is_left(holes, bound=100)
    assert (left.tip, left.inner) == (tip, inner)
