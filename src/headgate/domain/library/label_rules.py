"""Rules that read creators and tags: where to look, a pattern, and what it yields. People edit them.

Patterns are regular expressions of RE2, which reads a text once whatever the pattern is: rules are written
by users and captions by strangers. A pattern has a group named `label`, or one group, or is all label.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import re2 as untyped_re2

from headgate.domain.errors import UserError
from headgate.domain.text import typed_text

re2: Any = untyped_re2
"""It has no types."""

LabelField = Literal["topic", "caption", "hashtag", "file_name"]
LabelKind = Literal["creator", "tag"]
Normalisation = Literal["as_written", "spaced", "lower"]
"""`spaced` makes blanks of underscores; `lower` does that, too, and removes capitals."""

MAX_RULES = 100
MAX_RULE_NAME = 100
MAX_PATTERN = 300
MAX_LABEL_LENGTH = 100
MAX_TAGS = 50
"""Of one thing, by rules."""
MAX_TEXT = 4096
_MAX_PROGRAM_BYTES = 2**20


@dataclass(frozen=True)
class LabelRule:
    """A rule as people edit it; earlier rules go first."""

    name: str
    field: LabelField
    pattern: str
    kind: LabelKind
    normalisation: Normalisation = "as_written"
    enabled: bool = True


def check_rules(rules: tuple[LabelRule, ...]) -> tuple[LabelRule, ...]:
    """Return the rules if they can be used, or say what is wrong."""
    if len(rules) > MAX_RULES:
        raise UserError(f"There can be at most {MAX_RULES} rules.", remedy="Remove some.", field="rules")
    names = [rule.name for rule in rules]
    for rule in rules:
        if not rule.name.strip() or names.count(rule.name) > 1:
            raise UserError("Every rule needs a name of its own.", remedy="Rename the rule.", field="name")
        if len(rule.name) > MAX_RULE_NAME:
            raise UserError(f"A rule's name has at most {MAX_RULE_NAME} characters.", field="name")
        _check_pattern(rule.pattern)
    return rules


def _check_pattern(pattern: str) -> None:
    if not pattern.strip() or len(pattern) > MAX_PATTERN:
        raise UserError(f"A pattern has 1 to {MAX_PATTERN} characters.", field="pattern")
    try:
        compiled = _compiled(pattern)
    except re2.error as error:
        raise UserError(
            f"This is not a regular expression that can be used here: {_reason(error)}",
            remedy="Look-around and back-references are not supported.",
            field="pattern",
        ) from None
    if compiled.groups > 1 and "label" not in compiled.groupindex:
        raise UserError(
            "The pattern has several groups.",
            remedy="Name the one that holds the label: (?P<label>…)",
            field="pattern",
        )


def matches(rule: LabelRule, text: str) -> Iterator[str]:
    """Yield the labels that a rule reads in a text, cleaned, empty ones left out."""
    compiled = _compiled(rule.pattern)
    group = "label" if "label" in compiled.groupindex else min(compiled.groups, 1)
    for found in compiled.finditer(text[:MAX_TEXT]):
        label = normalised(found.group(group) or "", rule.normalisation)
        if label:
            yield label


def normalised(text: str, how: Normalisation) -> str:
    """Return a label as it is shown: one form of each character, no signs around it, not too long."""
    text = unicodedata.normalize("NFKC", text)
    if how != "as_written":
        text = text.replace("_", " ")
    text = typed_text(text.lower() if how == "lower" else text, max_length=MAX_LABEL_LENGTH)
    return text.strip(" \t-–—|:;,.#*_~`\"'“”‘’/\\")


def label_key(label: str) -> str:
    """Return what makes two labels the same: upper and lower case, blanks, hyphens and underscores do not."""
    text = unicodedata.normalize("NFKC", label).casefold()
    return " ".join(text.replace("_", " ").replace("-", " ").split())


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = _MAX_PROGRAM_BYTES
    return re2.compile(pattern, options)


def _reason(error: Exception) -> str:
    told = error.args[0] if error.args else ""
    return told.decode(errors="replace") if isinstance(told, bytes) else str(told)


_NAME = r"(?P<label>[\pL\pN@][\pL\pN&'’._ -]{1,40})"
_CAPITAL_NAME = r"(?P<label>(?-i:\p{Lu})[\pL\pN&'’._ -]{1,40})"
_SHOPS = (
    r"patreon\.com/(?:c/)?|ko-fi\.com/|gumroad\.com/|printables\.com/@|makerworld\.com/(?:[a-z]{2}/)?@|"
    r"cults3d\.com/(?:[a-z]{2}/)?users/|myminifactory\.com/users/|tribes\.[a-z]+\.com/"
)

DEFAULT_RULES: tuple[LabelRule, ...] = (
    LabelRule("Hashtags", "hashtag", r"^(.+)$", "tag", "lower"),
    LabelRule(
        "Creator line",
        "caption",
        r"(?m)^\W*(?:creator|artist|designer|sculptor|author|studio|maker)\s*[:：–-]\s*" + _NAME + r"\W*$",
        "creator",
        "spaced",
    ),
    LabelRule(
        "Made by",
        "caption",
        r"(?m)\b(?:made|designed|sculpted|modelled|modeled|created)\s+by\s+" + _NAME + r"(?:[\n,.;(|!]|$)",
        "creator",
        "spaced",
    ),
    LabelRule(
        "By, at the end of a line",
        "caption",
        r"(?m)(?:^|[^\pL\pN])by\s+" + _CAPITAL_NAME + r"\)?\s*$",
        "creator",
        "spaced",
    ),
    LabelRule("Shop link", "caption", rf"(?:{_SHOPS})(?P<label>[\w-]{{2,40}})", "creator", "spaced"),
    LabelRule("[Creator] title", "file_name", r"^\s*\[(?P<label>[^\]\[]{2,60})\]\s*\S", "creator", "spaced"),
    LabelRule(
        "Creator Patreon, in file names",
        "file_name",
        r"^" + r"(?P<label>[\pL\pN&'’. ]{2,40}?)[ (\[–-]+patreon\b",
        "creator",
        "spaced",
    ),
    LabelRule(
        "Creator - title",
        "file_name",
        r"^(?P<label>[\pL\pN&'’.][\pL\pN&'’. ]{1,40}?)\s+-\s+\S",
        "creator",
        "spaced",
    ),
    LabelRule("By, in file names", "file_name", r"\bby\s+" + _CAPITAL_NAME + r"$", "creator", "spaced"),
    LabelRule("Topic", "topic", r"^(.+)$", "creator", "as_written"),
)
"""What a new installation starts with."""

NOT_A_CREATOR = frozenset(
    label_key(label)
    for label in (
        "general", "requests", "request", "chat", "off topic", "announcements", "announcement", "news",
        "rules", "uploads", "files", "stl", "stls", "models", "misc", "miscellaneous", "other", "others",
        "free", "new", "night", "day", "hand", "me", "us", "you", "patreon", "unknown", "various",
        "various artists", "anonymous", "popular demand", "part", "vol", "volume", "readme", "supported",
        "unsupported",
    )
)  # fmt: skip
"""What the patterns find and is the name of no creator."""
