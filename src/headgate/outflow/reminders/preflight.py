"""Preflight: what will become of a plan or a run, by the real pace and queue of its account."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from uuid import UUID

from headgate.domain.errors import Elsewhere, UserError
from headgate.domain.pacing import LanePlan, LaneState, Pace
from headgate.domain.reminders.forecast import Forecast, PlannedRun, Queued, advice, forecast
from headgate.domain.reminders.recurrence import next_fire
from headgate.domain.words.forecast_text import in_words
from headgate.domain.words.states import ACCOUNT_TROUBLE
from headgate.kernel.clock import Clock
from headgate.outflow.reminders import reminders
from headgate.outflow.reminders.drafts import Draft, draft_of
from headgate.storage.database import Tx
from headgate.storage.lanes import lanes
from headgate.storage.reminders import preflight
from headgate.storage.reminders.preflight import AbleAccount, Scope
from headgate.storage.sending.run_overview import RunLine

SEND = "send"
LanePlans = Callable[[str], Sequence[LanePlan]]
"""Returns the lanes that an account of a platform gets when it is first opened."""
_UNKNOWN_PACE = Pace(40.0)
"""Where neither a lane nor a connector tells."""
_MAX_NAMES = 3


@dataclass(frozen=True)
class Outlook:
    """The forecast of a reminder or a run, and advice."""

    account_name: str
    zone: str
    targets: int
    """Groups that are still to be reached."""
    messages: int
    queued: int
    """Messages of other runs on the account."""
    forecast: Forecast
    text: str
    advice: tuple[str, ...]

    @property
    def reaches_all(self) -> bool:
        return not self.forecast.targets_unreached


@dataclass(frozen=True)
class Preflight:
    """Looks ahead, from the state that lanes and runs have at this moment."""

    plans_of: LanePlans
    clock: Clock
    slots: int
    """Accounts that send at once, over all workers."""

    async def of_draft(self, tx: Tx, draft: Draft, *, at_once: bool = False) -> Outlook:
        """Forecast the next fire of a draft, or a run of it that begins now."""
        now = self.clock.now()
        if draft.account_id is None:
            raise UserError("A forecast needs an account.", remedy="Choose an account.")
        fire_at = None if at_once else next_fire(draft.schedule, draft.zone, after=now)
        scope = await _scope(tx, draft.account_id, target_ids=draft.targets, list_ids=draft.lists)
        plan = PlannedRun(
            messages=scope.targets * len(draft.parts),
            parts_per_target=max(1, len(draft.parts)),
            window=draft.window,
            at_close=draft.at_close,
            starts_at=fire_at or now,
        )
        others = await preflight.list_queued(tx, draft.account_id)
        seen = await self._foresee(tx, draft.account_id, scope, plan, others, now=now)
        able: list[AbleAccount] = []
        if seen.targets_unreached:
            able = await preflight.list_able_accounts(
                tx, draft.account_id, target_ids=draft.targets, list_ids=draft.lists
            )
        return _outlook(scope, plan, seen, others, able)

    async def of_reminder(self, tx: Tx, reminder_id: UUID, *, at_once: bool = False) -> Outlook:
        """Forecast the next fire of a reminder, or a run of it that begins now."""
        return await self.of_draft(tx, draft_of(await reminders.get(tx, reminder_id)), at_once=at_once)

    async def of_run(self, tx: Tx, run: RunLine) -> Outlook | None:
        """Forecast the rest of a run under way; nothing if it has ended or lost its account."""
        if not run.active or run.account_id is None:
            return None
        now = self.clock.now()
        scope = await _scope(tx, run.account_id)
        unsent = await preflight.count_unsent(tx, run.id)
        plan = PlannedRun(
            messages=unsent.messages,
            # What was begun has fewer messages left; the groups are what people count.
            parts_per_target=max(1, -(-unsent.messages // max(1, unsent.targets))),
            window=run.window,
            at_close=run.at_close,
            starts_at=max(now, run.opens_at),
        )
        others = await preflight.list_queued(tx, run.account_id, run_id=run.id)
        seen = await self._foresee(tx, run.account_id, scope, plan, others, now=now)
        able: list[AbleAccount] = []
        if seen.targets_unreached:
            able = await preflight.list_able_accounts(tx, run.account_id, run_id=run.id)
        return _outlook(scope, plan, seen, others, able)

    async def _foresee(
        self,
        tx: Tx,
        account_id: UUID,
        scope: Scope,
        plan: PlannedRun,
        others: Sequence[Queued],
        *,
        now: datetime,
    ) -> Forecast:
        """Step every lane that a message draws on, and believe the slowest."""
        now_s = await lanes.get_real_s(tx)
        states = await lanes.list_lane_states(tx, owner=str(account_id), kind=SEND)
        busy = 1 + await preflight.count_busy_accounts(tx, account_id, now=now)
        seen = [
            forecast(
                state.slowed(min(1.0, self.slots / busy)),
                now=now,
                mine=plan,
                others=others,
                pace_of_clock=self.clock.speed,
                lane_now_s=now_s,
            )
            for state in states or self._first_states(scope, now_s)
        ]
        return replace(max(seen, key=_lateness), accounts_at_once=busy if busy > self.slots else 0)

    def _first_states(self, scope: Scope, now_s: float) -> list[LaneState]:
        """Return the lanes that the account will have when it is first opened."""
        try:
            plans = {plan.kind: plan for plan in self.plans_of(scope.platform)}
        except Elsewhere:
            plans = {}
        send = plans.get(SEND, LanePlan(SEND, _UNKNOWN_PACE))
        drawn = [send, *([plans[send.shared]] if send.shared in plans else [])]
        return [LaneState.created(plan.pace, established=scope.established, at_s=now_s) for plan in drawn]


async def _scope(
    tx: Tx, account_id: UUID, *, target_ids: Sequence[UUID] = (), list_ids: Sequence[UUID] = ()
) -> Scope:
    scope = await preflight.get_scope(tx, account_id, target_ids=target_ids, list_ids=list_ids)
    if scope is None:
        raise UserError("There is no such account.", command="headgate account list")
    return scope


def _lateness(seen: Forecast) -> tuple[int, float]:
    return seen.targets_unreached, inf if seen.ends_at is None else seen.ends_at.timestamp()


def _outlook(
    scope: Scope, plan: PlannedRun, seen: Forecast, others: Sequence[Queued], able: Sequence[AbleAccount]
) -> Outlook:
    names = [account.name for account in able if account.targets >= seen.targets_unreached]
    queued = sum(other.messages for other in others)
    text = in_words(seen, plan, queued=queued)
    if scope.state != "active":
        why = f" ({scope.state_reason.rstrip('.')})" if scope.state_reason else ""
        trouble = f"{scope.account_name} {ACCOUNT_TROUBLE[scope.state]}{why}"
        text = f"Nothing is sent while {trouble}. If it could: {text}"
    return Outlook(
        account_name=scope.account_name,
        zone=plan.window.zone,
        targets=plan.targets,
        messages=plan.messages,
        queued=queued,
        forecast=seen,
        text=text,
        advice=tuple(advice(seen, plan, names[:_MAX_NAMES])),
    )
