"""Rules that send things on: listing, trying, changing, switching and removing them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from headgate.domain.library.shelf_filters import MAX_QUERY_LENGTH
from headgate.outflow.library_sends import rules
from headgate.outflow.library_sends.rules import SendTrial
from headgate.storage.library_sends.rules import NewSendRule, StoredSendRule
from headgate.web.callers import CurrentCaller
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)


class SendRulesAnswer(BaseModel):
    """All rules, the oldest first."""

    rules: list[StoredSendRule]


class SendRuleWish(BaseModel):
    """A rule to add or to try; the query has the filters of `GET /api/v1/library`."""

    name: str
    query: str = Field(max_length=MAX_QUERY_LENGTH)
    target_id: UUID
    account_id: UUID | None = None


class SendRuleChange(BaseModel):
    """The fields to change; omitted ones stay. A rule that is on cannot be changed.

    An `account_id` of null lets any account send that can.
    """

    name: str | None = None
    query: str | None = Field(default=None, max_length=MAX_QUERY_LENGTH)
    target_id: UUID | None = None
    account_id: UUID | None = None

    @property
    def typed(self) -> dict[str, Any]:
        """The fields that were given; only an account can be none."""
        given = self.model_dump(exclude_unset=True)
        return {name: value for name, value in given.items() if value is not None or name == "account_id"}


class SwitchOn(BaseModel):
    """What is sent."""

    backfill: bool = Field(default=False, description="Send what is there, too; else only what arrives.")


@routes.get("/library/send-rules", door=scope("read"), tags=["library"])
async def list_all(site: CurrentSite) -> SendRulesAnswer:
    """List the rules that send things on, and what became of what they sent."""
    async with site.transaction() as tx:
        return SendRulesAnswer(rules=await rules.list_rules(tx))


@routes.post("/library/send-rules", door=scope("admin"), status_code=201, tags=["library"])
async def add(site: CurrentSite, caller: CurrentCaller, body: SendRuleWish) -> StoredSendRule:
    """Add a rule, which is off."""
    rule = NewSendRule(**body.model_dump(), user_id=caller.user_id)
    async with site.transaction() as tx:
        return await rules.add_rule(tx, rule, ids=site.parts.ids, now=site.parts.clock.now())


@routes.post("/library/send-rules/try", door=scope("admin"), tags=["library"])
async def try_one(site: CurrentSite, body: SendRuleWish) -> SendTrial:
    """Show how many of the newest items a rule would send; nothing is sent."""
    async with site.transaction() as tx:
        return await rules.try_rule(tx, NewSendRule(**body.model_dump()))


@routes.patch("/library/send-rules/{rule_id}", door=scope("admin"), tags=["library"])
async def edit(site: CurrentSite, rule_id: UUID, body: SendRuleChange) -> StoredSendRule:
    """Change a rule that is off."""
    async with site.transaction() as tx:
        return await rules.edit_rule(tx, rule_id, body.typed)


@routes.post("/library/send-rules/{rule_id}/on", door=scope("admin"), tags=["library"])
async def switch_on(site: CurrentSite, rule_id: UUID, body: SwitchOn) -> StoredSendRule:
    """Send what arrives from now on; with `backfill` also what is there."""
    async with site.transaction() as tx:
        return await rules.switch_on(tx, rule_id, backfill=body.backfill, now=site.parts.clock.now())


@routes.post("/library/send-rules/{rule_id}/off", door=scope("admin"), tags=["library"])
async def switch_off(site: CurrentSite, rule_id: UUID) -> StoredSendRule:
    """Send nothing more; what was asked for is still sent."""
    async with site.transaction() as tx:
        return await rules.switch_off(tx, rule_id)


@routes.delete("/library/send-rules/{rule_id}", door=scope("admin"), status_code=204, tags=["library"])
async def remove(site: CurrentSite, rule_id: UUID) -> None:
    """Remove a rule; what it sent stays where it is."""
    async with site.transaction() as tx:
        await rules.remove_rule(tx, rule_id)
