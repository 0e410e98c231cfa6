"""Hosts that fail are left alone as one: five failed looks at any of their listings, then one probe."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from headgate.domain.breaker import fail, state_of
from headgate.domain.errors import Absent, RateLimited, Transient, WorkError, error_class
from headgate.domain.pacing import ComeBackLater
from headgate.storage.database import Database, Tx
from headgate.storage.lanes import lanes
from headgate.storage.listings import hosts
from headgate.storage.listings.hosts import HostName

TRIES = 3
PROBE_S = 120.0
"""How long one probe of a host excludes others."""


async def claim_probe(database: Database, host: HostName, *, now: datetime) -> bool:
    """Take the one try that a half-open host gets; false if somebody else has it."""
    async with database.transaction() as tx:
        return await hosts.claim_probe(tx, host, until=now + timedelta(seconds=PROBE_S), now=now)


def may_retry(error: WorkError, *, attempt: int, host_failures: int) -> bool:
    """Return whether a retry in seconds may help: no other poll has failed at this host."""
    return error.retryable and attempt < TRIES and host_failures <= (0 if attempt == 1 else 1)


async def note_failure(
    tx: Tx, host: HostName, error: WorkError, *, attempt: int, probing: bool, now: datetime
) -> datetime | None:
    """Count a failed look against its host, if it is the host's; returns until when it is left alone.

    A look is counted at its first failed try: so many listings that are due at once cannot all try before
    the first of them has given up. Calls that were under way when the breaker opened say nothing new.
    """
    breaker = await hosts.lock_host(tx, host)
    if isinstance(error, Absent) or not isinstance(error, Transient):
        return None
    if probing or (attempt == 1 and state_of(breaker, now=now) != "open"):
        breaker = fail(breaker, now=now)
        await hosts.fail_host(
            tx, host, breaker, error_class=error_class(error), error_message=str(error), now=now
        )
    return breaker.open_until


@dataclass(frozen=True)
class Wait:
    """Why a poll waits for its host, and how far apart those that wait are."""

    reason: Literal["paced", "limited"]
    """We ask no faster, or the host asked us to wait."""
    apart_s: float


async def explain_wait(tx: Tx, host: HostName, error: RateLimited) -> Wait:
    """Tell why the host's lane has no room now, and at which pace it has some."""
    found = {lane.kind: lane for lane in await lanes.list_lanes(tx, owner=host.lane_owner)}
    lane = found.get("list")
    if lane is None:
        return Wait("limited", 0.0)
    drawn = [lane, *(found[kind] for kind in found if kind == lane.shared)]
    asked_to = not isinstance(error, ComeBackLater) or any(one.cool_down_s for one in drawn)
    return Wait("limited" if asked_to else "paced", 60.0 / min(one.rate for one in drawn))
