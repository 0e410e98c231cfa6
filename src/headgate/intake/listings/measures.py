"""What the checks of feeds and series count."""

from __future__ import annotations

from functools import cache

from headgate.kernel.metrics import counter

POLLS = counter(
    "polls",
    "Checks of feeds and series by result: changed, unchanged, joined, or the class of the error.",
    ("platform", "result"),
)
SWEEPS = counter(
    "sweeps", "Checks of whole sites by result: done, or the class of the error.", ("platform", "result")
)

# Looking a label up costs as much as the rest of the bookkeeping.
poll_of = cache(POLLS.labels)
sweep_of = cache(SWEEPS.labels)
