"""The rules that read creators and tags, and trying a rule before it is saved."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field

from headgate.catalogue import label_rules
from headgate.catalogue.label_trials import MAX_TRIED, Trial, try_rule
from headgate.domain.library.label_rules import LabelField, LabelKind, Normalisation
from headgate.storage.labels.rules import StoredRule
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)

_FIELD = "Where to look: topic, caption, hashtag or file_name."
_PATTERN = "A regular expression (RE2); a group named `label`, or the only group, is the label."
_POSITION = "Place among the rules, from 1; earlier rules go first."
Position = Annotated[int | None, Field(ge=1, description=_POSITION)]


class RulesAnswer(BaseModel):
    """All rules in their order, and their version, which rises with each change."""

    version: int
    rules: list[StoredRule]


class RuleWish(BaseModel):
    """A rule to add or to try."""

    name: str
    field: LabelField = Field(description=_FIELD)
    kind: LabelKind
    pattern: str = Field(description=_PATTERN)
    normalisation: Normalisation = "as_written"
    enabled: bool = True
    position: Position = None


class RuleChange(BaseModel):
    """The fields to change; omitted ones stay."""

    name: str | None = None
    field: LabelField | None = Field(default=None, description=_FIELD)
    kind: LabelKind | None = None
    pattern: str | None = Field(default=None, description=_PATTERN)
    normalisation: Normalisation | None = None
    enabled: bool | None = None
    position: Position = None


def _typed(body: BaseModel) -> dict[str, Any]:
    return body.model_dump(exclude_none=True, exclude={"position", "replacing"})


class TrialWish(RuleWish):
    """A rule to try: as a new one, or in the place of the rule `replacing`."""

    replacing: UUID | None = None


@routes.get("/label-rules", door=scope("read"), tags=["label rules"])
async def list_all(site: CurrentSite) -> RulesAnswer:
    """List the rules in their order."""
    async with site.transaction() as tx:
        found = await label_rules.list_rules(tx)
    return RulesAnswer(version=found.version, rules=list(found.rules))


@routes.post("/label-rules", door=scope("admin"), status_code=201, tags=["label rules"])
async def add(site: CurrentSite, body: RuleWish) -> StoredRule:
    """Add a rule, by default after the others; all items are labelled again."""
    rule = label_rules.read_rule(_typed(body))
    async with site.transaction() as tx:
        return await label_rules.add_rule(tx, rule, position=body.position, ids=site.parts.ids)


@routes.post("/label-rules/try", door=scope("admin"), tags=["label rules"])
async def try_one(
    site: CurrentSite, body: TrialWish, limit: Annotated[int, Query(ge=1, le=MAX_TRIED)] = MAX_TRIED
) -> Trial:
    """Show which of the newest items a rule would label differently; nothing is saved."""
    rule = label_rules.read_rule(_typed(body))
    async with site.transaction() as tx:
        return await try_rule(
            tx,
            rule,
            replacing=body.replacing,
            position=body.position,
            limit=limit,
            clock=site.parts.real_clock,
        )


@routes.patch("/label-rules/{rule_id}", door=scope("admin"), tags=["label rules"])
async def edit(site: CurrentSite, rule_id: UUID, body: RuleChange) -> StoredRule:
    """Change a rule, its place, or whether it is on; all items are labelled again."""
    async with site.transaction() as tx:
        return await label_rules.edit_rule(tx, rule_id, _typed(body), position=body.position)


@routes.delete("/label-rules/{rule_id}", door=scope("admin"), status_code=204, tags=["label rules"])
async def remove(site: CurrentSite, rule_id: UUID) -> None:
    """Remove a rule; the labels that only it found go with it."""
    async with site.transaction() as tx:
        await label_rules.remove_rule(tx, rule_id)
