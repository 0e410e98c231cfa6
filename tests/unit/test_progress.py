"""How much of a stream has been read: the share, and the range without holes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.streams.coverage import merge
from headgate.domain.streams.messages import Span
from headgate.domain.streams.placing import next_head
from headgate.domain.streams.progress import ReadFacts, progress_of

BIRTH = 10**18
"""Where the first message of a stream stands whose positions are times."""


def facts(
    *spans: Span, floor: int = 0, head: int | None, first_seen: int | None = None, allotted: bool = False
) -> ReadFacts:
    wanted = Span(floor, floor if head is None else max(floor, head + 1))
    inside = [
        Span(max(span.start, wanted.start), min(span.end, wanted.end))
        for span in merge(spans)
        if span.start < wanted.end and span.end > wanted.start
    ]
    first, last = (inside[0], inside[-1]) if inside else (None, None)
    return ReadFacts(
        floor=floor,
        head=head,
        covered=sum(span.end - span.start for span in inside),
        first_start=first and first.start,
        first_end=first and first.end,
        last_start=last and last.start,
        last_end=last and last.end,
        first_seen=first_seen,
        messages_read=7,
        checked_at=None,
        allotted=allotted,
    )


def test_without_a_head_nothing_is_known() -> None:
    progress = progress_of(facts(head=None))
    assert (progress.share, progress.complete, progress.complete_from) == (None, False, None)


def test_allotted_positions_have_no_share_before_everything_was_read() -> None:
    head = next_head(next_head(None))
    history, gap = Span(0, next_head(None) + 1), Span(next_head(None) + 1, head + 1)
    with_gap = progress_of(facts(history, head=head, first_seen=next_head(None), allotted=True))
    whole = progress_of(facts(history, gap, head=head, first_seen=next_head(None), allotted=True))
    assert (with_gap.share, with_gap.complete) == (None, False)
    assert (whole.share, whole.complete) == (1.0, True)


def test_nothing_read_is_nothing_whatever_positions_mean() -> None:
    for head in (99, BIRTH + 99):
        assert progress_of(facts(head=head)).share == 0.0


def test_of_counters_the_share_is_known_from_the_first_page_on() -> None:
    progress = progress_of(facts(Span(90, 100), head=99))
    assert (progress.share, progress.complete) == (0.1, False)
    assert (progress.complete_from, progress.complete_to) == (90, 99)


def test_of_times_there_is_no_share_before_the_beginning_was_reached() -> None:
    """A page of the newest would be 0.1 % of all positions, and 99.9 % of those that are known."""
    progress = progress_of(facts(Span(BIRTH + 900, BIRTH + 1000), head=BIRTH + 999, first_seen=BIRTH + 900))
    assert (progress.share, progress.complete) == (None, False)
    assert (progress.complete_from, progress.complete_to) == (BIRTH + 900, BIRTH + 999)


def test_of_times_the_emptiness_before_the_first_message_counts_for_nothing() -> None:
    read = facts(Span(0, BIRTH + 250), Span(BIRTH + 500, BIRTH + 1000), head=BIRTH + 999, first_seen=BIRTH)
    assert progress_of(read).share == 0.75
    assert progress_of(replace(read, first_seen=None)).share == pytest.approx(500 / 750)


def test_a_floor_that_a_person_set_is_the_beginning() -> None:
    assert progress_of(facts(Span(BIRTH, BIRTH + 25), floor=BIRTH, head=BIRTH + 99)).share == 0.25


def test_only_when_nothing_is_missing_it_is_complete() -> None:
    assert progress_of(facts(Span(0, 100), head=99)).complete
    assert progress_of(facts(Span(0, 100), head=99)).share == 1.0
    assert not progress_of(facts(Span(0, 50), Span(51, 100), head=99)).complete


@given(
    spans=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 60)), max_size=6),
    floor=st.sampled_from([0, 5, BIRTH]),
    head=st.integers(-1, 320),
    first_seen=st.none() | st.integers(0, 320),
)
def test_a_share_lies_between_nothing_and_all_and_is_one_only_if_complete(
    spans: list[tuple[int, int]], floor: int, head: int, first_seen: int | None
) -> None:
    shift = floor if floor == BIRTH else 0
    read = facts(
        *(Span(start + shift, start + shift + length) for start, length in spans),
        floor=floor,
        head=head + shift,
        first_seen=None if first_seen is None else first_seen + shift,
    )
    progress = progress_of(read)
    if progress.share is not None:
        assert 0 <= progress.share <= 1
        assert (progress.share == 1) == progress.complete
