"""Trying a rule before it is saved: which items would be labelled otherwise, and how. Nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from headgate.catalogue.label_rules import list_rules
from headgate.catalogue.labelling import as_rows, find_in_items, read_texts
from headgate.domain.library.item_labels import ItemLabels, LabelRow, combine_labels
from headgate.domain.library.label_rules import LabelKind, LabelRule, check_rules, label_key
from headgate.domain.library.labels import FoundLabel
from headgate.kernel.clock import Clock
from headgate.storage.catalogue.items import NEWEST, Item, LibraryCursor, list_older_items
from headgate.storage.database import Tx
from headgate.storage.labels import labels

MAX_TRIED = 2000
"""Items that a page or program waits for; a command may ask for more."""
MAX_EXAMPLES = 20
MAX_COUNTED = 50
_BATCH = 200

Names = Mapping[tuple[LabelKind, str], str]


@dataclass(frozen=True)
class LabelledOtherwise:
    """An item that a change of rules would label otherwise."""

    item_id: UUID
    title: str
    creator_before: str
    creator_after: str
    added_tags: tuple[str, ...]
    removed_tags: tuple[str, ...]
    text: str
    """Where the tried rule reads it; empty where it reads nothing any more."""


@dataclass(frozen=True)
class CountedLabel:
    """How many items would gain or lose a label."""

    kind: LabelKind
    name: str
    gained: int
    lost: int


@dataclass(frozen=True)
class Trial:
    """What a change of rules would do to the newest items."""

    tried: int
    has_older: bool
    """There are older items, which were not tried."""
    matched: int
    """Items in which the rule reads something, whether or not another goes first."""
    changed: int
    counts: tuple[CountedLabel, ...]
    """The labels that most items would gain or lose."""
    examples: tuple[LabelledOtherwise, ...]


async def try_rule(
    tx: Tx,
    rule: LabelRule | None,
    *,
    replacing: UUID | None = None,
    position: int | None = None,
    limit: int = MAX_TRIED,
    clock: Clock,
) -> Trial:
    """Compare the labels of the newest items under the rules as they are and as they would be.

    `rule` is added, or takes the place of the rule `replacing`; None removes that one.
    """
    stored = await list_rules(tx)
    before = [one.rule for one in stored.rules]
    after = list(before)
    place = len(before) if position is None else position - 1
    if replacing is not None:
        known = stored.get(replacing)
        place = known.position - 1 if position is None else position - 1
        after.remove(known.rule)
    if rule is not None:
        after.insert(max(place, 0), rule)
    check_rules(tuple(after))
    trial = _Tally(rule)
    below: LibraryCursor | None = NEWEST
    while below is not None and trial.tried < limit:
        size = min(_BATCH, limit - trial.tried)
        page = await list_older_items(tx, below=below, pattern=None, limit=size + 1)
        await _compare(tx, page[:size], before, after, trial, clock)
        more = len(page) > size
        below = LibraryCursor(page[size - 1].caught_at, page[size - 1].id) if more else None
    return trial.result(has_older=below is not None)


class _Tally:
    """What was seen so far."""

    def __init__(self, rule: LabelRule | None) -> None:
        self.rule = rule
        self.tried = self.matched = self.changed = 0
        self.gained: Counter[tuple[LabelKind, str]] = Counter()
        self.lost: Counter[tuple[LabelKind, str]] = Counter()
        self.examples: list[LabelledOtherwise] = []

    def add(self, item: Item, before: ItemLabels, after: ItemLabels, found: Sequence[FoundLabel]) -> None:
        self.tried += 1
        own = [label for label in found if self.rule is not None and label.rule == self.rule.name]
        self.matched += bool(own)
        old, new = _names_in(before), _names_in(after)
        if old == new:
            return
        self.changed += 1
        self.gained.update(new - old)
        self.lost.update(old - new)
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(
                LabelledOtherwise(
                    item.id,
                    item.title,
                    before.creator_name,
                    after.creator_name,
                    added_tags=tuple(sorted(set(after.tag_names) - set(before.tag_names))),
                    removed_tags=tuple(sorted(set(before.tag_names) - set(after.tag_names))),
                    text=own[0].text[:200] if own else "",
                )
            )

    def result(self, *, has_older: bool) -> Trial:
        both = self.gained + self.lost
        counts = sorted(both, key=lambda label: (-both[label], label))[:MAX_COUNTED]
        return Trial(
            self.tried,
            has_older,
            self.matched,
            self.changed,
            tuple(CountedLabel(*label, self.gained[label], self.lost[label]) for label in counts),
            tuple(self.examples),
        )


async def _compare(
    tx: Tx,
    page: Sequence[Item],
    before: Sequence[LabelRule],
    after: Sequence[LabelRule],
    tally: _Tally,
    clock: Clock,
) -> None:
    item_ids = [item.id for item in page]
    texts = await read_texts(tx, item_ids)
    old = await find_in_items(texts, before, clock=clock)
    new = await find_in_items(texts, after, clock=clock)
    found = [label for each in (*old.values(), *new.values()) for label in each]
    names = await labels.list_names(tx, ((label.kind, label_key(label.label)) for label in found))
    said: dict[UUID, list[LabelRow]] = {}
    for stored in await labels.list_labels(tx, item_ids):
        if stored.source == "person":
            said.setdefault(stored.item_id, []).extend(as_rows([stored]))
    for item in page:
        own = said.get(item.id, [])
        labelled = [combine_labels([*_rows(found[item.id], names), *own]) for found in (old, new)]
        tally.add(item, labelled[0], labelled[1], new[item.id])


def _rows(found: Sequence[FoundLabel], names: Names) -> list[LabelRow]:
    return [
        LabelRow(label.kind, "rule", names.get((label.kind, label_key(label.label)), label.label), label.rule)
        for label in found
        if label.used
    ]


def _names_in(labelled: ItemLabels) -> set[tuple[LabelKind, str]]:
    names: set[tuple[LabelKind, str]] = {("tag", name) for name in labelled.tag_names}
    if labelled.creator is not None:
        names.add(("creator", labelled.creator_name))
    return names
