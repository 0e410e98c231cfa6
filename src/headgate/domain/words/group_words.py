"""Why a group exists, in words."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from headgate.domain.library.group_rules import GroupRuleKind
from headgate.domain.words.times import exact

RULE_KIND_WORDS: dict[GroupRuleKind, str] = {
    "title": "same creator and title pattern",
    "replies": "reply chains",
}


def rule_state(*, enabled: bool, doing: Literal["", "apply", "dissolve"]) -> str:
    """Say whether a rule is on, and what its job does."""
    words = {"": "", "apply": ", grouping what is there", "dissolve": ", dissolving its groups"}
    return ("on" if enabled else "off") + words[doing]


def group_reason(
    kind: Literal["album", "hand", "rule"], *, channel: str, rule: str, created_at: datetime
) -> str:
    """Say what made a group, and when."""
    place = f" in {channel}" if channel else ""
    match kind:
        case "album":
            return f"Posted as one album{place}; grouped {exact(created_at)}."
        case "hand":
            return f"Made by hand {exact(created_at)}."
        case "rule":
            by = f"the rule “{rule}”" if rule else "a rule that was removed since"
            return f"By {by}{place}; grouped {exact(created_at)}."
