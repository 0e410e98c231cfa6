"""Lanes in the database: one row each, shared by every process and machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from headgate.domain.pacing import Cause, LanePlan, LaneState, Pace
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

NOTICES = "headgate_lane"
"""Where a process hears that the stock of a lane is void."""


@dataclass(frozen=True)
class CallsOfDay:
    """Calls of one kind on one day."""

    account_id: UUID
    day: date
    kind: str
    calls: int


@dataclass(frozen=True)
class Want:
    """A request for permits."""

    owner: str
    kind: str
    count: int
    horizon_s: float


@dataclass(frozen=True)
class PermitGrant:
    """The answer to a request for permits; delays count from the moment the database answered."""

    place: int
    delays_s: list[float]
    come_back_s: float | None
    kinds: list[str]
    epochs: list[int]
    rates: list[float]
    grace_s: float


@dataclass(frozen=True)
class Slowed:
    """A lane as a limit signal left it."""

    kind: str
    epoch: int
    rate: float


@dataclass(frozen=True)
class LaneRow:
    """A lane as people see it."""

    owner: str
    kind: str
    shared: str | None
    ceiling: float
    burst: int
    daily_cap: int | None
    established: bool
    pinned: bool
    rate: float
    rate_at: datetime
    rate_cause: Cause
    epoch: int
    warm_days: int
    cool_down_s: float
    next_call_s: float
    used_today: int


@dataclass(frozen=True)
class LaneChange:
    """A change of the pace, and its cause."""

    at: datetime
    from_rate: float
    to_rate: float
    cause: Cause
    cool_until: datetime | None


@dataclass(frozen=True)
class _StateRow:
    ceiling: float
    burst: int
    daily_cap: int | None
    established: bool
    rate: float
    rate_at_s: float
    tat_s: float
    cool_until_s: float
    use_slot: int
    uses: list[int]
    epoch: int
    rate_epoch: int
    warm_days: int
    warm_at_s: float | None

    @property
    def state(self) -> LaneState:
        return LaneState(
            pace=Pace(self.ceiling, self.burst, self.daily_cap),
            established=self.established,
            rate=self.rate,
            rate_at_s=self.rate_at_s,
            tat_s=self.tat_s,
            cool_until_s=self.cool_until_s,
            use_slot=self.use_slot,
            uses=tuple(self.uses),
            epoch=self.epoch,
            rate_epoch=self.rate_epoch,
            warm_days=self.warm_days,
            warm_at_s=self.warm_at_s,
        )


async def take_permits(tx: Tx, wants: Sequence[Want]) -> list[PermitGrant | None]:
    """Take permits for each request in one statement; nothing where there is no such lane.

    The lanes stay locked until the transaction ends, so it should hold nothing else.
    """
    order = sorted(range(len(wants)), key=lambda place: (wants[place].owner, place))
    asked = [wants[place] for place in order]
    found = await tx.all(
        PermitGrant,
        Q["take_permits"],
        owners=[want.owner for want in asked],
        kinds=[want.kind for want in asked],
        counts=[want.count for want in asked],
        horizons_s=[float(want.horizon_s) for want in asked],
    )
    taken: list[PermitGrant | None] = [None] * len(wants)
    for answer in found:
        taken[order[answer.place - 1]] = answer
    return taken


async def signal_limit(
    tx: Tx, *, owner: str, epochs: Mapping[str, int], retry_after_s: float
) -> list[Slowed]:
    """Slow and cool down the lanes that a limited call drew on; return those that changed."""
    return await tx.all(
        Slowed,
        Q["signal_limit"],
        owner=owner,
        kinds=list(epochs),
        epochs=list(epochs.values()),
        retry_after_s=retry_after_s,
    )


async def insert_lanes(tx: Tx, *, owners: Sequence[str], plans: Sequence[LanePlan], established: bool) -> int:
    """Set up the lanes that owners lack; those that exist stay as they are."""
    return await tx.execute(
        Q["insert_lanes"],
        owners=list(owners),
        established=established,
        by_days=[plan.by_day for plan in plans],
        **_columns(plans),
    )


async def change_lanes(
    tx: Tx,
    *,
    owners: Sequence[str],
    plans: Sequence[LanePlan],
    established: bool | None,
    by_person: bool,
) -> int:
    """Bring lanes to new settings and return how many changed; a person's settings outrank defaults."""
    cause: Cause = "adjusted" if by_person else "settings"
    return await tx.execute(
        Q["change_lanes"],
        owners=list(owners),
        established=established,
        by_person=by_person,
        cause=cause,
        **_columns(plans),
    )


async def unpin_lane(tx: Tx, *, owner: str, kind: str) -> None:
    """Forget that a person set a lane's pace; defaults change it again."""
    await tx.execute(Q["unpin_lane"], owner=owner, kind=kind)


async def list_lanes(tx: Tx, *, owner: str | None = None) -> list[LaneRow]:
    """Return all lanes, or one owner's."""
    return await tx.all(LaneRow, Q["list_lanes"], owner=owner)


async def get_real_s(tx: Tx) -> float:
    """Return the time that lanes go by, in seconds."""
    return await tx.value(Q["get_real_s"])


async def list_lane_states(tx: Tx, *, owner: str, kind: str) -> list[LaneState]:
    """Return the lanes that a call draws on, as the pure model has them; none if they are not set up."""
    rows = await tx.all(_StateRow, Q["list_lane_states"], owner=owner, kind=kind)
    return [row.state for row in rows]


async def list_lane_changes(tx: Tx, *, owner: str, kind: str, count: int = 100) -> list[LaneChange]:
    """Return the newest changes of a lane's rate."""
    return await tx.all(LaneChange, Q["list_lane_changes"], owner=owner, kind=kind, count=count)


async def delete_old_lane_changes(tx: Tx, *, keep_s: float) -> int:
    """Forget changes that are older than so many seconds of real time."""
    return await tx.execute(Q["delete_old_lane_changes"], keep_s=keep_s)


async def delete_old_lane_days(tx: Tx, *, keep_s: float) -> int:
    """Forget the calls of days that are older than so many seconds of real time."""
    return await tx.execute(Q["delete_old_lane_days"], keep_s=keep_s)


async def delete_lanes(tx: Tx, *, owner: str) -> int:
    """Forget an owner's lanes, with their history."""
    return await tx.execute(Q["delete_lanes"], owner=owner)


def _columns(plans: Sequence[LanePlan]) -> dict[str, list[Any]]:
    return {
        "kinds": [plan.kind for plan in plans],
        "ceilings": [float(plan.pace.per_minute) for plan in plans],
        "bursts": [plan.pace.burst for plan in plans],
        "daily_caps": [plan.pace.daily_cap for plan in plans],
        "shareds": [plan.shared for plan in plans],
    }


async def list_calls(tx: Tx, *, days: int) -> list[CallsOfDay]:
    """Return the calls of the last days, as their lanes have counted them."""
    return await tx.all(CallsOfDay, Q["list_calls"], days=days)
