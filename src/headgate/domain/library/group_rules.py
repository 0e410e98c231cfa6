"""Rules that group items: the same creator and title pattern, or messages that answer each other.

People write the patterns and strangers the titles, so patterns are those of RE2, which reads a text once.
A pattern has a group named `name`, or one group, or is all name: what the titles of a group have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, Literal, NamedTuple, get_args
from uuid import UUID

import re2 as untyped_re2

from headgate.domain.errors import UserError
from headgate.domain.library.group_names import MAX_GROUP_NAME
from headgate.domain.library.label_rules import label_key
from headgate.domain.text import storable, typed_text

re2: Any = untyped_re2
"""It has no types."""

GroupRuleKind = Literal["title", "replies"]
GROUP_RULE_KINDS: tuple[GroupRuleKind, ...] = get_args(GroupRuleKind)

MAX_RULES = 50
MAX_RULE_NAME = 100
MAX_PATTERN = 300
MAX_MEMBERS = 1000
"""Of a group that a rule makes."""
MAX_TITLE = 1000
"""Characters of a title that a pattern reads."""
_MAX_PROGRAM_BYTES = 2**20
EXAMPLE_PATTERN = r"^(.+?)[\s_-]+(?:part|pt|vol|volume|set)?[\s._-]*\d+$"


@dataclass(frozen=True)
class GroupRule:
    """A rule as people write it."""

    name: str
    kind: GroupRuleKind
    pattern: str = ""
    """Of titles; empty for reply chains."""


class SharedTitle(NamedTuple):
    """What a pattern finds in a title: a key that members share, and how it is written."""

    key: str
    name: str


def check_rule(rule: GroupRule) -> GroupRule:
    """Return a rule as it is stored, or say what is wrong with it."""
    name = typed_text(storable(rule.name), max_length=MAX_RULE_NAME + 1)
    if not 1 <= len(name) <= MAX_RULE_NAME:
        raise UserError(f"A rule needs a name of 1 to {MAX_RULE_NAME} characters.", field="name")
    if rule.kind not in GROUP_RULE_KINDS:
        raise UserError("Choose what the rule groups by: title or replies.", field="kind")
    pattern = storable(rule.pattern).strip()
    if rule.kind == "replies":
        if pattern:
            raise UserError("A rule for reply chains has no pattern.", field="pattern")
        return GroupRule(name, "replies")
    _check_pattern(pattern)
    return GroupRule(name, "title", pattern)


def find_shared(pattern: str, title: str) -> SharedTitle | None:
    """Return what a title shares with others of its group; None if the pattern does not match."""
    compiled = _compiled(pattern)
    found = compiled.search(title[:MAX_TITLE])
    if found is None:
        return None
    group = "name" if "name" in compiled.groupindex else min(compiled.groups, 1)
    name = typed_text((found.group(group) or "").replace("_", " "), max_length=MAX_GROUP_NAME)
    name = name.strip(" \t-–—|:;,.#*~`/\\")
    key = label_key(name)
    return SharedTitle(key, name) if key else None


def rule_group_id(rule_id: UUID, channel_id: UUID, source_key: str) -> UUID:
    """Return the id of the only group that a rule makes of what a channel's items share."""
    return UUID(bytes=sha256(f"rule:{rule_id}:{channel_id}:{source_key}".encode()).digest()[:16])


def _check_pattern(pattern: str) -> None:
    if not 1 <= len(pattern) <= MAX_PATTERN:
        raise UserError(f"A pattern has 1 to {MAX_PATTERN} characters.", field="pattern")
    try:
        compiled = _compiled(pattern)
    except re2.error as error:
        told = error.args[0] if error.args else ""
        reason = told.decode(errors="replace") if isinstance(told, bytes) else str(told)
        raise UserError(
            f"This is not a regular expression that can be used here: {reason}",
            remedy="Look-around and back-references are not supported.",
            field="pattern",
        ) from None
    if compiled.groups > 1 and "name" not in compiled.groupindex:
        raise UserError(
            "The pattern has several groups.",
            remedy="Name the one that the titles share: (?P<name>…)",
            field="pattern",
        )


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = _MAX_PROGRAM_BYTES
    return re2.compile(pattern, options)
