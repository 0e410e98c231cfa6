"""Whether items can become one set by a person's choice: only what one archive can have as its volumes.

Names may differ, since that is why people join by hand. Numbers may not: two files with one number would be
copies of each other, and one of them would disappear from the set.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal
from uuid import UUID

from headgate.domain.library.archive_sets.volumes import VolumeName

JoinProblem = Literal["other_naming", "same_number", "adds_nothing"]


@dataclass(frozen=True, slots=True)
class JoinedVolume:
    """A file that is to become a volume of the joined set."""

    item_id: UUID
    name: VolumeName
    size_bytes: int
    content_id: str = ""
    vanished: bool = False
    """It was deleted on the platform before it was stored, so another may take its place."""


@dataclass(frozen=True, slots=True)
class JoinConflict:
    """Two files of different items that keep them from being one set."""

    problem: JoinProblem
    one: VolumeName
    other: VolumeName


def find_join_conflict(volumes: Sequence[JoinedVolume]) -> JoinConflict | None:
    """Return why items cannot be one set; None if they can."""
    for other in volumes[1:]:
        if _numbering(volumes[0].name) != _numbering(other.name):
            return JoinConflict("other_naming", volumes[0].name, other.name)
    with_format = [volume for volume in volumes if volume.name.format]
    for other in with_format[1:]:
        if with_format[0].name.format != other.name.format:
            return JoinConflict("other_naming", with_format[0].name, other.name)
    held: dict[UUID, dict[int, list[JoinedVolume]]] = defaultdict(lambda: defaultdict(list))
    for volume in volumes:
        if not volume.vanished:
            held[volume.item_id][volume.name.number].append(volume)
    for one, other in combinations(held.values(), 2):
        if conflict := _compare(one, other):
            return conflict
    return None


def _numbering(name: VolumeName) -> str:
    """Return how a name counts; `pack.7z.001` and `pack.002` count alike."""
    return "split" if name.naming == "bare" else name.naming


def _compare(
    one: Mapping[int, Sequence[JoinedVolume]], other: Mapping[int, Sequence[JoinedVolume]]
) -> JoinConflict | None:
    shared = sorted(one.keys() & other.keys())
    for number in shared:
        if not any(_is_copy(left, right) for left in one[number] for right in other[number]):
            return JoinConflict("same_number", one[number][0].name, other[number][0].name)
    if shared and (one.keys() <= other.keys() or other.keys() <= one.keys()):
        return JoinConflict("adds_nothing", one[shared[0]][0].name, other[shared[0]][0].name)
    return None


def _is_copy(one: JoinedVolume, other: JoinedVolume) -> bool:
    if one.content_id and one.content_id == other.content_id:
        return True
    return one.name.set_key == other.name.set_key and one.size_bytes == other.size_bytes != 0
