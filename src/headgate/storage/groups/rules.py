"""Rules that group items, and how far their jobs have come."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.domain.library.group_rules import GroupRule, GroupRuleKind
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

SweepKind = Literal["", "apply", "dissolve"]
COUNT_CAP = 10_000
MAX_DISSOLVED = 100
"""Groups that one job dissolves."""


@dataclass(frozen=True)
class StoredGroupRule:
    """A rule, and what has become of it."""

    id: UUID
    name: str
    kind: GroupRuleKind
    pattern: str
    enabled: bool
    created_at: datetime
    doing: SweepKind
    """What a job does at the moment: apply it to what is there, or dissolve its groups; empty: nothing."""
    groups: int
    """Groups that it has made, at most 10,000."""

    @property
    def rule(self) -> GroupRule:
        return GroupRule(self.name, self.kind, self.pattern)


@dataclass(frozen=True)
class RuleSweep:
    """How far a rule's job has come."""

    kind: GroupRuleKind
    pattern: str
    sweep: SweepKind
    sweep_after: UUID | None
    wake_seq: int


@dataclass(frozen=True)
class OpenItem:
    """A visible item in no group, or in one that the rule has put it into."""

    id: UUID
    title: str
    grouped: bool


async def lock_rules(tx: Tx) -> None:
    """Take the rules for a change."""
    await tx.value(Q["lock_rules"])


async def list_rules(tx: Tx, *, rule_id: UUID | None = None) -> list[StoredGroupRule]:
    return await tx.all(StoredGroupRule, Q["list_rules"], id=rule_id, cap=COUNT_CAP)


async def insert_rule(tx: Tx, rule_id: UUID, rule: GroupRule, *, now: datetime) -> None:
    await tx.execute(Q["insert_rule"], id=rule_id, now=now, **vars(rule))


async def update_rule(tx: Tx, rule_id: UUID, rule: GroupRule) -> None:
    await tx.execute(Q["update_rule"], id=rule_id, **vars(rule))


async def switch_rule(tx: Tx, rule_id: UUID, *, enabled: bool, sweep: SweepKind) -> None:
    """Switch a rule on or off, and say what its job does with what is there."""
    await tx.execute(Q["switch_rule"], id=rule_id, enabled=enabled, sweep=sweep)


async def delete_rule(tx: Tx, rule_id: UUID) -> None:
    await tx.execute(Q["delete_rule"], id=rule_id)


async def list_swept_rules(tx: Tx, *, limit: int, rested_since: datetime) -> list[str]:
    return await tx.column(Q["list_swept_rules"], limit=limit, rested_since=rested_since)


async def get_sweep(tx: Tx, rule_id: UUID) -> RuleSweep | None:
    return await tx.one(RuleSweep, Q["get_sweep"], id=rule_id)


async def advance_sweep(tx: Tx, rule_id: UUID, sweep: RuleSweep, *, after: UUID) -> None:
    await tx.execute(Q["advance_sweep"], id=rule_id, after=after, seen=sweep.wake_seq)


async def end_sweep(tx: Tx, rule_id: UUID, sweep: RuleSweep) -> None:
    await tx.execute(Q["end_sweep"], id=rule_id, seen=sweep.wake_seq)


async def list_open(tx: Tx, rule_id: UUID, *, after: UUID | None, limit: int) -> list[OpenItem]:
    """Return the next items that a rule decides about, by id."""
    return await tx.all(OpenItem, Q["list_open"], rule_id=rule_id, after=after, limit=limit)


async def list_untouched(
    tx: Tx, rule_id: UUID, *, after: UUID | None, max_items: int, ids: Collection[UUID] | None = None
) -> list[UUID]:
    """Return the next groups of a rule that no person has changed, or those of some groups."""
    return await tx.column(
        Q["list_untouched"],
        rule_id=rule_id,
        after=after,
        ids=None if ids is None else sorted(ids),
        max_items=max_items,
        limit=MAX_DISSOLVED,
    )


async def delete_groups(tx: Tx, group_ids: Collection[UUID]) -> None:
    await tx.execute(Q["delete_groups"], ids=sorted(group_ids))
