"""Which volumes become one set, by example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import permutations

import pytest
from volume_worlds import DAY, HOUR, MB, MINUTE, Library, Posted, build_volume, ident

from headgate.domain.library.archive_sets.assembly import MAX_VOLUMES, AssembledItem, assemble
from headgate.domain.library.archive_sets.partition import MAX_GAP
from headgate.domain.library.archive_sets.volumes import Volume

pytestmark = pytest.mark.once


def post(
    *files: tuple[str, int] | str, start_s: int = 0, step_s: int = MINUTE, first: int = 1
) -> list[Volume]:
    """Return volumes posted one after the other; a size is in MB, and 95 where none is given."""
    listed = [(file, 95) if isinstance(file, str) else file for file in files]
    return [
        build_volume(Posted(0, name, size * MB, start_s + place * step_s), first + place)
        for place, (name, size) in enumerate(listed)
    ]


def parts(*numbers: int, last_mb: int = 95) -> list[tuple[str, int]]:
    """Return names of volumes; all have 95 MB but the last."""
    return [(f"Pack.part{number}.rar", 95) for number in numbers[:-1]] + [
        (f"Pack.part{numbers[-1]}.rar", last_mb)
    ]


def shown(items: Sequence[AssembledItem]) -> list[str]:
    """Return each item as the positions of its files, by number; second sources after a comma."""
    return [
        " ".join(",".join(str(source.position) for source in slot.sources) for slot in item.slots)
        for item in items
    ]


def test_volumes_of_one_posting_are_one_set() -> None:
    assert shown(assemble(post(*parts(1, 2, 3, last_mb=40)))) == ["1 2 3"]


def test_two_sets_of_one_name_months_apart_stay_two() -> None:
    january = post(*parts(1, 2, 3, last_mb=40))
    june = post(*parts(1, 2, 3, last_mb=40), start_s=150 * DAY, first=4)
    assert shown(assemble(june + january)) == ["1 2 3", "4 5 6"]


def test_halves_of_two_sets_months_apart_do_not_make_a_whole() -> None:
    january, june = post(*parts(1, 2)), post(*parts(3, 4), start_s=150 * DAY, first=3)
    assert shown(assemble(june + january)) == ["1 2", "3 4"]


@pytest.mark.parametrize(("late", "items"), [(MAX_GAP, 1), (MAX_GAP + timedelta(seconds=1), 2)])
def test_a_missing_volume_may_follow_within_two_weeks(late: timedelta, items: int) -> None:
    first, third = post("Pack.7z.001", "Pack.7z.003", step_s=0)
    second = replace(
        first, key="9/file", name=post("Pack.7z.002")[0].name, position=9, sent_at=first.sent_at + late
    )
    assert len(assemble([first, second, third])) == items


def test_two_sets_posted_at_the_same_time_are_told_apart_by_their_sizes() -> None:
    volumes = post(
        ("Pack.part1.rar", 95), ("Pack.part1.rar", 50), ("Pack.part2.rar", 95), ("Pack.part2.rar", 50)
    )
    assert shown(assemble(volumes)) == ["1 3", "2 4"]


def test_sets_in_order_one_right_after_the_other_are_told_apart_by_their_numbers() -> None:
    volumes = post(*parts(1, 2, 4), *parts(1, 3, 4), *parts(1, 2))
    assert shown(assemble(volumes)) == ["1 2 3", "4 5 6", "7 8"]


def test_a_set_posted_backwards_is_one_set() -> None:
    assert shown(assemble(post(*parts(3, 2, 1), *parts(3, 2, 1)))) == ["3 2 1", "6 5 4"]


def test_a_last_volume_joins_the_run_that_it_continues() -> None:
    volumes = post(*parts(1, 2, 3), ("Pack.part1.rar", 700), ("Pack.part2.rar", 700))
    tails = post(("Pack.part4.rar", 12), ("Pack.part3.rar", 70), start_s=6 * MINUTE, first=6)
    assert shown(assemble(volumes + tails)) == ["1 2 3 6", "4 5 7"]


def test_a_volume_joins_those_posted_with_it_although_it_fills_a_hole_elsewhere() -> None:
    before = post(*parts(3, 1))
    volumes = before + post(("Pack.part5.rar", 40), *parts(1, 2), start_s=75 * MINUTE, first=3)
    assert shown(assemble(volumes)) == ["2 1", "4 5 3"]


def test_a_volume_of_another_size_does_not_join() -> None:
    volumes = post(*parts(1, 2, 3), ("Pack.part4.rar", 300))
    assert shown(assemble(volumes)) == ["1 2 3", "4"]


def test_volumes_of_a_zip_may_vary_by_some_bytes() -> None:
    volumes = [
        replace(volume, size_bytes=volume.size_bytes - place % 3)
        for place, volume in enumerate(post("Pack.z01", "Pack.z02", "Pack.z03", "Pack.z04", ("Pack.zip", 3)))
    ]
    assert shown(assemble(volumes)) == ["1 2 3 4 5"]


def test_a_set_with_no_size_like_another_is_still_one_set() -> None:
    sizes = [70, 30, 90, 20]
    volumes = post(*((f"Pack.part{number}.rar", size) for number, size in enumerate(sizes, start=1)))
    assert shown(assemble(volumes)) == ["1 2 3 4"]


def test_unknown_sizes_speak_neither_for_nor_against() -> None:
    assert shown(assemble(post(*((f"Pack.part{number}.rar", 0) for number in (1, 2, 3))))) == ["1 2 3"]


def test_part1_and_part02_come_from_two_sets() -> None:
    volumes = post(
        "Pack.part1.rar", "Pack.part02.rar", "Pack.part2.rar", "Pack.part01.rar", "Pack.part10.rar"
    )
    assert shown(assemble(volumes)) == ["1 3", "4 2 5"]


def test_part001_and_part10_come_from_two_sets() -> None:
    assert shown(assemble(post("Pack.part001.rar", "Pack.part10.rar"))) == ["1", "2"]


def test_a_topic_keeps_two_sets_apart_that_are_posted_at_once() -> None:
    volumes = [
        replace(volume, topic="ab"[place % 2])
        for place, volume in enumerate(post(*parts(1), *parts(1), *parts(2), *parts(2), *parts(3), *parts(3)))
    ]
    assert shown(assemble(volumes)) == ["1 3 5", "2 4 6"]


def test_volumes_of_other_namings_in_between_are_in_other_buckets() -> None:
    names = ["Pack.rar", "Pack.part1.rar", "Pack.zip.001", "Pack.r00", "Pack.part2.rar", "Pack.zip.002"]
    buckets: dict[tuple[str, str], list[Volume]] = {}
    for volume in post(*names):
        buckets.setdefault((volume.name.base, volume.name.family), []).append(volume)
    assert [shown(assemble(volumes)) for volumes in buckets.values()] == [["1 4"], ["2 5"], ["3 6"]]


class TestAmbiguousNames:
    @pytest.mark.parametrize("file_name", ["Pack.rar", "Pack.zip", "Pack.001", "Pack.007", "Film.mkv.001"])
    def test_alone_it_is_a_plain_file(self, file_name: str) -> None:
        (item,) = assemble(post(file_name))
        assert (item.is_set, item.reason) == (False, "ambiguous_name")

    @pytest.mark.parametrize(
        "names", [("Pack.rar", "Pack.r00"), ("Pack.zip", "Pack.z01"), ("Pack.001", "Pack.002")]
    )
    def test_with_another_volume_it_is_a_set_that_keeps_the_first_item(self, names: tuple[str, str]) -> None:
        for volumes in permutations(post(*names)):
            library = Library()
            library.accept(volumes[0])
            first = library.items[0].item_id
            library.accept(volumes[1])
            (item,) = library.items
            assert (item.is_set, item.item_id, item.aliases) == (True, first, ())

    def test_its_first_bytes_make_it_a_set_or_rule_that_out(self) -> None:
        rar, second = post("Pack.rar", "Pack.r00")
        assert [item.is_set for item in assemble([replace(rar, evidence="volume")])] == [True]
        whole = assemble([replace(rar, evidence="whole"), second])
        assert [(item.is_set, item.reason) for item in whole] == [(False, "whole_archive"), (True, "volumes")]

    def test_new_versions_of_one_archive_stay_files(self) -> None:
        items = assemble(post("Pack.zip", "Pack.zip", ("Pack.zip", 80), step_s=DAY))
        assert [item.is_set for item in items] == [False, False, False]

    def test_files_called_001_and_002_of_growing_sizes_are_no_set(self) -> None:
        items = assemble(post(("log.001", 10), ("log.002", 30), ("log.003", 20)))
        assert shown(items) == ["1", "2 3"]

    def test_seasons_are_not_volumes(self) -> None:
        assert [item.is_set for item in assemble(post("Show.S01", "Show.S02"))] == [False, False]

    def test_r99_is_followed_by_s00(self) -> None:
        names = ["Pack.rar", *(f"Pack.r{number:02}" for number in range(100)), "Pack.s00", "Pack.s01"]
        (item,) = assemble(post(*names))
        assert [slot.number for slot in item.slots] == list(range(1, 104))


class TestCopies:
    def test_a_volume_posted_again_is_a_second_source(self) -> None:
        volumes = post(*parts(1, 2, 3, last_mb=40)) + post(*parts(2), start_s=3 * DAY, first=4)
        assert shown(assemble(volumes)) == ["1 2,4 3"]

    def test_a_volume_sent_twice_by_accident_does_not_split_the_set(self) -> None:
        volumes = post(*parts(1, 2, 3), *parts(3, 4, 5, last_mb=40))
        assert shown(assemble(volumes)) == ["1 2 3,4 5 6"]

    def test_the_whole_set_posted_again_is_a_second_set(self) -> None:
        volumes = post(*parts(1, 2, 3, last_mb=40), *parts(1, 2, 3, last_mb=40), step_s=HOUR)
        assert shown(assemble(volumes)) == ["1 2 3", "4 5 6"]

    def test_a_volume_of_another_size_is_no_copy(self) -> None:
        volumes = post(*parts(1, 2, 3, last_mb=40)) + post(("Pack.part2.rar", 94), start_s=DAY, first=4)
        assert shown(assemble(volumes)) == ["1 2 3", "4"]

    def test_a_copy_says_nothing_of_the_sizes_of_a_set(self) -> None:
        volumes = post(
            ("Pack.part1.rar", 70), ("Pack.part1.rar", 70), ("Pack.part2.rar", 90), ("Pack.part3.rar", 20)
        )
        volumes[:2] = (replace(volume, content_id="c") for volume in volumes[:2])
        assert shown(assemble(volumes)) == ["1,2 3 4"]

    def test_one_content_is_one_volume_however_late_it_comes_again(self) -> None:
        first = [replace(each, content_id=f"c{each.position}") for each in post(*parts(1, 2, 3, last_mb=40))]
        again = [
            replace(each, key=f"{each.position + 10}/file", position=each.position + 10)
            for each in (replace(each, sent_at=each.sent_at + timedelta(days=200)) for each in first)
        ]
        assert shown(assemble(first + again)) == ["1,11 2,12 3,13"]


class TestPeople:
    def test_a_persons_join_outranks_time_and_size(self) -> None:
        january, june = post(*parts(1, 2)), post(("Pack.part3.rar", 300), start_s=150 * DAY, first=3)
        pinned = [replace(volume, item_id=ident(7), pinned_to=ident(7)) for volume in january + june]
        (item,) = assemble(pinned)
        assert (item.reason, item.item_id, shown([item])) == ("joined_by_hand", ident(7), ["1 2 3"])

    def test_a_later_volume_joins_a_persons_set(self) -> None:
        first, second, third = post(("Pack.part1.rar", 10), ("Pack.part2.rar", 30), ("Pack.part3.rar", 30))
        items = assemble([replace(first, pinned_to=ident(7)), replace(second, pinned_to=ident(7)), third])
        assert (shown(items), items[0].item_id) == (["1 2 3"], ident(7))

    def test_two_sets_that_a_person_made_never_merge(self) -> None:
        volumes = post(*parts(1, 2, 3, 4))
        pinned = [
            replace(volume, pinned_to=ident(7 + place // 2), item_id=ident(7))
            for place, volume in enumerate(volumes)
        ]
        items = assemble(pinned)
        assert [(item.item_id, item.aliases) for item in items] == [(ident(7), ()), (ident(8), ())]
        assert shown(items) == ["1 2", "3 4"]

    def test_what_a_person_separated_stays_alone_and_the_set_keeps_its_id(self) -> None:
        first, second = (replace(volume, item_id=ident(7)) for volume in post(*parts(1, 2)))
        for separated in (first, second):
            kept = second if separated is first else first
            items = assemble([replace(separated, separated=True), kept])
            assert {(item.reason, item.item_id) for item in items} == {
                ("separated", None),
                ("volumes", ident(7)),
            }


class TestIds:
    def test_sets_that_turn_out_to_be_one_keep_the_oldest_id(self) -> None:
        volumes = [replace(each, item_id=ident(20 - each.position)) for each in post(*parts(1, 2, 3))]
        (item,) = assemble(volumes)
        assert (item.item_id, item.aliases) == (ident(17), (ident(18), ident(19)))

    def test_a_set_that_turns_out_to_be_two_leaves_its_id_where_most_volumes_are(self) -> None:
        volumes = post(*parts(1, 2), *parts(1, 2, 3))
        items = assemble([replace(volume, item_id=ident(7)) for volume in volumes])
        assert [item.item_id for item in items] == [None, ident(7)]

    def test_an_id_whose_volumes_all_left_redirects_to_where_they_went(self) -> None:
        volumes = post(*parts(1, 2, 3))
        items = assemble(
            [replace(volume, item_id=ident(3 if volume.position < 3 else 5)) for volume in volumes]
        )
        assert [(item.item_id, item.aliases) for item in items] == [(ident(3), (ident(5),))]


class TestLimit:
    def test_above_the_limit_the_newest_stay_files_and_say_why(self) -> None:
        names = [f"Pack.part{number:04}.rar" for number in range(1, MAX_VOLUMES + 3)]
        items = assemble(reversed(post(*names)))
        assert [len(item.slots) for item in items] == [MAX_VOLUMES, 1, 1]
        assert [item.reason for item in items] == ["volumes", "too_many", "too_many"]

    def test_a_persons_choice_is_not_lost_to_the_limit(self) -> None:
        volumes = post(*(f"Pack.part{number:04}.rar" for number in range(1, MAX_VOLUMES + 3)))
        volumes[-1] = replace(volumes[-1], pinned_to=ident(7))
        items = assemble(volumes)
        assert [item.reason for item in items] == ["joined_by_hand", "too_many", "too_many"]
        assert len(items[0].slots) == MAX_VOLUMES
