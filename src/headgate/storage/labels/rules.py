"""The rules that read creators and tags, as people edit them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from headgate.domain.library.label_rules import LabelField, LabelKind, LabelRule, Normalisation
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

_COLUMNS = ("id", "name", "field", "kind", "normalisation", "pattern", "enabled")


@dataclass(frozen=True)
class StoredRule:
    """A rule and its place among the others, counted from 1."""

    id: UUID
    position: int
    name: str
    field: LabelField
    kind: LabelKind
    normalisation: Normalisation
    pattern: str
    enabled: bool

    @property
    def rule(self) -> LabelRule:
        return LabelRule(self.name, self.field, self.pattern, self.kind, self.normalisation, self.enabled)


async def lock_ruleset(tx: Tx) -> int:
    """Take the rules for a change; returns their version."""
    return await tx.value(Q["lock_ruleset"])


async def get_version(tx: Tx) -> int:
    return await tx.value(Q["get_version"])


async def list_rules(tx: Tx) -> list[StoredRule]:
    return await tx.all(StoredRule, Q["list_rules"])


async def replace_rules(tx: Tx, rules: Sequence[StoredRule]) -> int:
    """Write the rules in the order given, and have every item labelled again; returns the new version."""
    await tx.execute(Q["delete_rules"], kept_ids=[rule.id for rule in rules])
    fields = {name: [getattr(rule, name) for rule in rules] for name in _COLUMNS}
    await tx.execute(Q["write_rules"], position=list(range(1, len(rules) + 1)), **fields)
    await tx.execute(Q["sweep_all"])
    return await tx.value(Q["raise_version"])
