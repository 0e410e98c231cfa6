"""Rules that group items: listing, trying, switching and removing them."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field

from headgate.catalogue.groups import rules
from headgate.catalogue.groups.rule_trials import MAX_TRIED, GroupTrial, try_rule
from headgate.domain.library.group_rules import GroupRuleKind
from headgate.storage.groups.rules import StoredGroupRule
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)

_PATTERN = "A regular expression (RE2) for titles; a group named `name`, or the only group, is shared."


class GroupRulesAnswer(BaseModel):
    """All rules, the oldest first; earlier ones go first."""

    rules: list[StoredGroupRule]


class NewGroupRule(BaseModel):
    """A rule to add or to try."""

    name: str
    kind: GroupRuleKind = "title"
    pattern: str = Field(default="", description=_PATTERN)


class GroupRuleChange(BaseModel):
    """The fields to change; omitted ones stay. A rule that is on cannot be changed."""

    name: str | None = None
    kind: GroupRuleKind | None = None
    pattern: str | None = Field(default=None, description=_PATTERN)


class SwitchOff(BaseModel):
    """What becomes of the groups of a rule."""

    dissolve: bool = Field(default=False, description="Dissolve its groups that no one has changed.")


@routes.get("/group-rules", door=scope("read"), tags=["group rules"])
async def list_all(site: CurrentSite) -> GroupRulesAnswer:
    """List the rules that group items."""
    async with site.transaction() as tx:
        return GroupRulesAnswer(rules=await rules.list_rules(tx))


@routes.post("/group-rules", door=scope("admin"), status_code=201, tags=["group rules"])
async def add(site: CurrentSite, body: NewGroupRule) -> StoredGroupRule:
    """Add a rule, which is off."""
    rule = rules.read_rule(body.model_dump())
    async with site.transaction() as tx:
        return await rules.add_rule(tx, rule, ids=site.parts.ids, now=site.parts.clock.now())


@routes.post("/group-rules/try", door=scope("admin"), tags=["group rules"])
async def try_one(
    site: CurrentSite, body: NewGroupRule, limit: Annotated[int, Query(ge=1, le=MAX_TRIED)] = MAX_TRIED
) -> GroupTrial:
    """Show which groups a rule would make of the newest items; nothing is changed."""
    rule = rules.read_rule(body.model_dump())
    async with site.transaction() as tx:
        return await try_rule(tx, rule, limit=limit, clock=site.parts.real_clock)


@routes.patch("/group-rules/{rule_id}", door=scope("admin"), tags=["group rules"])
async def edit(site: CurrentSite, rule_id: UUID, body: GroupRuleChange) -> StoredGroupRule:
    """Change a rule that is off."""
    async with site.transaction() as tx:
        return await rules.edit_rule(tx, rule_id, body.model_dump(exclude_none=True))


@routes.post("/group-rules/{rule_id}/on", door=scope("admin"), tags=["group rules"])
async def switch_on(site: CurrentSite, rule_id: UUID) -> StoredGroupRule:
    """Switch a rule on; what is there is grouped in the background."""
    async with site.transaction() as tx:
        return await rules.switch_on(tx, rule_id)


@routes.post("/group-rules/{rule_id}/off", door=scope("admin"), tags=["group rules"])
async def switch_off(site: CurrentSite, rule_id: UUID, body: SwitchOff) -> StoredGroupRule:
    """Switch a rule off; its groups stay, or dissolve."""
    async with site.transaction() as tx:
        return await rules.switch_off(tx, rule_id, dissolve=body.dissolve)


@routes.delete("/group-rules/{rule_id}", door=scope("admin"), status_code=204, tags=["group rules"])
async def remove(site: CurrentSite, rule_id: UUID) -> None:
    """Remove a rule; its groups stay."""
    async with site.transaction() as tx:
        await rules.remove_rule(tx, rule_id)
