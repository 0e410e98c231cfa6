"""How odd it would be if volumes had been posted as these sets; the least odd reading wins."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from headgate.domain.library.archive_sets.clusters import Cluster
from headgate.domain.library.archive_sets.volumes import Volume

_SPAN_RATIO = 2.0
"""A reading whose sets took less than half the time to post beats one with fewer holes."""
_LEAST_SPAN_S = 900.0
"""Of a set: whether it took one minute or ten tells nothing."""


@dataclass(frozen=True, slots=True)
class Score:
    """What speaks against a reading, the gravest first."""

    sets: int
    unevenness: int
    foreign_tails: int
    """Small last volumes that have the very size of another number elsewhere, where they rather belong."""
    mixed: int
    """Volumes of other sets between the first and the last of a set."""
    turns: int
    """Volumes out of order, be it rising or falling."""
    incomplete: int
    missing: int
    span_s: float

    @property
    def flawless(self) -> bool:
        """Tell whether no other reading can be better; uploads that ran in parallel are out of order."""
        return not (self.unevenness or self.foreign_tails or self.mixed or self.incomplete)

    def beats(self, other: Score) -> bool:
        """Tell whether this reading is the more likely one."""
        if self._grave() != other._grave():
            return self._grave() < other._grave()
        shorter, longer = sorted((self.span_s, other.span_s))
        if longer > _SPAN_RATIO * shorter:
            return self.span_s == shorter
        return self._slight() < other._slight()

    def _grave(self) -> tuple[int, ...]:
        return self.sets, self.unevenness, self.foreign_tails, self.mixed

    def _slight(self) -> tuple[float, ...]:
        return self.turns, self.incomplete, self.missing, self.span_s


def score_of(clusters: Sequence[Cluster], volumes: Sequence[Volume]) -> Score:
    missing = [cluster.missing for cluster in clusters]
    return Score(
        sets=len(clusters),
        unevenness=sum(cluster.evenness for cluster in clusters),
        foreign_tails=_count_foreign_tails(clusters),
        mixed=sum(cluster.mixed for cluster in clusters),
        turns=sum(_count_turns(cluster, volumes) for cluster in clusters),
        incomplete=sum(count > 0 for count in missing),
        missing=sum(missing),
        span_s=sum(cluster.last_s - cluster.first_s + _LEAST_SPAN_S for cluster in clusters),
    )


def _count_foreign_tails(clusters: Sequence[Cluster]) -> int:
    numbers: dict[int, Counter[int]] = defaultdict(Counter)
    for cluster in clusters:
        for number, size in cluster.size_of.items():
            numbers[size][number] += 1
    tails = ((cluster.size_of[cluster.top], cluster) for cluster in clusters)
    return sum(numbers[size].keys() != {cluster.top} for size, cluster in tails if 0 < size < cluster.low)


def _count_turns(cluster: Cluster, volumes: Sequence[Volume]) -> int:
    numbers = [volumes[place].name.number for place in sorted(cluster.places)]
    rising = sum(one < other for one, other in pairwise(numbers))
    return min(rising, len(numbers) - 1 - rising)
