"""Places for messages of platforms that have no usable numbers.

Messages get positions as they arrive: newer ones upwards from the head, older ones downwards from the end of
the hole that is read. Nobody knows how many a hole holds, so it reserves far more positions than it needs;
once it is read to its end, all of them are covered. A message keeps its place for good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headgate.domain.streams.messages import LiveEvent, Span

HISTORY = 2**40
"""Positions for what was posted before a stream was followed."""
GAP = 2**32
"""Positions for what was missed since."""


@dataclass(frozen=True)
class PlacedPage:
    """Where the messages of a page belong, and what the page proves."""

    new: Mapping[str, int]
    """The places of those that had none."""
    proven: Span


def next_head(head: int | None) -> int:
    """Return the head of a stream above which a gap of unknown size was found."""
    return HISTORY - 1 if head is None else head + GAP


def place_page(hole: Span, keys: Sequence[str], *, known: Mapping[str, int], exhausted: bool) -> PlacedPage:
    """Place the messages of a page of a hole, newest first.

    The hole has been read to its end where the history begins, or when a whole page is known and reaches
    below the hole. One known message would not do: late ones appear among older ones.
    """
    new: dict[str, int] = {}
    lowest = hole.end
    for key in keys:
        position = known.get(key)
        if position is None:
            lowest = new[key] = max(lowest - 1, hole.start)
        elif position in hole:
            # The stream is being read again: its messages have places in the hole.
            lowest = min(lowest, position)
    met = not new and any(known[key] < hole.start for key in keys)
    if exhausted or met:
        return PlacedPage(new, hole)
    # A page without anything new moves on by its bookmark; a position is spent to say so.
    return PlacedPage(new, Span(max(min(lowest, hole.end - 1), hole.start), hole.end))


@dataclass(frozen=True)
class PlacedEvents:
    """Where messages belong that came live, and the gaps before them."""

    new: Mapping[str, int]
    gaps: Mapping[int, str]
    """The end of each gap, and where reading back from there begins."""
    head: int | None


def place_events(
    head: int | None, events: Sequence[LiveEvent], *, known: Mapping[str, int], continuous: bool
) -> PlacedEvents:
    """Place the messages of live events of one stream above its head.

    Unless they are `continuous` with what came before, something may have been missed before the first new
    one. A known message makes up for that: what lies before it was read, or is known to be missing.
    """
    new: dict[str, int] = {}
    gaps: dict[int, str] = {}
    for event in events:
        is_new = event.kind == "message" and event.message_key not in known and event.message_key not in new
        if event.kind == "gap" or (is_new and not continuous):
            head = next_head(head)
            gaps[head + 1] = event.bookmark
        if is_new:
            head = next_head(head) if head is None else head + 1
            new[event.message_key] = head
        continuous = continuous or event.kind in {"gap", "message"}
    return PlacedEvents(new, gaps, head)
