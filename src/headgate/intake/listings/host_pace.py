"""Actions on the hosts of feeds and series: set how often one is asked."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from headgate.domain.errors import Elsewhere, NotFound, UserError
from headgate.domain.pacing import LanePlan, Pace
from headgate.kernel.clock import Clock
from headgate.lanes.links import Links
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.lanes import lanes
from headgate.storage.listings import hosts
from headgate.storage.listings.hosts import HostName
from headgate.storage.listings.listing_overview import HostState, list_hosts

LIST = "list"
MAX_PER_MINUTE = 60_000.0


async def get_host(tx: Tx, typed: str) -> HostState:
    """Return a host by its name, or by platform/name."""
    platform, _, name = typed.rpartition("/")
    found = [one for one in await list_hosts(tx, name=name) if platform in ("", one.platform)]
    if not found:
        raise NotFound(
            f"There is no site {typed!r}.",
            remedy="Choose one from the list of sites.",
            command="headgate hosts",
        )
    if len(found) > 1:
        named = ", ".join(f"{one.platform}/{one.name}" for one in found)
        raise UserError(f"Several platforms have a site {name!r}.", remedy=f"Name one of: {named}.")
    return found[0]


async def set_host_pace(
    tx: Tx, links: Links, found: HostState, *, per_minute: float | None, clock: Clock
) -> HostState:
    """Set how many requests a minute a host gets; None goes back to the default.

    Checks that wait for the host's pace are planned anew at once.
    """
    host = HostName(found.platform, found.name)
    planned = {plan.kind: plan for plan in _plans(links, host)}
    if LIST not in planned:
        raise UserError(
            f"{host.name} cannot be checked: this installation has no connector for {host.platform}.",
            remedy="Install the connector first.",
        )
    plan = planned[LIST]
    if per_minute is not None:
        _check(per_minute, budget=planned.get(plan.shared) if plan.shared else None)
    owner = host.lane_owner
    await lanes.insert_lanes(tx, owners=[owner], plans=list(planned.values()), established=True)
    if per_minute is None:
        pace = plan.pace
        await lanes.unpin_lane(tx, owner=owner, kind=LIST)
    else:
        (lane,) = [one for one in await lanes.list_lanes(tx, owner=owner) if one.kind == LIST]
        pace = Pace(per_minute, lane.burst, lane.daily_cap)
    await lanes.change_lanes(
        tx,
        owners=[owner],
        plans=[replace(plan, pace=pace)],
        established=None,
        by_person=per_minute is not None,
    )
    apart = timedelta(seconds=60.0 / pace.per_minute * clock.speed)
    await hosts.respace_listings(tx, host, apart=apart, now=clock.now())
    await publish(tx, Event("series"))
    return await get_host(tx, str(host))


def _plans(links: Links, host: HostName) -> list[LanePlan]:
    try:
        return links.host_plans(host.platform)
    except Elsewhere:
        return []


def _check(per_minute: float, *, budget: LanePlan | None) -> None:
    most = MAX_PER_MINUTE if budget is None else budget.pace.per_minute
    if not 0 < per_minute <= most:
        raise UserError(
            f"The pace of a site must be above 0 and at most {most:,.0f} requests a minute.",
            field="per_minute",
        )
