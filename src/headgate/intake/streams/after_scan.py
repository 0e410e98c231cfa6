"""What follows a scan: its row becomes history, and its stream goes back to the schedule.

Everything is decided under the stream's lock: what was heard or became wanted during the scan is what is not
covered now, so no wake-up can be lost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from headgate.connectors.protocol import Manifest
from headgate.domain.streams.rules import ChannelRules
from headgate.domain.streams.schedule import (
    JITTER,
    DueReason,
    Reason,
    StreamFacts,
    decayed_rate,
    interval_s,
    next_verify_s,
    stream_tier,
)
from headgate.intake.streams.scan_attempt import HeldScan
from headgate.kernel.randomness import Randomness
from headgate.lanes.links import Links
from headgate.storage.database import Tx
from headgate.storage.streams import scans, streams
from headgate.storage.streams.scans import Ending, Idleness, Scan

MIN_WAIT_S = 2.0
"""How soon after a scan the next one reads what came meanwhile: long enough for a burst to be one reading."""


@dataclass
class AfterScan:
    """Ends scans and plans the next look."""

    links: Links
    randomness: Randomness

    async def succeed(self, tx: Tx, scan: Scan, rules: ChannelRules, *, now: datetime) -> None:
        """End a scan that has read what it was to read, and plan the next look by what it found."""
        state = await scans.get_idleness(tx, scan.channel_id)
        checked = (await streams.check_streams(tx, [scan.channel_id], now=now)).get(scan.channel_id)
        if state is None or checked is None:
            return
        await scans.end_scan(tx, scan.scan_id, status="SUCCEEDED", error_message="", now=now)
        await scans.settle_sample(tx, scan)
        empty = scan.messages == 0 and scan.items == 0
        # An empty scan that a person asked for says nothing about how often to check.
        idle = empty and not checked.failing and scan.trigger == "schedule"
        manifest = self.links.manifest(scan.platform)
        idle_scans = state.idle_scans + int(idle) if empty and not checked.failing else 0
        facts = _facts(state, idle_scans=idle_scans, live=state.live and manifest.live != "none", now=now)
        verify_s = _verify_s(scan, state, facts, rules, manifest)
        rest_s = self.randomness.jittered(interval_s(facts, rules.schedule), part=JITTER)
        # A request for one page or one direction is done; the schedule reads the rest.
        behind = checked.behind and scan.auto_continue and scan.direction == "both"
        if behind:
            rest_s = max(manifest.settle_margin_s, MIN_WAIT_S, verify_s or 0.0)
        due_at, reason = now + timedelta(seconds=rest_s), "woken" if behind else "caught_up"
        settled_at = _settled_at(scan, manifest)
        if settled_at is not None and not behind and settled_at < due_at:
            due_at, reason = max(settled_at, now), "settling"
        next_try_at = await streams.next_hole_try(tx, scan.channel_id) if checked.failing else None
        if next_try_at is not None and next_try_at < due_at:
            due_at, reason = max(next_try_at, now), "retry"
        await scans.plan_after_scan(
            tx,
            scan.channel_id,
            due_at=due_at,
            reason=reason,
            scanned_at=now,
            idle_scans=facts.idle_scans,
            verify_s=verify_s,
            idle_at=now if idle else None,
            tier=facts.tier,
            woken=behind,
            now=now,
        )

    async def stop(
        self,
        tx: Tx,
        held: HeldScan,
        status: Ending,
        message: str,
        *,
        due_at: datetime | None,
        reason: DueReason | Reason,
    ) -> None:
        """End a scan that cannot go on; what it has read stays read."""
        scan, now = held.scan, held.now
        await scans.settle_sample(tx, scan)
        await scans.end_scan(tx, scan.scan_id, status=status, error_message=message, now=now)
        await scans.plan_after_scan(
            tx,
            scan.channel_id,
            due_at=due_at,
            scanned_at=now if scan.pages else None,
            idle_scans=0,
            idle_at=None,
            tier=None,
            woken=False,
            reason=reason,
            now=now,
        )


def _settled_at(scan: Scan, manifest: Manifest) -> datetime | None:
    """Return when a head shows all that was posted before a person asked.

    A new message may be invisible for as long as the platform's settle margin. None if nobody asked, or if
    such a head was fetched already.
    """
    if scan.trigger == "schedule" or scan.direction == "backward":
        return None
    asked_at = max(scan.queued_at, scan.head_asked_at or scan.queued_at)
    settled_at = asked_at + timedelta(seconds=manifest.settle_margin_s)
    fetched = scan.head_checked_at is not None and scan.head_checked_at >= settled_at
    return None if fetched else settled_at


def _verify_s(
    scan: Scan, state: Idleness, facts: StreamFacts, rules: ChannelRules, manifest: Manifest
) -> float | None:
    """Return how long hints are gathered from now on; None where a scan says nothing about the listener."""
    if not facts.live or manifest.live != "hint" or scan.reason not in {"woken", "changed"}:
        return None
    return next_verify_s(
        state.verify_s,
        # What was heard is stored already: whatever a reading stores for the first time was missed.
        missed=scan.items > 0,
        shortest_s=manifest.settle_margin_s,
        polling_s=interval_s(replace(facts, live=False), rules.schedule),
        longest_s=rules.schedule.live_s,
    )


def _facts(state: Idleness, *, idle_scans: int, live: bool, now: datetime) -> StreamFacts:
    rate = decayed_rate(state.arrival_rate, rated_at=state.rated_at, now=now)
    return StreamFacts(
        enabled=True,
        waiting=None,
        scanned=True,
        woken=False,
        behind=False,
        fresh=True,
        idle_scans=idle_scans,
        idle_at=None,
        checked_at=now,
        tier=state.tier if state.tier_pinned else stream_tier(rate),
        live=live,
    )
