"""One attempt of a scan: what its job reads, and the scan as the final transaction finds it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from headgate.domain.streams.coverage import Hole, Tip
from headgate.domain.streams.messages import Span
from headgate.domain.streams.rules import ChannelRules
from headgate.lanes.links import AccountRef
from headgate.storage.streams.scans import Scan
from headgate.storage.streams.streams import LockedStream


@dataclass(frozen=True)
class ScanAttempt:
    """What a job is about to do: read a hole below a bound, or nothing if there is none to be read now."""

    scan: Scan
    account: AccountRef
    bound: int
    hole: Hole | None
    began_at: datetime


@dataclass(frozen=True)
class HeldScan:
    """A scan and its stream that the finishing transaction has to itself, as they are now."""

    scan: Scan
    stream: LockedStream
    rules: ChannelRules
    now: datetime
    seen_bound: int | None
    """The scan's bound when the attempt began; a different one now means that a person joined."""

    def goal(self, bound: int | None) -> int | None:
        """Return where the scan ends that would end at `bound`; None while it waits for a fresh head."""
        current = self.scan.bound
        if current is None or bound is None or current == self.seen_bound:
            return None if current is None else bound
        return max(current, bound)


def head_is_old(held: HeldScan) -> bool:
    """Tell that a reading takes long, and what is new would wait for it; a head serves a page at least."""
    scan = held.scan
    fetched_at = max(filter(None, (scan.queued_at, scan.head_checked_at, scan.head_asked_at)))
    return held.now - fetched_at > timedelta(seconds=held.rules.schedule.often_s)


def next_tip(scan: Scan, hole: Hole, proven: Span, *, now: datetime, margin_s: float) -> Tip | None:
    """Return what is too young to be proven, now that a page has shown how far it can be."""
    if proven.empty or proven.end < hole.span.end:
        start = hole.span.start if proven.empty else proven.end
        return Tip(start, now + timedelta(seconds=margin_s))
    return None if was_young(scan, hole) else scan.tip


def was_young(scan: Scan, hole: Hole) -> bool:
    """Tell that a hole has waited before because it was too young."""
    return scan.tip is not None and hole.span.end > scan.tip.start


def reader_of(scan: Scan) -> AccountRef | None:
    """Return the account that reads the stream; None while it cannot be used."""
    if scan.account_id is None or scan.account_name is None or scan.account_state != "active":
        return None
    return AccountRef(
        scan.account_id, scan.platform, scan.account_name, bool(scan.established), scan.sign_in or 0
    )


def no_reader(scan: Scan) -> str:
    if scan.account_name is None:
        return "No account can read this channel"
    return f"{scan.account_name}: {scan.state_reason or scan.account_state}"
