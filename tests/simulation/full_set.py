"""How much the suite plays: everything with HEADGATE_TEST_FULL=1, else a share that takes minutes."""

from __future__ import annotations

import os

FULL = os.environ.get("HEADGATE_TEST_FULL") == "1"
PLAYS = 200 if FULL else 100
CRASH_POINT_STRIDE = 1 if FULL else 4
"""Of the awaits at which a process could die, every so many are tried."""
