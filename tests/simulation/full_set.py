"""How much the suite plays: 300 random plays with HEADGATE_TEST_FULL=1, else 100."""

from __future__ import annotations

import os

FULL = os.environ.get("HEADGATE_TEST_FULL") == "1"
INTAKE_PLAYS = 180 if FULL else 60
LISTING_PLAYS = 60 if FULL else 20
FANOUT_PLAYS = 60 if FULL else 20
CRASH_POINT_STRIDE = 1 if FULL else 8
"""Of the awaits at which a process could die, every so many are tried."""
