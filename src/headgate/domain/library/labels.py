"""Creators and tags of things: what rules read, what a person said, and which of them counts.

What rules read and what people said are kept side by side, so that neither overwrites the other: a scan
replaces what rules read, a person's word stays until the person changes it, and where both speak, it wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from headgate.domain.library.label_rules import (
    MAX_TAGS,
    MAX_TEXT,
    NOT_A_CREATOR,
    LabelField,
    LabelKind,
    LabelRule,
    label_key,
    matches,
    normalised,
)

LabelSource = Literal["rule", "person"]

_HASHTAG = re.compile(r"(?<![\w#&/])#(?=\w*[^\W\d_])(\w{2,64})")
"""With a letter in it: `#04` is the fourth of something."""
_ENDING = re.compile(r"(?i)(?:\.part\d{1,4}|\.tar|\.(?:7z|zip|rar)(?=\.\d{3}$))?\.[a-z0-9]{1,5}$")
_MAX_READINGS = 200
"""Of one thing, so that a rule that matches everything costs little."""


@dataclass(frozen=True)
class LabelTexts:
    """The texts of a thing that rules read."""

    item: str
    """Whatever the caller knows the thing by."""
    topic: str = ""
    caption: str = ""
    file_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class FoundLabel:
    """A label that a rule reads in a thing."""

    item: str
    kind: LabelKind
    label: str
    rule: str
    text: str
    """The text in which it stands."""
    used: bool
    """False where an earlier rule gave the creator, or the same tag."""


@dataclass(frozen=True)
class TagRow:
    """A tag of a thing, as it is stored: one row per thing, tag and source."""

    item: str
    tag: str
    source: LabelSource
    removed: bool = False
    """Only a person removes a tag; the row keeps rules from bringing it back."""

    @property
    def key(self) -> tuple[str, str, LabelSource]:
        return (self.item, label_key(self.tag), self.source)


@dataclass(frozen=True)
class CreatorRow:
    """Who made a thing; None where the rules found nobody, or a person has not spoken."""

    by_rule: str | None = None
    by_person: str | None = None
    """Empty where a person said that it has none."""

    @property
    def name(self) -> str:
        return (self.by_rule or "") if self.by_person is None else self.by_person


def find_labels(texts: LabelTexts, rules: Iterable[LabelRule]) -> tuple[FoundLabel, ...]:
    """Return everything that the rules read in a thing, and which of it counts."""
    found: list[FoundLabel] = []
    seen: set[tuple[LabelKind, str]] = set()
    tags = 0
    for rule, text, label in islice(_readings(texts, rules), _MAX_READINGS):
        # A thing has one creator and many tags.
        key = (rule.kind, label_key(label) if rule.kind == "tag" else "")
        used = key not in seen and (rule.kind == "creator" or tags < MAX_TAGS)
        tags += used and rule.kind == "tag"
        seen.add(key)
        found.append(FoundLabel(texts.item, rule.kind, label, rule.name, text, used))
    return tuple(found)


def try_rules(things: Iterable[LabelTexts], rules: tuple[LabelRule, ...]) -> Iterator[FoundLabel]:
    """Yield what rules would read in things, without changing anything."""
    for thing in things:
        yield from find_labels(thing, rules)


def found_tags(found: Iterable[FoundLabel]) -> tuple[str, ...]:
    return tuple(label.label for label in found if label.used and label.kind == "tag")


def found_creator(found: Iterable[FoundLabel]) -> str | None:
    return next((label.label for label in found if label.used and label.kind == "creator"), None)


def rescan_tags(rows: Iterable[TagRow], *, item: str, tags: Iterable[str]) -> tuple[TagRow, ...]:
    """Return the rows after rules have read a thing again: theirs are replaced, those of people stay."""
    kept = [row for row in rows if row.item != item or row.source == "person"]
    return _ordered([*kept, *(TagRow(item, tag, "rule") for tag in tags)])


def set_tag(rows: Iterable[TagRow], *, item: str, tag: str, removed: bool = False) -> tuple[TagRow, ...]:
    """Return the rows after a person has added a tag, or removed it."""
    said = TagRow(item, normalised(tag, "as_written"), "person", removed)
    return _ordered([*(row for row in rows if row.key != said.key), said])


def reset_tag(rows: Iterable[TagRow], *, item: str, tag: str) -> tuple[TagRow, ...]:
    """Return the rows after a person has left a tag to the rules again."""
    key = TagRow(item, tag, "person").key
    return _ordered(row for row in rows if row.key != key)


def shown_tags(rows: Iterable[TagRow], *, item: str) -> tuple[str, ...]:
    """Return the tags that count: what a person said, and of what rules read all that no person removed."""
    own = [row for row in rows if row.item == item]
    spoken = {label_key(row.tag): row for row in own if row.source == "person"}
    tags = {label_key(row.tag): row.tag for row in own if row.source == "rule"}
    tags |= {key: row.tag for key, row in spoken.items()}
    return tuple(tag for key, tag in sorted(tags.items()) if key not in spoken or not spoken[key].removed)


def rescan_creator(row: CreatorRow, *, found: str | None) -> CreatorRow:
    return replace(row, by_rule=found)


def set_creator(row: CreatorRow, *, name: str) -> CreatorRow:
    """Return the row after a person has named the creator; an empty name says that there is none."""
    return replace(row, by_person=normalised(name, "as_written"))


def reset_creator(row: CreatorRow) -> CreatorRow:
    return replace(row, by_person=None)


def _ordered(rows: Iterable[TagRow]) -> tuple[TagRow, ...]:
    """Return one row for each key in one order, so that equal states are equal."""
    by_key: dict[tuple[str, str, LabelSource], TagRow] = {}
    for row in rows:
        by_key.setdefault(row.key, row)
    return tuple(by_key[key] for key in sorted(by_key))


def _readings(texts: LabelTexts, rules: Iterable[LabelRule]) -> Iterator[tuple[LabelRule, str, str]]:
    for rule in (rule for rule in rules if rule.enabled):
        for text in _texts_of(texts, rule.field):
            for label in matches(rule, text):
                if rule.kind == "tag" or _may_be_creator(label):
                    yield rule, text, label


def _texts_of(texts: LabelTexts, field: LabelField) -> tuple[str, ...]:
    if field == "topic":
        return (texts.topic,) if texts.topic else ()
    if field == "caption":
        return (texts.caption,) if texts.caption else ()
    if field == "hashtag":
        return tuple(dict.fromkeys(_HASHTAG.findall(texts.caption[:MAX_TEXT])))
    return tuple(_without_ending(name) for name in texts.file_names)


def _without_ending(file_name: str) -> str:
    """Return a file's name as people read it: no ending, no number of a volume, blanks for underscores."""
    stem = _ENDING.sub("", file_name) or file_name
    return " ".join(stem.replace("_", " ").split())


def _may_be_creator(label: str) -> bool:
    key = label_key(label)
    return key not in NOT_A_CREATOR and any(letter.isalpha() for letter in key)
