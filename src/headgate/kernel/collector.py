"""Python's garbage collector, as a process that runs for months wants it."""

from __future__ import annotations

import gc

SELDOM = 20_000
"""New objects between two looks; with the default of 700 a busy sender spends a tenth of its time on them."""


def collect_seldom() -> None:
    """Look for garbage seldom, and never at the modules and classes that stay for good."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(SELDOM, *gc.get_threshold()[1:])
