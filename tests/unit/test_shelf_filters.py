"""Filters and sorts of the library as they stand in addresses."""

from __future__ import annotations

from datetime import date
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.domain.errors import UserError
from headgate.domain.library.facets import facet_terms
from headgate.domain.library.label_rules import label_key
from headgate.domain.library.shelf_filters import (
    KINDS,
    MAX_VALUES,
    SORTS,
    STATES,
    ShelfFilters,
    ShelfView,
    TopicName,
    parse_view,
    read_view,
)
from headgate.domain.text import typed_text
from headgate.domain.words.shelf_words import FilterNames, list_chips

CHANNEL = UUID(int=7)


def _some(values: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.sets(values, max_size=4).map(lambda found: tuple(sorted(found, key=str)))


_LABELS = st.text(max_size=20).map(lambda text: label_key(typed_text(text, max_length=100))).filter(bool)
_KEYS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=20)
_TOPICS = st.builds(TopicName, st.uuids(), _KEYS.map(str.strip).filter(bool))
_DAYS = st.none() | st.dates(date(1970, 1, 1), date(2200, 1, 1))
_SIZES = st.none() | st.integers(0, 10**12)


def _ordered(filters: ShelfFilters) -> bool:
    days = filters.date_from is None or filters.date_to is None or filters.date_from <= filters.date_to
    sizes = filters.min_bytes is None or filters.max_bytes is None or filters.min_bytes <= filters.max_bytes
    return days and sizes


_FILTERS = st.builds(
    ShelfFilters,
    channels=_some(st.uuids()),
    topics=_some(_TOPICS),
    creators=_some(_LABELS),
    tags=_some(_LABELS),
    types=_some(st.sampled_from(("zip", "7z", "stl", "tar.gz"))),
    kinds=_some(st.sampled_from(KINDS)),
    states=_some(st.sampled_from(STATES)),
    date_from=_DAYS,
    date_to=_DAYS,
    min_bytes=_SIZES,
    max_bytes=_SIZES,
    ungrouped=st.booleans(),
    problems=st.booleans(),
).filter(_ordered)
_VIEWS = st.builds(ShelfView, _FILTERS, st.sampled_from(SORTS), st.text(max_size=30).map(typed_text))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_VIEWS)
def test_a_view_is_read_back_from_its_address_as_it_was_written(view: ShelfView) -> None:
    assert parse_view(view.query) == view
    assert parse_view(parse_view(view.query).query).query == view.query


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_VIEWS)
def test_removing_every_chip_one_after_the_other_leaves_everything(view: ShelfView) -> None:
    left = view
    while chips := list_chips(left, FilterNames()):
        chip = chips[0]
        assert chip.label
        smaller = parse_view(chip.query)
        assert len(list_chips(smaller, FilterNames())) == len(chips) - 1
        assert (smaller.sort, smaller.search) == (view.sort, view.search)
        left = smaller
    assert left.filters == ShelfFilters()


def test_names_are_compared_as_labels_are() -> None:
    filters = parse_view("creator=Tide_Water&tag=Pre-Supported&tag=ELVES&type=.ZIP").filters
    assert filters == ShelfFilters(creators=("tide water",), tags=("elves", "pre supported"), types=("zip",))


def test_sizes_are_read_as_people_write_them() -> None:
    assert parse_view("min_size=1.5+MB&max_size=2gb").filters == ShelfFilters(
        min_bytes=1_500_000, max_bytes=2_000_000_000
    )
    assert parse_view("max_size=0").filters.max_bytes == 0


def test_days_are_whole_days_in_utc() -> None:
    filters = parse_view("from=2026-01-31&to=2026-01-31").filters
    assert filters.begins_at is not None
    assert filters.ends_at is not None
    assert (filters.begins_at.isoformat(), filters.ends_at.isoformat()) == (
        "2026-01-31T00:00:00+00:00",
        "2026-02-01T00:00:00+00:00",
    )


def test_what_is_not_about_views_and_empty_fields_are_passed_over() -> None:
    assert read_view([("after", "x"), ("tag", " "), ("from", ""), ("q", "  two  words ")]) == ShelfView(
        search="two words"
    )


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("channel=x", "channel"),
        ("topic=x", "topic"),
        (f"topic={CHANNEL}", "topic"),
        ("topic=x/y", "topic"),
        ("creator=--", "creator"),
        ("tag=_", "tag"),
        ("type=a+b", "type"),
        ("kind=thing", "kind"),
        ("state=gone", "state"),
        ("from=yesterday", "from"),
        ("from=0001-01-01", "from"),
        ("to=9999-12-31", "to"),
        ("from=2026-02-01&to=2026-01-01", "to"),
        ("min_size=large", "min_size"),
        ("max_size=9999999+PB", "max_size"),
        ("min_size=2&max_size=1", "max_size"),
        ("ungrouped=perhaps", "ungrouped"),
        ("problems=2", "problems"),
        ("sort=best", "sort"),
        ("&".join(f"tag=t{number}" for number in range(MAX_VALUES + 1)), "tag"),
        ("tag=" + "x" * 9000, "query"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_with_its_field(query: str, field: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_view(query)
    assert refused.value.field == field


def test_chips_say_what_ids_and_keys_stand_for() -> None:
    topic = TopicName(CHANNEL, "5")
    view = parse_view(
        f"channel={CHANNEL}&topic={topic}&creator=mara&tag=elves&state=partial&min_size=2+MB&problems=1"
    )
    names = FilterNames({CHANNEL: "Minis"}, {topic: "Heroes"}, {"mara": "Mara"}, {"elves": "Elves"})
    labels = [chip.label for chip in list_chips(view, names)]
    assert labels == [
        "Minis",
        "Topic: Heroes",
        "By Mara",
        "#Elves",
        "Partly stored",
        "At least 2.0 MB",
        "With problems",
    ]


def test_several_tags_are_all_wanted_and_one_of_several_channels_is_enough() -> None:
    terms = facet_terms(
        ShelfFilters(channels=(CHANNEL, UUID(int=8)), tags=("elves", "resin"), kinds=("clip", "package"))
    )
    assert [len(term.facets) for term in terms] == [2, 1, 1, 2]
    assert [term.dated for term in terms] == [True, True, True, False]
