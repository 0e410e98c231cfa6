"""What a reading proves about a stream."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.domain.messages import Span


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
