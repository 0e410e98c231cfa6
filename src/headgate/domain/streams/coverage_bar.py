"""Coverage as a bar of a few cells, drawn so that it never claims more than was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from headgate.domain.streams.messages import Span

COVERED = "█"
PARTLY = "▒"
UNREAD = "·"


@dataclass(frozen=True)
class CoverageBar:
    """Cells from the oldest to the newest position of a range, and how much of it is covered."""

    cells: str
    drawn: Span
    share: float
    complete: bool
    """Everything from the floor to the head is covered."""
    older_unread: bool
    """Below the drawn range nothing was read; how much lies there is not known."""


def draw_bar(
    spans: Sequence[Span], *, floor: int, head: int | None, first_seen: int | None, width: int
) -> CoverageBar | None:
    """Draw what was read between where the stream is known to begin and its head; None without a head.

    Positions can be sparse: the first message of a stream may stand at 10¹⁸. With nothing below it the
    range from 0 would be one long covered cell, so the bar begins where something is known to be. A cell is
    drawn as covered only if nothing in it is unread, however small.
    """
    if head is None or head < floor:
        return None
    wanted = Span(floor, head + 1)
    inside = [part for span in sorted(spans) if (part := _overlap(span, wanted))]
    drawn = _drawn(inside, wanted, first_seen)
    covered = _count(inside, drawn)
    size = drawn.end - drawn.start
    cells = "".join(_cell(inside, part) for part in _split(drawn, width))
    complete = _count(inside, wanted) == wanted.end - wanted.start
    older_unread = drawn.start > floor and not any(span.start < drawn.start for span in inside)
    return CoverageBar(cells, drawn, covered / size, complete, older_unread)


def _drawn(inside: Sequence[Span], wanted: Span, first_seen: int | None) -> Span:
    """Return the range to draw: from a floor that a person set, or from the first thing that is known."""
    if wanted.start > 0 or not inside:
        return wanted
    first = inside[0]
    if first.start > wanted.start:
        return Span(first.start, wanted.end)
    known = [first.end] if first.end < wanted.end else []
    if first_seen is not None and first_seen in wanted:
        known.append(first_seen)
    return Span(min(known, default=wanted.start), wanted.end)


def _split(drawn: Span, width: int) -> list[Span]:
    """Return at most `width` parts of about the same size, none of them empty."""
    size = drawn.end - drawn.start
    count = min(width, size)
    edges = [drawn.start + size * n // count for n in range(count + 1)]
    # A range of fewer positions than cells has wide cells.
    parts = [Span(start, end) for start, end in pairwise(edges)]
    return [parts[n * count // width] for n in range(width)]


def _cell(inside: Sequence[Span], part: Span) -> str:
    covered = _count(inside, part)
    if covered == 0:
        return UNREAD
    return COVERED if covered == part.end - part.start else PARTLY


def _count(inside: Sequence[Span], part: Span) -> int:
    overlaps = (_overlap(span, part) for span in inside)
    return sum(span.end - span.start for span in overlaps if span is not None)


def _overlap(span: Span, other: Span) -> Span | None:
    start, end = max(span.start, other.start), min(span.end, other.end)
    return Span(start, end) if start < end else None
