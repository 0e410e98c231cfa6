"""Why a run is not sending right now, as it is stored with the run and shown everywhere."""

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


def _clock(at: datetime, zone: str) -> str:
    return f"{at.astimezone(find_zone(zone)):%Y-%m-%d %H:%M} ({zone})"
