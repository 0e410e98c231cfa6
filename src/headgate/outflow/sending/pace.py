"""The pace at which an account sends: what it is, why it is so, and a person's wish for another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.domain.errors import Elsewhere, NotFound, UserError
from headgate.domain.pacing import LanePlan, Pace
from headgate.outflow.reminders.preflight import SEND, LanePlans
from headgate.outflow.sending.resting import changed_pace
from headgate.storage.channels.channels import Account, list_accounts, set_established
from headgate.storage.database import Tx
from headgate.storage.lanes import lanes
from headgate.storage.lanes.lanes import LaneChange, LaneRow
from headgate.storage.sending import sending

FASTEST = 60_000.0
MAX_BURST = 10_000
MAX_CAP = 1_000_000_000
MAX_GROUPS = 10


@dataclass(frozen=True)
class SendingPace:
    """How an account sends."""

    account_id: UUID
    account_name: str
    lane: LaneRow | None
    """Empty until it is first opened or somebody sets its pace."""
    plan: Pace | None
    """What the connector and the settings give it; empty if this installation has no such connector."""
    rate: float | None
    """Messages a minute now, with what has come back since the lane was last used."""
    group_concurrency: int | None
    """Groups at once; empty for the deployment's number."""
    changes: Sequence[LaneChange]


@dataclass(frozen=True)
class PaceWish:
    """What a person wants changed; what is empty stays as it is."""

    per_minute: float | None = None
    burst: int | None = None
    daily_cap: int | Literal["none"] | None = None
    groups: int | Literal["default"] | None = None
    established: bool | None = None

    @property
    def paces(self) -> bool:
        return self.per_minute is not None or self.burst is not None or self.daily_cap is not None


async def get_account(tx: Tx, account_id: UUID) -> Account:
    for account in await list_accounts(tx):
        if account.id == account_id:
            return account
    raise NotFound("There is no such account.", command="headgate account list")


async def get_pace(tx: Tx, account: Account, plans_of: LanePlans, *, changes: int = 20) -> SendingPace:
    """Return how an account sends, and how it came to that."""
    owner = str(account.id)
    plan = _plans(plans_of, account.platform).get(SEND)
    found = [lane for lane in await lanes.list_lanes(tx, owner=owner) if lane.kind == SEND]
    states = await lanes.list_lane_states(tx, owner=owner, kind=SEND)
    now_s = await lanes.get_real_s(tx)
    return SendingPace(
        account_id=account.id,
        account_name=account.name,
        lane=found[0] if found else None,
        plan=None if plan is None else plan.pace,
        rate=states[0].brought_to(now_s).rate if states else None,
        group_concurrency=(await sending.get_sender(tx, account.id)).group_concurrency,
        changes=await lanes.list_lane_changes(tx, owner=owner, kind=SEND, count=changes),
    )


async def change_pace(
    tx: Tx, account: Account, wish: PaceWish, plans_of: LanePlans, *, now: datetime
) -> None:
    """Set the pace of an account as a person wishes; settings and connectors do not change it any more."""
    _check(wish)
    if wish.paces:
        await _change_lane(tx, account, wish, plans_of)
    if wish.established is not None:
        await _establish(tx, account, plans_of, established=wish.established)
    if wish.groups is not None:
        groups = None if wish.groups == "default" else wish.groups
        await sending.set_group_concurrency(tx, account.id, groups)
    await changed_pace(tx, account.id, now=now)


async def _change_lane(tx: Tx, account: Account, wish: PaceWish, plans_of: LanePlans) -> None:
    owner = str(account.id)
    plans = _plans(plans_of, account.platform)
    await lanes.insert_lanes(tx, owners=[owner], plans=list(plans.values()), established=account.established)
    found = [lane for lane in await lanes.list_lanes(tx, owner=owner) if lane.kind == SEND]
    if not found:
        raise UserError(
            f"{account.name} cannot send: no connector here sends on {account.platform}.",
            remedy="Install its connector first.",
        )
    lane = found[0]
    pace = Pace(lane.ceiling, lane.burst, lane.daily_cap)
    if wish.per_minute is not None:
        pace = replace(pace, per_minute=wish.per_minute)
    if wish.burst is not None:
        pace = replace(pace, burst=wish.burst)
    if wish.daily_cap is not None:
        pace = replace(pace, daily_cap=None if wish.daily_cap == "none" else wish.daily_cap)
    plan = LanePlan(SEND, pace, lane.shared)
    await lanes.change_lanes(tx, owners=[owner], plans=[plan], established=None, by_person=True)


async def _establish(tx: Tx, account: Account, plans_of: LanePlans, *, established: bool) -> None:
    """Let an account send at its full pace from now on, or begin slowly; limits that it has met stay."""
    await set_established(tx, account.id, established=established)
    plans = list(_plans(plans_of, account.platform).values())
    await lanes.change_lanes(
        tx, owners=[str(account.id)], plans=plans, established=established, by_person=False
    )


def _plans(plans_of: LanePlans, platform: str) -> dict[str, LanePlan]:
    try:
        return {plan.kind: plan for plan in plans_of(platform)}
    except Elsewhere:
        return {}


def _check(wish: PaceWish) -> None:
    if wish.per_minute is not None and not 0 < wish.per_minute <= FASTEST:
        raise UserError(
            f"Messages a minute must be above 0 and at most {FASTEST:,.0f}.", remedy="40 is usual."
        )
    if wish.burst is not None and not 2 <= wish.burst <= MAX_BURST:
        raise UserError(f"A burst is 2 to {MAX_BURST:,} messages.", remedy="3 is usual.")
    if isinstance(wish.daily_cap, int) and not 1 <= wish.daily_cap <= MAX_CAP:
        raise UserError(f"A daily cap is 1 to {MAX_CAP:,}.", remedy="Give `none` to have no cap.")
    if isinstance(wish.groups, int) and not 1 <= wish.groups <= MAX_GROUPS:
        raise UserError(f"An account sends to 1 to {MAX_GROUPS} groups at once.", remedy="3 is usual.")
