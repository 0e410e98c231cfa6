"""Coverage as a bar: it never claims more than was read, however sparse positions are."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.streams.coverage_bar import COVERED, PARTLY, UNREAD, CoverageBar, draw_bar
from headgate.domain.streams.messages import Span

SNOWFLAKE = 1_180_000_000_000_000_000


def bar(
    spans: Sequence[Span], *, head: int, floor: int = 0, first_seen: int | None = None, width: int = 10
) -> CoverageBar:
    drawn = draw_bar(spans, floor=floor, head=head, first_seen=first_seen, width=width)
    assert drawn is not None
    return drawn


def test_without_a_head_there_is_nothing_to_draw() -> None:
    assert draw_bar([], floor=0, head=None, first_seen=None, width=10) is None
    assert draw_bar([], floor=5, head=4, first_seen=None, width=10) is None


def test_a_stream_that_was_read_whole_is_a_full_bar() -> None:
    drawn = bar([Span(0, 100)], head=99)
    assert (drawn.cells, drawn.share, drawn.complete) == (COVERED * 10, 1.0, True)


def test_each_cell_is_a_share_of_the_range() -> None:
    drawn = bar([Span(10, 60), Span(80, 85)], floor=10, head=109)
    assert drawn.cells == COVERED * 5 + UNREAD * 2 + PARTLY + UNREAD * 2
    assert drawn.share == 0.55


def test_a_tiny_hole_keeps_its_cell_from_being_full() -> None:
    drawn = bar([Span(0, 500_000), Span(500_001, 1_000_000)], floor=0, head=999_999, first_seen=0)
    assert drawn.cells.count(PARTLY) == 1
    assert not drawn.complete


def test_a_snowflake_stream_begins_where_its_first_message_is() -> None:
    drawn = bar([Span(0, SNOWFLAKE + 50)], head=SNOWFLAKE + 99, first_seen=SNOWFLAKE)
    assert drawn.drawn == Span(SNOWFLAKE, SNOWFLAKE + 100)
    assert (drawn.cells, drawn.share) == (COVERED * 5 + UNREAD * 5, 0.5)


def test_unread_history_of_unknown_length_is_said_and_not_drawn() -> None:
    drawn = bar([Span(SNOWFLAKE, SNOWFLAKE + 100)], head=SNOWFLAKE + 99)
    assert drawn.drawn == Span(SNOWFLAKE, SNOWFLAKE + 100)
    assert (drawn.older_unread, drawn.complete) == (True, False)


def test_a_floor_that_a_person_set_is_where_the_bar_begins() -> None:
    drawn = bar([Span(150, 200)], floor=100, head=199)
    assert (drawn.cells, drawn.older_unread) == (UNREAD * 5 + COVERED * 5, False)


@pytest.mark.parametrize("count", [1, 3, 7])
def test_fewer_positions_than_cells_still_fill_the_bar(count: int) -> None:
    assert len(bar([Span(0, count)], head=count - 1).cells) == 10


@given(
    edges=st.lists(st.integers(0, 300), max_size=12),
    floor=st.integers(0, 300),
    head=st.integers(0, 300),
    first_seen=st.none() | st.integers(0, 300),
    width=st.integers(1, 60),
)
def test_a_full_bar_means_that_nothing_drawn_is_unread(
    edges: list[int], floor: int, head: int, first_seen: int | None, width: int
) -> None:
    ordered = sorted(set(edges))
    spans = [Span(start, end) for start, end in zip(ordered[::2], ordered[1::2], strict=False)]
    drawn = draw_bar(spans, floor=floor, head=head, first_seen=first_seen, width=width)
    if head < floor:
        assert drawn is None
        return
    assert drawn is not None
    covered = {position for span in spans for position in range(span.start, span.end)}
    wanted = set(range(floor, head + 1))
    shown = wanted & set(range(drawn.drawn.start, drawn.drawn.end))
    assert len(drawn.cells) == width
    assert drawn.complete == (wanted <= covered)
    assert (set(drawn.cells) == {COVERED}) == (shown <= covered)
    assert (set(drawn.cells) == {UNREAD}) == (not shown & covered)
    assert drawn.share == len(shown & covered) / len(shown)
