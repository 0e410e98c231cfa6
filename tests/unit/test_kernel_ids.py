"""Ids that sort by the time of their making."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from uuid import RFC_4122

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.clock import Clock, VirtualClock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness

pytestmark = pytest.mark.once

START = datetime(2030, 1, 1, tzinfo=UTC)


class SetClock(VirtualClock):
    """A clock that a test can also set back, as a machine's clock can be."""

    def __init__(self) -> None:
        super().__init__(START)
        self.milliseconds = 0

    def now(self) -> datetime:
        return datetime.fromtimestamp(START.timestamp() + self.milliseconds / 1000, UTC)


class Ones(Randomness):
    """The greatest bits there are, so that the next id must carry."""

    def bits(self, count: int) -> int:
        return (1 << count) - 1


def _ids(clock: Clock | None = None, seed: int = 1) -> Ids:
    return Ids(clock or VirtualClock(START), Randomness(seed))


def test_an_id_is_a_version_7_uuid_that_begins_with_its_milliseconds() -> None:
    made = _ids().new()
    assert (made.version, made.variant) == (7, RFC_4122)
    assert made.int >> 80 == int(START.timestamp() * 1000)


def test_the_same_seed_gives_the_same_ids() -> None:
    assert _ids(seed=4).new() == _ids(seed=4).new()
    assert _ids(seed=4).new() != _ids(seed=5).new()


def test_ids_of_one_millisecond_keep_their_order() -> None:
    ids = _ids()
    made = [ids.new() for _ in range(1000)]
    assert all(earlier < later for earlier, later in pairwise(made))
    assert all((one.version, one.variant) == (7, RFC_4122) for one in made)


def test_an_id_whose_random_bits_are_all_set_carries_into_the_next_millisecond() -> None:
    ids = Ids(VirtualClock(START), Ones())
    first, second = ids.new(), ids.new()
    assert second > first
    assert (second.version, second.variant) == (7, RFC_4122)
    assert second.int >> 80 == (first.int >> 80) + 1


@given(moves=st.lists(st.integers(min_value=-5_000, max_value=5_000), min_size=1, max_size=50))
def test_ids_never_go_back_whatever_the_clock_does(moves: list[int]) -> None:
    clock = SetClock()
    ids = Ids(clock, Randomness(7))
    made = [ids.new()]
    for move in moves:
        clock.milliseconds = max(0, clock.milliseconds + move)
        made.append(ids.new())
    assert all(earlier < later for earlier, later in pairwise(made))
