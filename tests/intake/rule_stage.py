"""What tests of grouping rules do again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from group_stage import GroupStage
from missing import Missing

from headgate.catalogue.groups import editing, rules
from headgate.catalogue.groups.rule_trials import GroupTrial, try_rule
from headgate.catalogue.groups.rules import read_rule
from headgate.catalogue.labels import LabelChange
from headgate.ingest.groups.rule_sweeps import RuleSweeping
from headgate.ingest.shelf.refreshing import ShelfRefreshing
from headgate.storage.groups.rules import StoredGroupRule

PARTS = r"^(.+?)[\s_-]+(?:part|vol)[\s._-]*\d+$"


@dataclass(frozen=True)
class RuleStage(GroupStage):
    """What tests of rules do again and again."""

    async def add_rule(
        self, name: str = "Parts", kind: str = "title", pattern: str = PARTS
    ) -> StoredGroupRule:
        async with self.missing.database.transaction() as tx:
            rule = read_rule({"name": name, "kind": kind, "pattern": pattern})
            return await rules.add_rule(tx, rule, ids=self.missing.ids, now=self.now)

    async def switch_on(self, rule_id: UUID) -> None:
        async with self.missing.database.transaction() as tx:
            await rules.switch_on(tx, rule_id)
        await self.missing.work()

    async def switch_off(self, rule_id: UUID, *, dissolve: bool = False) -> None:
        async with self.missing.database.transaction() as tx:
            await rules.switch_off(tx, rule_id, dissolve=dissolve)
        await self.missing.work()

    async def rule_on(self, **more: str) -> UUID:
        rule = await self.add_rule(**more)
        await self.switch_on(rule.id)
        return rule.id

    async def say_creator(self, creator: str, *titles: str) -> None:
        """Have a person say who made items, and what follows from it done."""
        things = [await self.item(title) for title in titles]
        async with self.missing.database.transaction() as tx:
            await editing.label_things(tx, things, LabelChange(creator=creator), now=self.now)
        await self.missing.work()

    async def made_by(self, creator: str, *titles: str) -> None:
        await self.accept(*(self.post(f"{title}.zip") for title in titles))
        await self.say_creator(creator, *titles)

    async def try_rule(self, **typed: Any) -> GroupTrial:
        async with self.missing.database.transaction() as tx:
            return await try_rule(tx, read_rule(typed), clock=self.missing.clock)


def open_rule_stage(missing: Missing) -> RuleStage:
    """Return a stage whose jobs also group."""
    missing.kinds.add(ShelfRefreshing().kind())
    missing.kinds.add(RuleSweeping(missing.clock).kind())
    return RuleStage(missing)
