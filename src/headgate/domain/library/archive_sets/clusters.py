"""Volumes that may be one set, with what decides whether two such clusters can be one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal
from uuid import UUID

from headgate.domain.library.archive_sets.volumes import ZIP_NUMBER, Volume

Evenness = Literal[0, 1, 2]
EVEN: Evenness = 0
NEAR: Evenness = 1
UNEVEN: Evenness = 2
STEPS = (EVEN, NEAR, UNEVEN)

_NEAR_PERCENT = 99


@dataclass(slots=True)
class Cluster:
    """Volumes taken for one set so far; `places` are theirs in the bucket."""

    places: list[int]
    size_of: dict[int, int]
    """The size of each number; 0 where it is unknown."""
    top: int
    """The greatest number."""
    first: int
    last: int
    first_s: float
    last_s: float
    pin: UUID | None
    sure: bool
    """Some volume is one for certain, by its name or its bytes."""
    padding: int
    """To how many digits its numbers are padded; 0 while that is open."""
    digits: int
    """The fewest digits of a number."""
    low: int = 0
    """The smallest known size below the top."""
    high: int = 0
    sizes: set[int] = field(default_factory=set[int])
    repeats: bool = False
    """A known size occurs twice."""

    @classmethod
    def of(cls, place: int, volume: Volume) -> Cluster:
        name, sent_s = volume.name, volume.sent_at.timestamp()
        return cls(
            places=[place],
            size_of={name.number: volume.size_bytes},
            top=name.number,
            first=place,
            last=place,
            first_s=sent_s,
            last_s=sent_s,
            pin=volume.pinned_to,
            sure=not name.ambiguous or volume.evidence == "volume",
            padding=name.padding,
            digits=name.digits,
            sizes={volume.size_bytes} - {0},
        )

    def copy(self) -> Cluster:
        return replace(self, places=self.places.copy(), size_of=self.size_of.copy(), sizes=self.sizes.copy())

    @property
    def missing(self) -> int:
        """Count the numbers below the greatest that are not there; nobody knows the number of a `.zip`."""
        numbers = self.size_of.keys() - {ZIP_NUMBER}
        return max(numbers, default=0) - len(numbers)

    @property
    def evenness(self) -> Evenness:
        evenness = _judge_span(self.low, self.high, self.size_of[self.top])
        return UNEVEN if evenness is None else evenness

    @property
    def mixed(self) -> int:
        """Count the volumes of others between the first and the last."""
        return self.last - self.first + 1 - len(self.places)

    def absorb(self, other: Cluster) -> None:
        """Take in another cluster; where both have a number, this one's stays the first source."""
        low, high, _ = _sizes_below(self, other)
        self.low, self.high = low, high
        # A copy of a volume has its size; that does not make it the size of the volumes.
        copies = not self.size_of.keys().isdisjoint(other.size_of.keys())
        repeats = not copies and not self.sizes.isdisjoint(other.sizes)
        self.repeats = self.repeats or other.repeats or repeats
        self.sizes |= other.sizes
        for number, size in other.size_of.items():
            self.size_of.setdefault(number, size)
        self.top = max(self.top, other.top)
        self.places += other.places
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.first_s, self.last_s = min(self.first_s, other.first_s), max(self.last_s, other.last_s)
        self.pin = other.pin if self.pin is None else self.pin
        self.sure = self.sure or other.sure
        self.padding = self.padding or other.padding
        self.digits = min(self.digits, other.digits)


def evenness_of(one: Cluster, other: Cluster) -> Evenness | None:
    """Return how well the sizes of two clusters fit into one set; None if they cannot be one."""
    if not one.size_of.keys().isdisjoint(other.size_of.keys()) or not _may_mix(one, other):
        return None
    evenness = _judge_sizes(one, other)
    pinned = one.pin is not None or other.pin is not None
    # A person's set may have any sizes, so they cannot speak against a further volume.
    return UNEVEN if evenness is None and pinned else evenness


def is_fragment(cluster: Cluster) -> bool:
    """Tell whether this may be some volumes posted again; two or more from the first on are a set."""
    return cluster.pin is None and (len(cluster.size_of) == 1 or 1 not in cluster.size_of)


def may_host(host: Cluster, fragment: Cluster) -> bool:
    """Tell whether all that a fragment repeats of a set has the same sizes there, and the rest fits in."""
    repeated = host.size_of.keys() & fragment.size_of.keys()
    if not repeated or not (host.sure or len(host.size_of) > 1) or not _may_mix(host, fragment):
        return False
    if _rank(host) <= _rank(fragment):
        return False
    if any(
        host.size_of[number] != fragment.size_of[number] or not host.size_of[number] for number in repeated
    ):
        return False
    return len(repeated) == len(fragment.size_of) or _judge_sizes(host, fragment) in {EVEN, NEAR}


def _rank(cluster: Cluster) -> tuple[int, int]:
    return len(cluster.size_of), -cluster.first


def _may_mix(one: Cluster, other: Cluster) -> bool:
    if one.pin is not None and other.pin is not None and one.pin != other.pin:
        return False
    # One program pads all numbers alike: `part1` and `part02` come from two sets.
    if one.padding and other.padding and one.padding != other.padding:
        return False
    return one.padding <= other.digits and other.padding <= one.digits


def _judge_sizes(one: Cluster, other: Cluster) -> Evenness | None:
    evenness = _judge_span(*_sizes_below(one, other))
    if evenness is not None:
        return evenness
    silent = not (one.repeats or other.repeats) and one.sizes.isdisjoint(other.sizes)
    return UNEVEN if silent else None


def _judge_span(low: int, high: int, last: int) -> Evenness | None:
    if high == 0 or (low == high and last <= high):
        return EVEN
    near = low * 100 >= high * _NEAR_PERCENT and last * _NEAR_PERCENT <= high * 100
    return NEAR if near else None


def _sizes_below(one: Cluster, other: Cluster) -> tuple[int, int, int]:
    """Return the smallest and greatest known size below the greatest number of both, and its size."""
    upper, lower = (one, other) if one.top >= other.top else (other, one)
    low, high = _widen(one.low, one.high, other.low, other.high)
    if lower.top != upper.top:
        size = lower.size_of[lower.top]
        low, high = _widen(low, high, size, size)
    return low, high, upper.size_of[upper.top]


def _widen(low: int, high: int, other_low: int, other_high: int) -> tuple[int, int]:
    """Return the span of two spans of sizes; 0 is unknown."""
    if not high or not other_high:
        return (low, high) if high else (other_low, other_high)
    return min(low, other_low), max(high, other_high)
