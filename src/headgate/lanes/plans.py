"""The lanes that a connector's manifest asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from headgate.connectors.protocol import CallKind, LaneDefault
from headgate.domain.pacing import LanePlan, Pace


def plan_lanes(
    lanes: Mapping[CallKind, LaneDefault], *, send_per_minute: float | None = None
) -> list[LanePlan]:
    """Return a lane for each kind of call, and one for each budget that several kinds share.

    A shared budget has the widest pace of its kinds: together they may do what one of them may do alone.
    Sends are at most as many a minute as the deployment says, whatever the connector would dare.
    """
    if send_per_minute is not None and "send" in lanes:
        send = lanes["send"]
        lanes = {**lanes, "send": replace(send, per_minute=min(send.per_minute, send_per_minute))}
    budgets: dict[str, list[LaneDefault]] = {}
    for default in lanes.values():
        if default.shared:
            budgets.setdefault(default.shared, []).append(default)
    kinds = [
        LanePlan(kind, _pace(default), _budget_kind(default.shared) if default.shared else None)
        for kind, default in lanes.items()
    ]
    return kinds + [LanePlan(_budget_kind(name), _widest(members)) for name, members in budgets.items()]


def _budget_kind(name: str) -> str:
    return f"budget:{name}"


def _pace(default: LaneDefault) -> Pace:
    return Pace(default.per_minute, default.burst, default.daily_cap)


def _widest(members: Iterable[LaneDefault]) -> Pace:
    members = list(members)
    caps = [member.daily_cap for member in members]
    return Pace(
        per_minute=max(member.per_minute for member in members),
        burst=max(member.burst for member in members),
        daily_cap=None if None in caps else max(cap for cap in caps if cap is not None),
    )
