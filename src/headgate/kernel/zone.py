"""The time zone of this machine, by its name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from zoneinfo import ZoneInfo

LINK = Path("/etc/localtime")
_FOLDER = "zoneinfo/"


def machine_zone(environment: Mapping[str, str] | None = None, *, link: Path = LINK) -> str:
    """Return the zone that the environment or the system names; UTC if neither names one."""
    environment = os.environ if environment is None else environment
    for name in (environment.get("TZ", "").removeprefix(":"), _linked_name(link)):
        if name and _is_zone(name):
            return name
    return "UTC"


def _linked_name(link: Path) -> str:
    try:
        return str(link.readlink()).rpartition(_FOLDER)[2]
    except OSError:
        return ""


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True
