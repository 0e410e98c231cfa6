"""Coverage: what a reading proves about a stream, and what is left to read.

The database keeps coverage and does the arithmetic on it; these are the same rules for a handful of spans, by
which the database's answers are checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from headgate.domain.streams.messages import Lens, Span


@dataclass(frozen=True)
class Hole:
    """Something to read: a span that a lens has not covered, and the platform's bookmark to its end."""

    lens: Lens
    span: Span
    bookmark: str = ""


@dataclass(frozen=True)
class Tip:
    """The newest part of a stream, too young to be proven: what is above `start` waits until `after`."""

    start: int
    after: datetime

    def waits(self, now: datetime) -> bool:
        return self.after > now


@dataclass(frozen=True)
class Left:
    """What is left below the bound: the newest messages, which may be too young, and everything older."""

    tip: bool
    inner: bool


def what_is_left(holes: Iterable[Hole], *, bound: int) -> Left:
    """Tell the tip from the rest."""
    listed = list(holes)
    return Left(
        tip=any(hole.span.end >= bound for hole in listed),
        inner=any(hole.span.end < bound for hole in listed),
    )


def merge(spans: Iterable[Span]) -> list[Span]:
    """Return the same positions as disjoint spans in order; the order of adding does not matter."""
    merged: list[Span] = []
    for span in sorted(span for span in spans if not span.empty):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def uncovered(covered: Iterable[Span], *, floor: int, bound: int) -> list[Span]:
    """Return what is there to read: [floor, bound) minus what is covered, in order."""
    holes: list[Span] = []
    start = floor
    for span in merge(covered):
        if span.end <= start:
            continue
        if span.start >= bound:
            break
        if span.start > start:
            holes.append(Span(start, span.start))
        start = span.end
    if start < bound:
        holes.append(Span(start, bound))
    return holes


def proven_span(
    hole: Span,
    *,
    bound: int,
    positions: Sequence[int],
    asked: int,
    short_page_proves_bound: bool,
    settled_end: int,
) -> Span:
    """Return the range that a page proves: whatever lies in it was on the page, or does not exist.

    `positions` are those of the page, read newest first from the end of the hole; `asked` is how many the
    platform could have returned at most (never more than its page size, whatever the caller's limit was).
    `bound` is the head that was fetched before the request, plus one: what came later proves nothing.
    Below `settled_end` everything is older than the platform's settle margin; above it a message may still
    become visible below one that is visible already. A full page proves down to its last message, an empty
    one down to the start of the hole, and a short one either of them, as the platform guarantees.
    """
    short = len(positions) < asked
    whole = not positions or (short and short_page_proves_bound)
    lower = hole.start if whole else min(positions)
    upper = min(hole.end, bound, settled_end)
    return Span(lower, upper) if lower < upper else Span(hole.start, hole.start)
