"""The result of assembly depends on the volumes, not on the order in which they arrive."""

from __future__ import annotations

import os
from itertools import permutations
from random import Random
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from volume_worlds import DAY, MB, MINUTE, Library, Posted, World, build_world, keys_of, worlds

from headgate.domain.library.archive_sets.assembly import assemble
from headgate.domain.library.archive_sets.volumes import Volume

pytestmark = pytest.mark.once

FULL = bool(os.environ.get("HEADGATE_TEST_FULL"))
EXAMPLES = 300 if FULL else 100


@settings(max_examples=EXAMPLES, deadline=None)
@given(worlds(), st.randoms(use_true_random=False))
def test_sets_are_right_in_any_order_of_arrival(world: World, random: Random) -> None:
    volumes = list(world.volumes)
    random.shuffle(volumes)
    assert keys_of(assemble(volumes)) == world.truth


@settings(max_examples=EXAMPLES, deadline=None)
@given(worlds(), st.randoms(use_true_random=False))
def test_sets_are_right_when_each_arrival_goes_by_the_ids_of_the_last(world: World, random: Random) -> None:
    volumes = list(world.volumes)
    random.shuffle(volumes)
    library = Library()
    for amount, volume in enumerate(volumes, start=1):
        before = {each.key: each.item_id for each in library.volumes}
        library.accept(volume)
        check_ids(library, before)
        assert keys_of(library.items) == keys_of(assemble(volumes[:amount]))
    assert keys_of(library.items) == world.truth


def check_ids(library: Library, before: dict[str, UUID | None]) -> None:
    """Check that no id is lost or used twice, and that none goes to an item that shares no volume with it."""
    led_to: dict[UUID, frozenset[str]] = {}
    for item in library.items:
        keys = frozenset(volume.key for volume in item.volumes)
        for known in (item.item_id, *item.aliases):
            assert known is not None
            assert known not in led_to
            led_to[known] = keys
    for known in set(before.values()):
        assert known is not None
        assert led_to[known] & {key for key, held in before.items() if held == known}


@settings(max_examples=EXAMPLES, deadline=None)
@given(worlds())
def test_once_all_volumes_are_there_ids_stay_for_ever(world: World) -> None:
    library = Library()
    for volume in reversed(world.volumes):
        library.accept(volume)
    settled = {each.key: each.item_id for each in library.volumes}
    assert {
        volume.key: item.item_id for item in assemble(library.volumes) for volume in item.volumes
    } == settled


def _two_sets() -> World:
    """Three volumes in January and four in June, all of one size."""
    return build_world(
        Posted(owner, f"Pack.part{number}.rar", 95 * MB, start_s + number * MINUTE)
        for owner, start_s, total in ((0, 0, 3), (1, 150 * DAY, 4))
        for number in range(1, total + 1)
    )


def _join_newest_open_set(volumes: tuple[Volume, ...]) -> frozenset[frozenset[str]]:
    """Do what is tempting: put each arrival into the newest set that lacks its number."""
    sets: list[list[Volume]] = []
    for volume in volumes:
        lacking = [each for each in sets if all(one.name.number != volume.name.number for one in each)]
        if lacking:
            max(lacking, key=lambda each: max(one.position for one in each)).append(volume)
        else:
            sets.append([volume])
    return frozenset(frozenset(volume.key for volume in each) for each in sets)


def test_all_5040_orders_of_two_sets_come_out_right_where_a_greedy_rule_gets_972() -> None:
    world = _two_sets()
    orders = list(permutations(world.volumes))
    assert len(orders) == 5_040
    assert sum(_join_newest_open_set(order) == world.truth for order in orders) == 972
    assert sum(keys_of(assemble(order)) == world.truth for order in orders) == 5_040


def test_all_5040_orders_come_out_right_one_arrival_at_a_time() -> None:
    world = _two_sets()
    orders = list(permutations(world.volumes))[:: 1 if FULL else 24]
    for order in orders:
        library = Library()
        for volume in order:
            library.accept(volume)
        assert keys_of(library.items) == world.truth
