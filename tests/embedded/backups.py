"""Backups that somebody else has touched."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

TAKEN_AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def rewrite(
    source: Path,
    target: Path,
    change: Callable[[dict[str, Any]], object] = dict,
    *,
    entries: Mapping[str, bytes] | None = None,
) -> Path:
    """Copy a backup with another manifest, and with entries added or put in the place of others."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        contents = {name: old.read(name) for name in old.namelist()} | dict(entries or {})
        manifest = json.loads(contents.pop("manifest.json"))
        change(manifest)
        new.writestr("manifest.json", json.dumps(manifest))
        for name, content in contents.items():
            new.writestr(name, content)
    return target
