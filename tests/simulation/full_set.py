"""How much the suite plays: 300 random plays with HEADGATE_TEST_FULL=1, else 100."""

from __future__ import annotations

import os

FULL = os.environ.get("HEADGATE_TEST_FULL") == "1"
INTAKE_PLAYS = 100 if FULL else 40
LISTING_PLAYS = 100 if FULL else 30
FANOUT_PLAYS = 100 if FULL else 30
CRASH_POINT_STRIDE = 1 if FULL else 8
"""Of the points at which a process could die, every so many are tried."""
