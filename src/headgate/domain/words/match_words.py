"""What search says to people."""

from __future__ import annotations

from typing import Literal

MatchedField = Literal["name", "group", "creator", "tag", "caption", "file_name", "inside"]

MATCHED_FIELDS: dict[MatchedField, str] = {
    "name": "name",
    "group": "group",
    "creator": "creator",
    "tag": "tag",
    "caption": "caption",
    "file_name": "file",
    "inside": "in",
}


def match_text(field: MatchedField, text: str) -> str:
    """Return what matched: `in: models/knight_base.stl`."""
    return f"{MATCHED_FIELDS[field]}: {text}"
