"""Whether a set is complete, what it misses, and when that is decided next.

    proven       the headers tell the number of volumes, and all are there
    assumed      no number is missing, the last volume ends it, and nothing came for 24 hours
    waiting      volumes are missing, or more may come
    impossible   a volume was deleted before it was fetched, and nothing else has it

The last volume ends a set if its name says so (`.zip`) or if it is smaller than the others: programs fill
every volume but the last. A set whose last volume is full may go on, so it stays waiting. Whatever still
waits after quiet days is a problem for a person.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal

from headgate.domain.library.archive_sets.volumes import ZIP_NUMBER, VolumeName, sibling_name

ASSUMED_AFTER = timedelta(hours=24)
"""Posters who upload by hand finish within a day; a day also passes over every night."""
PROBLEM_AFTER = timedelta(days=7)
"""A week has a weekend in it, and leaves as long again before later volumes count as another set."""
AMBIGUOUS_NEWS_AFTER = timedelta(minutes=30)
"""How long news of `pack.rar` or `pack.zip` waits for the other volumes that it may have."""
MAX_LISTED = 2_000
"""Missing numbers that are listed; a stray `.part9999.rar` misses nearly ten thousand."""

MAX_SEARCHED = 20
"""Places of a set around which missing volumes are looked for again."""

Completeness = Literal["proven", "assumed", "waiting", "impossible"]
CompletenessReason = Literal[
    "headers",
    "last_is_smaller",
    "last_by_name",
    "not_quiet_yet",
    "volumes_missing",
    "open_end",
    "beyond_total",
    "vanished",
]


@dataclass(frozen=True, slots=True)
class KnownVolume:
    """A number of a set, as far as completeness cares."""

    name: VolumeName
    size_bytes: int
    vanished: bool = False
    """It was deleted before it was fetched, and so were all copies."""


@dataclass(frozen=True, slots=True)
class SetState:
    """What is known of a set at a time."""

    state: Completeness
    reason: CompletenessReason
    present: tuple[int, ...]
    total: int | None
    """How many volumes there are; None while nobody knows."""
    missing: tuple[int, ...]
    """Numbers that are surely missing, the vanished ones too; at most `MAX_LISTED`."""
    missing_count: int
    missing_names: tuple[str, ...]
    problem: bool = False
    """A person should look at it."""
    due_at: datetime | None = None
    """When time alone changes something; None: never."""

    @property
    def complete(self) -> bool:
        return self.state in {"proven", "assumed"}


def judge_set(
    volumes: Sequence[KnownVolume],
    *,
    last_arrival_at: datetime,
    now: datetime,
    proven_total: int | None = None,
    problem_after: timedelta = PROBLEM_AFTER,
) -> SetState:
    """Judge a set of one volume for each number; `last_arrival_at` is when its newest volume was read."""
    known = sorted(volumes, key=lambda volume: volume.name.number)
    missing_count, missing = _find_missing(known, proven_total)
    state, reason = _decide(known, missing_count, proven_total)
    quiet_at = last_arrival_at + ASSUMED_AFTER
    problem_at = last_arrival_at + problem_after
    due_at: datetime | None = None
    if state == "assumed" and now < quiet_at:
        state, reason, due_at = "waiting", "not_quiet_yet", quiet_at
    elif state == "waiting" and now < problem_at:
        due_at = problem_at
    return SetState(
        state=state,
        reason=reason,
        present=tuple(volume.name.number for volume in known if not volume.vanished),
        total=_total(known, state, proven_total),
        missing=missing,
        missing_count=missing_count,
        missing_names=tuple(sibling_name([volume.name for volume in known], number) for number in missing),
        problem=state == "impossible" or (state == "waiting" and due_at is None),
        due_at=due_at,
    )


def positions_to_search(volumes: Sequence[tuple[int, int]]) -> list[int]:
    """Return where missing volumes are likely to be, from the numbers and positions of those that are there.

    That is beside the volumes before and after each gap, and beside the first and the last; at most
    `MAX_SEARCHED`.
    """
    numbers = {number for number, _ in volumes}
    beside = [
        position
        for number, position in sorted(volumes)
        if number - 1 not in numbers or number + 1 not in numbers
    ]
    return beside if len(beside) <= MAX_SEARCHED else [*beside[: MAX_SEARCHED - 1], beside[-1]]


def _decide(
    known: Sequence[KnownVolume], missing_count: int, proven_total: int | None
) -> tuple[Completeness, CompletenessReason]:
    """Decide as if the set had been quiet for long."""
    if any(volume.vanished for volume in known):
        return "impossible", "vanished"
    if proven_total is not None and _count_at_least(known) > proven_total:
        return "waiting", "beyond_total"
    if missing_count:
        return "waiting", "volumes_missing"
    if proven_total is not None:
        return "proven", "headers"
    return _judge_end(known)


def _judge_end(known: Sequence[KnownVolume]) -> tuple[Completeness, CompletenessReason]:
    *others, last = known
    if last.name.is_last:
        return "assumed", "last_by_name"
    if others and 0 < last.size_bytes < min(volume.size_bytes for volume in others):
        return "assumed", "last_is_smaller"
    return "waiting", "open_end"


def _find_missing(known: Sequence[KnownVolume], proven_total: int | None) -> tuple[int, tuple[int, ...]]:
    """Return how many numbers are surely missing, and the first of them."""
    spanned = known[0].name.naming == "spanned_zip"
    present = {volume.name.number for volume in known if not volume.vanished}
    top = max(_count_at_least(known), proven_total or 0) - spanned
    needs_zip = spanned and ZIP_NUMBER not in present
    count = top - len(present - {ZIP_NUMBER}) + needs_zip
    return count, tuple(islice(_list_missing(top, present, needs_zip=needs_zip), MAX_LISTED))


def _count_at_least(known: Sequence[KnownVolume]) -> int:
    """Return how many volumes there must be; the last of spanned zips comes after all numbers."""
    numbers = [volume.name.number for volume in known if volume.name.number != ZIP_NUMBER]
    return max(numbers, default=0) + (known[0].name.naming == "spanned_zip")


def _list_missing(top: int, present: Collection[int], *, needs_zip: bool) -> Iterator[int]:
    yield from (number for number in range(1, top + 1) if number not in present)
    if needs_zip:
        yield ZIP_NUMBER


def _total(known: Sequence[KnownVolume], state: Completeness, proven_total: int | None) -> int | None:
    return len(known) if state == "assumed" else proven_total
