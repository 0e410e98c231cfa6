"""When a set is complete, what it misses, and when a person should know."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.library.archive_sets.completeness import (
    ASSUMED_AFTER,
    MAX_LISTED,
    PROBLEM_AFTER,
    KnownVolume,
    SetState,
    judge_set,
)
from headgate.domain.library.archive_sets.volumes import ZIP_NUMBER, read_volume_name

pytestmark = pytest.mark.once

ARRIVED = datetime(2026, 5, 4, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def known(file_name: str, size: int = 100, *, vanished: bool = False) -> KnownVolume:
    name = read_volume_name(file_name)
    assert name is not None
    return KnownVolume(name, size, vanished)


def parts(*numbers: int, last: int = 100) -> list[KnownVolume]:
    return [known(f"Pack.part{number:02}.rar", last if number == numbers[-1] else 100) for number in numbers]


def judge(*volumes: KnownVolume, after: timedelta = ASSUMED_AFTER, total: int | None = None) -> SetState:
    return judge_set(volumes, last_arrival_at=ARRIVED, now=ARRIVED + after, proven_total=total)


def test_what_headers_prove_is_complete_at_once() -> None:
    state = judge(*parts(1, 2, 3), after=timedelta(0), total=3)
    assert (state.state, state.reason, state.total) == ("proven", "headers", 3)
    assert (state.problem, state.due_at) == (False, None)


def test_a_set_that_ends_with_a_smaller_volume_is_assumed_complete_after_a_quiet_day() -> None:
    volumes = parts(1, 2, 3, last=40)
    early = judge(*volumes, after=ASSUMED_AFTER - timedelta(seconds=1))
    assert (early.state, early.reason, early.due_at) == ("waiting", "not_quiet_yet", ARRIVED + ASSUMED_AFTER)
    assert (early.problem, early.total) == (False, None)
    later = judge(*volumes)
    assert (later.state, later.reason, later.due_at) == ("assumed", "last_is_smaller", None)
    assert later.total == 3


def test_a_set_that_ends_with_its_zip_is_assumed_complete_whatever_its_size() -> None:
    state = judge(known("Pack.z01"), known("Pack.z02"), known("Pack.zip", 100))
    assert (state.state, state.reason) == ("assumed", "last_by_name")


@pytest.mark.parametrize("volumes", [parts(1), parts(1, 2, 3), parts(1, 2, last=120), parts(1, 2, last=0)])
def test_a_set_whose_last_volume_is_full_may_go_on(volumes: list[KnownVolume]) -> None:
    state = judge(*volumes, after=2 * DAY)
    assert (state.state, state.reason, state.due_at) == ("waiting", "open_end", ARRIVED + PROBLEM_AFTER)
    assert state.missing == ()


def test_a_hole_is_never_assumed_away() -> None:
    state = judge(*parts(1, 2, 5, last=40), after=3 * DAY)
    assert (state.state, state.reason) == ("waiting", "volumes_missing")
    assert (state.present, state.missing) == ((1, 2, 5), (3, 4))
    assert state.missing_names == ("Pack.part03.rar", "Pack.part04.rar")


def test_a_set_without_its_first_volume_is_not_complete() -> None:
    state = judge(*parts(2, 3, last=40))
    assert (state.state, state.missing_names) == ("waiting", ("Pack.part01.rar",))


def test_a_set_that_still_misses_volumes_becomes_a_problem_after_quiet_days() -> None:
    volumes = parts(1, 3)
    before = judge(*volumes, after=PROBLEM_AFTER - timedelta(seconds=1))
    assert (before.problem, before.due_at) == (False, ARRIVED + PROBLEM_AFTER)
    after = judge(*volumes, after=PROBLEM_AFTER)
    assert (after.state, after.problem, after.due_at) == ("waiting", True, None)


def test_headers_name_the_missing_at_the_end() -> None:
    state = judge(*parts(1, 2), total=4)
    assert (state.state, state.total) == ("waiting", 4)
    assert state.missing_names == ("Pack.part03.rar", "Pack.part04.rar")


def test_more_volumes_than_the_headers_tell_are_not_a_complete_set() -> None:
    state = judge(*parts(1, 2, 3), total=2)
    assert (state.state, state.reason) == ("waiting", "beyond_total")


def test_a_volume_that_vanished_unfetched_is_missing_for_good() -> None:
    state = judge(
        known("Pack.rar"), known("Pack.r00", vanished=True), known("Pack.r01", 40), after=timedelta(0)
    )
    assert (state.state, state.reason, state.problem, state.due_at) == ("impossible", "vanished", True, None)
    assert (state.present, state.missing_names) == ((1, 3), ("Pack.r00",))


def test_spanned_zips_miss_their_zip() -> None:
    state = judge(known("Pack.z01"), known("Pack.z03"))
    assert (state.missing, state.missing_count) == ((2, ZIP_NUMBER), 2)
    assert state.missing_names == ("Pack.z02", "Pack.zip")


def test_the_headers_of_a_zip_count_it_too() -> None:
    state = judge(known("Pack.z01"), known("Pack.zip", 5), total=4)
    assert (state.total, state.missing_names) == (4, ("Pack.z02", "Pack.z03"))
    whole = judge(known("Pack.z01"), known("Pack.zip", 5), total=2)
    assert whole.state == "proven"


def test_a_stray_volume_with_a_great_number_lists_only_the_first_missing() -> None:
    state = judge(known("Pack.part9999.rar"))
    assert (state.missing_count, len(state.missing)) == (9_998, MAX_LISTED)


@given(
    st.sets(st.integers(1, 40), min_size=1),
    st.one_of(st.none(), st.integers(1, 45)),
    st.integers(0, 10 * 24 * 60),
    st.sampled_from([40, 100]),
)
def test_what_is_due_is_due_in_the_future_and_changes_something(
    numbers: set[int], total: int | None, minutes: int, last: int
) -> None:
    volumes = parts(*sorted(numbers), last=last)
    state = judge(*volumes, after=timedelta(minutes=minutes), total=total)
    assert set(state.missing).isdisjoint(state.present)
    assert len(state.missing) == len(state.missing_names) == state.missing_count
    if state.complete:
        assert state.missing == ()
        assert state.present == tuple(range(1, len(numbers) + 1))
    if state.due_at is None:
        assert state.complete or state.problem
    else:
        assert state.due_at > ARRIVED + timedelta(minutes=minutes)
        then = judge_set(volumes, last_arrival_at=ARRIVED, now=state.due_at, proven_total=total)
        assert (then.state, then.problem) != (state.state, state.problem)
