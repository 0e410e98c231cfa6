"""Plain names for the fields of stored rows, in every document that people and programs read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, cast

from headgate.domain.words.frequency import frequency_word

FIELDS = {
    "floor": "start_position",
    "head": "newest_position",
    "head_checked_at": "newest_checked_at",
    "head_checks": "checks",
    "head_calls": "check_calls",
    "tip_after": "newest_reread_at",
    "lens": "content",
    "lenses": "wanted_content",
    "tier": "frequency",
    "tier_pinned": "frequency_chosen",
    "tier_reason": "frequency_reason",
    "tier_changes": "frequency_changes",
    "from_tier": "from_frequency",
    "to_tier": "to_frequency",
    "holes": "gaps",
    "watches": "readers",
    "misses": "failed_items",
    "miss_counts": "failed_item_counts",
    "sightings": "files_seen",
    "judging": "settings_update",
    "judged": "checked",
    "swept": "checked_with_site",
    "swept_at": "site_checked_at",
    "polls": "checks",
    "remainder_of": "rest_of",
    "fire_at": "scheduled_at",
}
"""What the code calls a field, and what a document calls it."""

_TIERS = frozenset({"tier", "from_tier", "to_tier"})
_TRIGGERS = {"remainder": "rest"}


def plain_fields(row: object) -> dict[str, Any]:
    """Return a row with plain names, and the rows in it too."""
    named = (
        {field.name: getattr(row, field.name) for field in fields(row)}
        if is_dataclass(row) and not isinstance(row, type)
        else cast("Mapping[str, object]", row)
    )
    return {FIELDS.get(name, name): _plain_value(name, value) for name, value in named.items()}


def _plain_value(name: str, value: object) -> object:
    if name in _TIERS:
        return frequency_word(str(value))
    if name == "trigger":
        return _TRIGGERS.get(str(value), value)
    if isinstance(value, Mapping) or (is_dataclass(value) and not isinstance(value, type)):
        return plain_fields(cast("object", value))
    if isinstance(value, list | tuple):
        return [_plain_value("", one) for one in cast("Sequence[object]", value)]
    return value
