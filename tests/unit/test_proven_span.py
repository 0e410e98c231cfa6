"""What a page proves, against every stream that Hypothesis can think of."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.domain.streams.coverage import proven_span
from headgate.domain.streams.messages import Span

pytestmark = pytest.mark.once


@dataclass(frozen=True)
class Reading:
    """A hole in a stream, some of whose newest messages are not visible yet."""

    existing: frozenset[int]
    invisible: frozenset[int]
    hole: Span
    bound: int
    asked: int
    guaranteed: bool
    settled_end: int

    def page(self, shortened_to: int | None = None) -> list[int]:
        visible = self.existing - self.invisible
        inside = sorted((p for p in visible if p in self.hole and p < self.bound), reverse=True)
        return inside[: self.asked if shortened_to is None else shortened_to]

    def proven(self, positions: list[int]) -> Span:
        return proven_span(
            self.hole,
            bound=self.bound,
            positions=positions,
            asked=self.asked,
            short_page_proves_bound=self.guaranteed,
            settled_end=self.settled_end,
        )


@st.composite
def readings(draw: st.DrawFn) -> Reading:
    existing = draw(st.frozensets(st.integers(0, 60), max_size=20))
    start = draw(st.integers(0, 60))
    settled_end = draw(st.integers(0, 70))
    young = sorted(p for p in existing if p >= settled_end)
    invisible = draw(st.frozensets(st.sampled_from(young))) if young else frozenset[int]()
    return Reading(
        existing=existing,
        invisible=invisible,
        hole=Span(start, draw(st.integers(start, 70))),
        bound=draw(st.integers(0, 70)),
        asked=draw(st.integers(1, 8)),
        guaranteed=draw(st.booleans()),
        settled_end=settled_end,
    )


@settings(deadline=None)
@given(readings())
def test_nothing_is_missing_from_what_a_page_proves(reading: Reading) -> None:
    page = reading.page()
    proven = reading.proven(page)
    assert {p for p in reading.existing if p in proven} <= set(page)


@settings(deadline=None)
@given(readings(), st.integers(1, 8))
def test_a_page_cut_short_proves_only_what_it_holds(reading: Reading, shortened_to: int) -> None:
    page = reading.page(min(shortened_to, reading.asked))
    if reading.guaranteed or not page:
        return
    proven = reading.proven(page)
    assert {p for p in reading.existing if p in proven} <= set(page)


@settings(deadline=None)
@given(readings())
def test_a_page_proves_nothing_outside_of_its_hole_bound_and_settled_end(reading: Reading) -> None:
    proven = reading.proven(reading.page())
    assert proven.empty or (
        reading.hole.start <= proven.start
        and proven.end <= min(reading.hole.end, reading.bound, reading.settled_end)
    )


@settings(deadline=None)
@given(st.frozensets(st.integers(0, 200), max_size=60), st.integers(1, 9), st.booleans())
def test_reading_what_is_not_proven_ends_and_finds_each_message_once(
    existing: frozenset[int], asked: int, guaranteed: bool
) -> None:
    found: list[int] = []
    end = 201
    while end > 0:
        reading = Reading(existing, frozenset(), Span(0, end), 201, asked, guaranteed, settled_end=300)
        page = reading.page()
        proven = reading.proven(page)
        assert proven.end == end
        assert not proven.empty
        found.extend(page)
        end = proven.start
    assert sorted(found) == sorted(existing)


def test_a_limit_above_the_page_size_is_not_the_end_of_a_stream() -> None:
    full_page = list(range(199, 99, -1))
    proven = proven_span(
        Span(0, 200),
        bound=200,
        positions=full_page,
        asked=100,
        short_page_proves_bound=True,
        settled_end=200,
    )
    assert proven == Span(100, 200)


def test_an_empty_page_proves_the_hole_up_to_the_bound() -> None:
    proven = proven_span(
        Span(10, 500),
        bound=300,
        positions=[],
        asked=100,
        short_page_proves_bound=False,
        settled_end=400,
    )
    assert proven == Span(10, 300)
