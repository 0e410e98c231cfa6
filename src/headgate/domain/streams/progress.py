"""How much of a stream has been read: one rule for every place that shows it.

A position counts as read when every lens that is wanted has covered it. The share is of the positions between
the beginning of the stream and its head. Where positions are times, as snowflakes are, nobody knows where the
beginning lies before it was reached: until then there is no share, only a range without holes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

COUNTERS_BELOW = 2**40
"""Smaller heads are counters, which begin at the floor; larger ones are times."""


@dataclass(frozen=True)
class ReadFacts:
    """What is known of a stream, and what all wanted lenses have covered of it between floor and head."""

    floor: int
    head: int | None
    covered: int
    """How many positions."""
    first_start: int | None
    first_end: int | None
    """The oldest range without a hole, as far as its end, which is not in it."""
    last_start: int | None
    last_end: int | None
    """The newest one."""
    first_seen: int | None
    """The oldest position at which something was found."""
    messages_read: int
    checked_at: datetime | None
    allotted: bool
    """Positions are reserved for more messages than there are: their number says nothing."""


@dataclass(frozen=True)
class Progress:
    """How much was read, each message counted once."""

    messages_read: int
    share: float | None
    """From 0 to 1; empty while the head or the beginning is not known."""
    complete: bool
    complete_from: int | None
    complete_to: int | None
    """Between these positions, both included, nothing is missing: the newest such range."""
    as_of: datetime | None
    """When the head was checked last."""


def progress_of(facts: ReadFacts) -> Progress:
    """Tell how much of a stream has been read."""
    last_end = facts.last_end
    return Progress(
        messages_read=facts.messages_read,
        share=_share(facts),
        complete=_is_complete(facts),
        complete_from=facts.last_start,
        complete_to=None if last_end is None else last_end - 1,
        as_of=facts.checked_at,
    )


def _is_complete(facts: ReadFacts) -> bool:
    return facts.head is not None and facts.covered > 0 and facts.covered == facts.head + 1 - facts.floor


def _share(facts: ReadFacts) -> float | None:
    if facts.head is None or facts.head < facts.floor:
        return None
    if facts.covered == 0:
        return 0.0
    if facts.allotted:
        return 1.0 if _is_complete(facts) else None
    start = _beginning(facts, facts.head)
    if start is None:
        return None
    return (facts.covered - (start - facts.floor)) / (facts.head + 1 - start)


def _beginning(facts: ReadFacts, head: int) -> int | None:
    """Return where the stream begins; what was covered before it holds nothing, and counts for nothing."""
    if facts.floor > 0 or head < COUNTERS_BELOW:
        return facts.floor
    if facts.first_start != facts.floor or facts.first_end is None:
        return None
    known = [facts.first_end, *([] if facts.first_seen is None else [facts.first_seen])]
    start = max(min(known), facts.floor)
    return facts.floor if start > head else start
