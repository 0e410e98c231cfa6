"""How much the suite plays: 300 random plays with HEADGATE_TEST_FULL=1, else 100."""

from __future__ import annotations

import os

FULL = os.environ.get("HEADGATE_TEST_FULL") == "1"
INTAKE_PLAYS = 100 if FULL else 20
LISTING_PLAYS = 100 if FULL else 30
FANOUT_PLAYS = 100 if FULL else 50
SHARING_PLAYS = 60 if FULL else 9
CRASH_POINT_STRIDE = 1 if FULL else 8
"""Of the points at which a process could die, every so many are tried."""
CRASH_SHARES = 8 if FULL else 2
"""Tests that share the points of a run: each begins with a run that nobody interrupts."""
