"""Accounts on platforms, and the pace at which they send."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel

from headgate.domain.pacing import Cause
from headgate.outflow.sending.pace import PaceWish, SendingPace, change_pace, get_account, get_pace
from headgate.storage.channels.channels import AccountState, list_accounts
from headgate.storage.lanes.lanes import LaneChange
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite, Site

routes = Routes("/api/v1", in_schema=True)


class AccountAnswer(BaseModel):
    """One login on a platform."""

    id: UUID
    platform: str
    name: str
    state: AccountState
    state_reason: str
    established: bool


class AccountsAnswer(BaseModel):
    accounts: list[AccountAnswer]


class LaneAnswer(BaseModel):
    """The pace of an account; rates are messages a minute."""

    ceiling: float
    burst: int
    daily_cap: int | None
    established: bool
    pinned: bool
    rate_at: datetime
    rate_cause: Cause
    warm_days: int
    cool_down_s: float
    used_today: int


class PaceAnswer(BaseModel):
    """How an account sends; without `lane` it has not sent yet."""

    account_id: UUID
    account_name: str
    rate: float | None
    lane: LaneAnswer | None
    group_concurrency: int | None
    groups_at_once: int
    changes: list[LaneChange]

    @classmethod
    def of(cls, pace: SendingPace, site: Site) -> PaceAnswer:
        groups = pace.group_concurrency or site.parts.group_concurrency
        return cls.model_validate({**vars(pace), "groups_at_once": groups}, from_attributes=True)


class PaceBody(BaseModel):
    """The fields to change; omitted ones stay."""

    per_minute: float | None = None
    burst: int | None = None
    daily_cap: int | Literal["none"] | None = None
    groups: int | Literal["default"] | None = None
    established: bool | None = None
    """In use for long: full pace at once, no slow start."""


@routes.get("/accounts", door=scope("read"), tags=["accounts"])
async def list_all(site: CurrentSite) -> AccountsAnswer:
    """List the accounts on platforms."""
    async with site.transaction() as tx:
        found = await list_accounts(tx)
    answers = [AccountAnswer.model_validate(account, from_attributes=True) for account in found]
    return AccountsAnswer(accounts=answers)


@routes.get("/accounts/{account_id}/pace", door=scope("read"), tags=["accounts"])
async def show_pace(site: CurrentSite, account_id: UUID) -> PaceAnswer:
    """Show how fast an account sends, why, and how that changed."""
    async with site.transaction() as tx:
        account = await get_account(tx, account_id)
        return PaceAnswer.of(await get_pace(tx, account, site.parts.plans_of), site)


@routes.post("/accounts/{account_id}/pace", door=scope("admin"), tags=["accounts"])
async def set_pace(site: CurrentSite, account_id: UUID, body: PaceBody) -> PaceAnswer:
    """Set how fast an account sends; takes effect at once, and defaults no longer change it."""
    async with site.transaction() as tx:
        account = await get_account(tx, account_id)
        await change_pace(
            tx, account, PaceWish(**body.model_dump()), site.parts.plans_of, now=site.parts.clock.now()
        )
        return PaceAnswer.of(await get_pace(tx, account, site.parts.plans_of), site)
