"""Why a run is not sending right now, and which process an account waits for."""

from __future__ import annotations

from datetime import datetime

from headgate.domain.wall_time import find_zone

FOR_ITS_TURN = "waits for its turn"
PAUSED = "paused by a person"


def for_window(opens_at: datetime, zone: str) -> str:
    return f"waits for the window to open at {_clock(opens_at, zone)}"


def for_pace(until: datetime, zone: str, cause: str) -> str:
    return f"waits until {_clock(until, zone)}: {cause}"


def for_slot(waited_s: float) -> str:
    """Return that all sending slots are taken by other accounts."""
    span = f"{waited_s:.0f} s" if waited_s < 2 * 60 else f"{waited_s / 60:.0f} min"
    return f"waits for a free sending slot, for {span} so far"


def for_holder(holder: str) -> str:
    """Return that another process has to do it, because it alone may use the account."""
    return f"waits for {holder}, the process that uses this account"


def holder_text(holder: str, awaiting: int) -> str:
    """Return which process uses an account alone, and how much waits for it."""
    if not awaiting:
        return f"in use by {holder}"
    jobs = "1 job waits" if awaiting == 1 else f"{awaiting:,} jobs wait"
    return f"in use by {holder}; {jobs} for it"


def _clock(at: datetime, zone: str) -> str:
    return f"{at.astimezone(find_zone(zone)):%Y-%m-%d %H:%M} ({zone})"
