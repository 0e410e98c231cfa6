"""Which volumes of one name are one set: the nearest join first, and never two of one number.

A set that was split by a program has volumes of one size, but for the last, which is not larger. So volumes
join in steps, each of which asks for less, and within a step by closeness, nearest first:

    even      all sizes but the last are equal
    near      they differ by 1 % at most: zip never splits a header, so that its volumes vary by some bytes
    uneven    no two sizes are equal, so they say nothing; a size that repeats refuses what does not fit

Closeness is time, plus a little for every volume between. What it cannot know is in which order a set was
posted, and whether equal sizes or successive numbers matter more than neighbourhood (two sets posted at
once). So the whole is done under several readings, and `scoring` picks the least odd one. All of it depends
on the volumes alone, not on the order in which they were read.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Literal, NamedTuple
from uuid import UUID

from headgate.domain.library.archive_sets.clusters import (
    EVEN,
    STEPS,
    UNEVEN,
    Cluster,
    Evenness,
    evenness_of,
    is_fragment,
    may_host,
)
from headgate.domain.library.archive_sets.scoring import Score, score_of
from headgate.domain.library.archive_sets.volumes import Volume

MAX_GAP = timedelta(days=14)
"""Between two neighbours of a set. A set that misses volumes becomes a problem after a week of silence; this
leaves the poster another week to add them. Sets of one name that are a month apart stay two."""
_MAX_GAP_S = MAX_GAP.total_seconds()

_STEP_S = 30.0
"""What a volume in between adds to the distance; order decides where an album gives all the same time."""
_AGAINST = 64.0
"""How much farther a step against the order of posting is: sets posted one right after the other stay apart,
even if a pause within one is that much longer than the pause between them."""
_JUMP = 16.0
"""How much farther other numbers than the next are, under the readings that care."""
_OTHER_TOPIC = 8.0
_NEIGHBOURS = range(2, 9)
"""How many sets on either side may take in what joined no neighbour; fewer where there are many sets."""

_RUN_GAP = timedelta(hours=1)
"""Neighbours of one size and successive numbers within an hour, an upload's time, were posted in one go."""
_BUDGET = 1_600
"""How many volumes the readings may go through in all, after the first two."""

_Order = Literal["rising", "any", "falling"]


@dataclass(frozen=True, slots=True)
class _Reading:
    order: _Order
    same_size_first: bool = False
    no_jumps: bool = False
    """Successive numbers count as much closer than others."""


_READINGS = (
    _Reading("rising"),
    _Reading("rising", same_size_first=True),
    _Reading("any"),
    _Reading("rising", no_jumps=True),
    _Reading("falling"),
    _Reading("any", same_size_first=True),
    _Reading("rising", same_size_first=True, no_jumps=True),
    _Reading("falling", same_size_first=True),
)


class _Edge(NamedTuple):
    """Two volumes that may be of one set, by their places in the bucket."""

    distance: float
    rising: bool
    jumps: bool
    same_size: bool
    left: int
    right: int


def partition(volumes: Sequence[Volume]) -> Iterator[tuple[Cluster, list[Volume]]]:
    """Yield the sets of one name, those with a single volume included; all are sorted by position."""
    for episode in _episodes(volumes):
        for cluster in _best_reading(episode):
            yield cluster, [episode[place] for place in sorted(cluster.places)]


def _best_reading(volumes: Sequence[Volume]) -> list[Cluster]:
    start = _Forest.of(volumes)
    if start.size == 1:
        return start.clusters()
    edges = start.open_edges(_list_edges(volumes))
    # Only equal sizes tell that files called `.001` belong together.
    limit = EVEN if volumes[0].name.naming == "bare" else UNEVEN
    best: tuple[Score, list[Cluster]] | None = None
    for reading in _READINGS[: max(2, _BUDGET // start.size)]:
        clusters = _join(start.copy(), edges, reading, limit)
        score = score_of(clusters, volumes)
        if best is None or score.beats(best[0]):
            best = score, clusters
        if score.flawless:
            break
    return _attach_copies(best[1]) if best else []


def _join(forest: _Forest, edges: Sequence[_Edge], reading: _Reading, limit: Evenness) -> list[Cluster]:
    ordered = _sort_edges(edges, reading)
    if reading.same_size_first:
        forest.join(_sort_edges([edge for edge in edges if edge.same_size], reading), EVEN)
    for evenness in STEPS[: limit + 1]:
        ordered = forest.join(ordered, evenness)
    return _fit_remaining(forest.clusters(), limit)


def _sort_edges(edges: Iterable[_Edge], reading: _Reading) -> list[tuple[int, int]]:
    factors = {
        (rising, jumps): (_AGAINST if reading.order == against else 1.0)
        * (_JUMP if jumps and reading.no_jumps else 1.0)
        for rising, against in ((True, "falling"), (False, "rising"))
        for jumps in (True, False)
    }
    costs = sorted(
        (distance * factors[rising, jumps], left, right) for distance, rising, jumps, _, left, right in edges
    )
    return [(left, right) for _, left, right in costs]


class _Forest:
    """Volumes that join into clusters."""

    def __init__(self, clusters: list[Cluster], parents: list[int]) -> None:
        self._clusters = clusters
        self._parents = parents

    @classmethod
    def of(cls, volumes: Sequence[Volume]) -> _Forest:
        clusters = [Cluster.of(place, volume) for place, volume in enumerate(volumes)]
        forest = cls(clusters, list(range(len(volumes))))
        for left, right in _certain_pairs(volumes):
            forest._put_together(left, right)
        forest.join(_list_runs(volumes), EVEN)
        return forest

    @property
    def size(self) -> int:
        return sum(place == parent for place, parent in enumerate(self._parents))

    def copy(self) -> _Forest:
        roots = set(self._parents)
        clusters = [each.copy() if place in roots else each for place, each in enumerate(self._clusters)]
        return _Forest(clusters, self._parents.copy())

    def open_edges(self, edges: Iterable[_Edge]) -> list[_Edge]:
        """Return the edges between different clusters."""
        return [edge for edge in edges if self._root(edge.left) != self._root(edge.right)]

    def join(self, pairs: Iterable[tuple[int, int]], evenness: Evenness) -> list[tuple[int, int]]:
        """Join what fits; return the pairs that a looser step may join."""
        left_over: list[tuple[int, int]] = []
        for pair in pairs:
            one, other = self._root(pair[0]), self._root(pair[1])
            if one == other:
                continue
            found = evenness_of(self._clusters[one], self._clusters[other])
            if found is None:
                continue
            if found <= evenness:
                self._unite(one, other)
            else:
                left_over.append(pair)
        return left_over

    def clusters(self) -> list[Cluster]:
        return [self._clusters[place] for place, parent in enumerate(self._parents) if place == parent]

    def _put_together(self, left: int, right: int) -> None:
        one, other = self._root(left), self._root(right)
        pins = {self._clusters[one].pin, self._clusters[other].pin} - {None}
        if one != other and len(pins) < 2:
            self._unite(one, other)

    def _root(self, place: int) -> int:
        parents = self._parents
        while parents[place] != place:
            parents[place] = parents[parents[place]]
            place = parents[place]
        return place

    def _unite(self, one: int, other: int) -> None:
        if len(self._clusters[one].places) < len(self._clusters[other].places):
            one, other = other, one
        self._clusters[one].absorb(self._clusters[other])
        self._parents[other] = one


def _certain_pairs(volumes: Sequence[Volume]) -> Iterator[tuple[int, int]]:
    """Yield what is together whatever it looks like: a person's joins, and one content posted twice."""
    seen: dict[tuple[str | int | UUID, ...], int] = {}
    for place, volume in enumerate(volumes):
        for key in _certain_keys(volume):
            if key in seen:
                yield seen[key], place
            seen[key] = place


def _certain_keys(volume: Volume) -> Iterator[tuple[str | int | UUID, ...]]:
    if volume.pinned_to is not None:
        yield ("pin", volume.pinned_to)
    if volume.content_id:
        yield ("content", volume.content_id, volume.name.number)


def _episodes(volumes: Sequence[Volume]) -> list[list[Volume]]:
    """Split a bucket at long pauses, unless something certain bridges them."""
    parts: list[int] = []
    for place, volume in enumerate(volumes):
        pause = place > 0 and abs(volume.sent_at - volumes[place - 1].sent_at) > MAX_GAP
        parts.append(parts[-1] + pause if parts else 0)
    leaders = list(range(parts[-1] + 1)) if parts else []
    for left, right in _certain_pairs(volumes):
        low, high = sorted((leaders[parts[left]], leaders[parts[right]]))
        if low != high:
            leaders = [low if leader == high else leader for leader in leaders]
    episodes: dict[int, list[Volume]] = defaultdict(list)
    for part, volume in zip(parts, volumes, strict=True):
        episodes[leaders[part]].append(volume)
    return list(episodes.values())


def _merge_near(clusters: list[Cluster], fits: Callable[[Cluster, Cluster], bool]) -> list[Cluster]:
    """Let each cluster, the smallest first, join the nearest of those around it that it fits."""
    alive = sorted(clusters, key=lambda cluster: cluster.first)
    slots = [cluster.first for cluster in alive]
    reach = min(max(_BUDGET // (len(alive) + 1), _NEIGHBOURS.start), _NEIGHBOURS.stop - 1)
    for slot, cluster in sorted(
        zip(slots, alive, strict=True), key=lambda pair: (len(pair[1].size_of), pair[0])
    ):
        place = bisect_left(slots, slot)
        around = alive[max(0, place - reach) : place] + alive[place + 1 : place + 1 + reach]
        host = _nearest([other for other in around if fits(cluster, other)], cluster)
        if host is not None:
            host.absorb(cluster)
            del alive[place], slots[place]
    return alive


def _nearest(hosts: Iterable[Cluster], cluster: Cluster) -> Cluster | None:
    near = [host for host in hosts if _pause_s(cluster, host) <= _MAX_GAP_S]
    return min(
        near, key=lambda host: (_pause_s(cluster, host), abs(cluster.first - host.first)), default=None
    )


def _pause_s(one: Cluster, other: Cluster) -> float:
    return max(0.0, other.first_s - one.last_s, one.first_s - other.last_s)


def _list_runs(volumes: Sequence[Volume]) -> Iterator[tuple[int, int]]:
    """Yield neighbours of one size and of successive numbers."""
    for place, (one, other) in enumerate(pairwise(volumes)):
        follows = one.name.number + 1 == other.name.number and one.size_bytes == other.size_bytes != 0
        if follows and one.topic == other.topic and abs(other.sent_at - one.sent_at) <= _RUN_GAP:
            yield place, place + 1


def _list_edges(volumes: Sequence[Volume]) -> list[_Edge]:
    """Return the pairs worth a thought: neighbours, those of one size, the nearest with the number before."""
    pairs = {(place, place + 1) for place in range(len(volumes) - 1)}
    last_of_size: dict[int, int] = {}
    by_number: dict[int, list[int]] = defaultdict(list)
    for place, volume in enumerate(volumes):
        if volume.size_bytes in last_of_size:
            pairs.add((last_of_size[volume.size_bytes], place))
        last_of_size[volume.size_bytes] = place
        by_number[volume.name.number].append(place)
    for place, volume in enumerate(volumes):
        before = by_number.get(volume.name.number - 1, [])
        following = bisect_left(before, place)
        pairs.update((other, place) for other in before[max(0, following - 1) : following])
        pairs.update((place, other) for other in before[following : following + 1])
    seconds = [volume.sent_at.timestamp() for volume in volumes]
    return [
        _edge(volumes, left, right, gap_s)
        for left, right in pairs
        if (gap_s := abs(seconds[right] - seconds[left])) <= _MAX_GAP_S
        and volumes[left].name.number != volumes[right].name.number
    ]


def _edge(volumes: Sequence[Volume], left: int, right: int, gap_s: float) -> _Edge:
    one, other = volumes[left], volumes[right]
    distance = gap_s + _STEP_S * (right - left)
    if one.topic != other.topic:
        distance *= _OTHER_TOPIC
    step = other.name.number - one.name.number
    return _Edge(distance, step > 0, abs(step) > 1, one.size_bytes == other.size_bytes, left, right)


def _fit_remaining(clusters: list[Cluster], limit: Evenness) -> list[Cluster]:
    """Let clusters join that are no neighbours, such as a volume posted after another set of the name."""
    return _merge_near(clusters, lambda one, other: _fits(one, other, limit))


def _fits(one: Cluster, other: Cluster, limit: Evenness) -> bool:
    found = evenness_of(one, other)
    return found is not None and found <= limit


def _attach_copies(clusters: list[Cluster]) -> list[Cluster]:
    """Make copies of single volumes second sources of the set they repeat."""
    return _merge_near(clusters, lambda one, other: is_fragment(one) and may_host(other, one))
