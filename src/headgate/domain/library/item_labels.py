"""The creator and tags that count for an item, and who gave each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headgate.domain.library.label_rules import LabelKind, label_key
from headgate.domain.library.labels import LabelSource


@dataclass(frozen=True)
class LabelRow:
    """What a rule read, or what a person said; of a creator with `removed`, that there is none."""

    kind: LabelKind
    source: LabelSource
    name: str
    rule: str = ""
    removed: bool = False


@dataclass(frozen=True)
class ShownLabel:
    """A label that counts."""

    name: str
    source: LabelSource
    rule: str = ""
    """The rule that read it; empty where a person said it."""


@dataclass(frozen=True)
class ItemLabels:
    """What counts for an item."""

    creator: ShownLabel | None = None
    no_creator: bool = False
    """A person said that it has none."""
    tags: tuple[ShownLabel, ...] = ()
    removed_tags: tuple[str, ...] = ()
    """Tags that a person removed and that rules do not bring back."""

    @property
    def creator_name(self) -> str:
        return self.creator.name if self.creator else ""

    @property
    def tag_names(self) -> tuple[str, ...]:
        return tuple(tag.name for tag in self.tags)

    @property
    def said(self) -> bool:
        """Whether a person set or removed any of it."""
        by_person = [label for label in (self.creator, *self.tags) if label and label.source == "person"]
        return bool(by_person or self.no_creator or self.removed_tags)


NO_LABELS = ItemLabels()


def combine_labels(rows: Iterable[LabelRow]) -> ItemLabels:
    """Return what counts of all that rules read and people said, the later word last.

    A person's word goes before a rule's, and of two words of people on the same label the later one.
    """
    listed = list(rows)
    creators = {row.source: row for row in listed if row.kind == "creator"}
    creator = creators.get("person") or creators.get("rule")
    tags = {
        label_key(row.name): row for row in reversed(listed) if row.kind == "tag" and row.source == "rule"
    }
    tags |= {label_key(row.name): row for row in listed if row.kind == "tag" and row.source == "person"}
    in_order = [tags[key] for key in sorted(tags)]
    return ItemLabels(
        creator=None if creator is None or creator.removed else _shown(creator),
        no_creator=creator is not None and creator.removed,
        tags=tuple(_shown(row) for row in in_order if not row.removed),
        removed_tags=tuple(row.name for row in in_order if row.removed),
    )


def _shown(row: LabelRow) -> ShownLabel:
    return ShownLabel(row.name, row.source, row.rule)
