"""Lanes: everything that calls outside takes a permit first.

The pace is kept in the database; this is a process's way to it. A permit's time is counted on the monotonic
clock, from the answer for the earliest moment and from the question for the latest, so that the time on the
wire can only shorten a permit's life, never lengthen it.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from headgate.domain.errors import RateLimited
from headgate.domain.pacing import (
    HORIZON_S,
    ComeBack,
    ComeBackLater,
    LanePlan,
    Permit,
    PermitVoid,
    Refusal,
    UnknownLane,
    refuse,
)
from headgate.kernel.clock import Clock
from headgate.kernel.logs import get_logger
from headgate.lanes import measures
from headgate.storage.database import Database
from headgate.storage.gathering import Gatherer
from headgate.storage.lanes import lanes as rows

log = get_logger("lanes")

MAX_AHEAD = 16
MAX_COOL_DOWN_S = 30 * 86_400.0
_Asked = tuple[rows.Want, float | None]
"""What is asked for, and until when its window is open."""
_PAUSE_S = 1.0
"""When the answer took so long that its permits were void on arrival, asking again at once would not help."""


class Lanes:
    """The lanes as one process sees them."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.database = database
        self.clock = clock
        self._epochs: dict[str, dict[str, int]] = {}
        self._takes = Gatherer(self._take)

    async def ensure(self, owner: str, plans: Sequence[LanePlan], *, established: bool) -> None:
        """Set up an account's lanes; existing ones keep their state and a person's settings."""
        await self.ensure_all([owner], plans, established=established)

    async def ensure_all(
        self, owners: Sequence[str], plans: Sequence[LanePlan], *, established: bool
    ) -> None:
        """Set up the same lanes for many."""
        async with self.database.transaction() as tx:
            await rows.insert_lanes(tx, owners=owners, plans=plans, established=established)
            await rows.change_lanes(tx, owners=owners, plans=plans, established=established, by_person=False)

    async def forget(self, owner: str) -> None:
        """Remove the lanes of an owner that is gone."""
        async with self.database.transaction() as tx:
            await rows.delete_lanes(tx, owner=owner)
        self._epochs.pop(owner, None)

    async def acquire(
        self,
        owner: str,
        kind: str,
        count: int = 1,
        *,
        closes_at_s: float | None = None,
        horizon_s: float = HORIZON_S,
    ) -> list[Permit] | ComeBack:
        """Take permits for up to `count` calls, or learn when there will be room for one.

        `closes_at_s` is the close of a window on the monotonic clock; no permit outlives it. Permits that
        are not used are lost: they are few and short-lived, and handing them back could break the bound.
        """
        if count < 1:
            raise ValueError("ask for one permit at least")
        want = rows.Want(owner, kind, count, horizon_s)
        asked_at_s, grant = await self._takes.ask((want, closes_at_s))
        if grant is None:
            raise UnknownLane(f"there is no lane for {kind} of {owner}")
        self._note_lanes(owner, grant)
        if grant.come_back_s is not None and not grant.delays_s:
            measures.COME_BACKS.labels(kind).inc()
            return ComeBack(grant.come_back_s)
        permits = self._permits(owner, kind, grant, asked_at_s=asked_at_s, closes_at_s=closes_at_s)
        measures.PERMITS.labels(kind).inc(len(permits))
        return permits or ComeBack(_PAUSE_S)

    async def wait(self, permit: Permit) -> None:
        """Wait for the permit's time."""
        began_at_s = now_s = self.clock.monotonic()
        # A timer may ring a moment early.
        while now_s < permit.due_at_s:
            await self.clock.sleep(permit.due_at_s - now_s)
            now_s = self.clock.monotonic()
        measures.wait_of(permit.kind).observe(now_s - began_at_s)

    def refusal(self, permit: Permit) -> Refusal | None:
        """Tell why a permit may not be used now, or nothing."""
        known = self._epochs.get(permit.owner, {})
        return refuse(permit, at_s=self.clock.monotonic(), epochs=known)

    def spend(self, permit: Permit) -> None:
        """Use the permit up right before the call, nothing awaited in between; or raise `PermitVoid`."""
        if refusal := self.refusal(permit):
            measures.REFUSED.labels(permit.kind, refusal).inc()
            raise PermitVoid(refusal)
        permit.spent = True

    @asynccontextmanager
    async def call(
        self,
        owner: str,
        kind: str,
        *,
        closes_at_s: float | None = None,
        patience_s: float = HORIZON_S,
        stock: PermitStock | None = None,
    ) -> AsyncGenerator[Permit, None]:
        """Make one call in the block; wait for its turn before, 5 s at most, else raise `ComeBackLater`.

        Without patience a lane that is not free right now is one to come back to. With a stock, permits are
        taken ahead for the calls that follow.

        A `RateLimited` from the block slows the lane down and goes on to the caller.
        """
        permit = await self._spent_permit(
            owner, kind, closes_at_s=closes_at_s, patience_s=patience_s, stock=stock
        )
        try:
            yield permit
        except ComeBackLater:
            raise
        except RateLimited as error:
            await self.signal_limit(permit, retry_after_s=error.retry_after_s)
            raise

    async def signal_limit(self, permit: Permit, *, retry_after_s: float) -> None:
        """Tell the lanes of a call that the platform limited it."""
        measures.LIMIT_SIGNALS.labels(permit.kind).inc()
        cool_down_s = min(max(retry_after_s, 0.0), MAX_COOL_DOWN_S)
        async with self.database.transaction() as tx:
            slowed = await rows.signal_limit(
                tx, owner=permit.owner, epochs=permit.epochs, retry_after_s=cool_down_s
            )
        for lane in slowed:
            self._note_lane(permit.owner, lane.kind, epoch=lane.epoch, rate=lane.rate)
        log.warning(
            "the platform limits us",
            owner=permit.owner,
            kind=permit.kind,
            retry_after_s=retry_after_s,
            rates={lane.kind: lane.rate for lane in slowed},
        )

    def hear(self, payload: str | None) -> None:
        """Take a notice that the stock of a lane is void; a lost one costs 7 s of stale stock at most."""
        if payload is not None:
            notice = json.loads(payload)
            self._note_epoch(notice["owner"], notice["kind"], notice["epoch"])

    async def _spent_permit(
        self,
        owner: str,
        kind: str,
        *,
        closes_at_s: float | None,
        patience_s: float,
        stock: PermitStock | None,
    ) -> Permit:
        patience_ends_at_s = self.clock.monotonic() + patience_s
        while True:
            permit = stock.take(self) if stock is not None else None
            if permit is None:
                count = stock.wish if stock is not None else 1
                grant = await self.acquire(owner, kind, count, closes_at_s=closes_at_s, horizon_s=patience_s)
                if isinstance(grant, ComeBack):
                    raise ComeBackLater(grant.delay_s)
                permit, *ahead = grant
                if stock is not None:
                    stock.put(ahead)
            now_s = self.clock.monotonic()
            if permit.due_at_s > max(patience_ends_at_s, now_s):
                raise ComeBackLater(permit.due_at_s - now_s)
            await self.wait(permit)
            try:
                self.spend(permit)
            except PermitVoid as void:
                if void.refusal == "closed":
                    raise
                if self.clock.monotonic() >= patience_ends_at_s:
                    raise ComeBackLater(_PAUSE_S) from void
            else:
                return permit

    async def _take(self, asked: Sequence[_Asked]) -> list[tuple[float, rows.PermitGrant | None]]:
        """Take the permits of all who ask at the same moment in one statement."""
        async with self.database.autocommit() as tx:
            asked_at_s = self.clock.monotonic()
            wants = [
                replace(want, horizon_s=min(want.horizon_s, _horizon_s(asked_at_s, closes_at_s)))
                for want, closes_at_s in asked
            ]
            return [(asked_at_s, grant) for grant in await rows.take_permits(tx, wants)]

    def _permits(
        self, owner: str, kind: str, grant: rows.PermitGrant, *, asked_at_s: float, closes_at_s: float | None
    ) -> list[Permit]:
        answered_at_s = self.clock.monotonic()
        epochs = dict(zip(grant.kinds, grant.epochs, strict=True))
        permits = [
            Permit(
                owner=owner,
                kind=kind,
                epochs=epochs,
                due_at_s=answered_at_s + delay_s,
                void_at_s=asked_at_s + delay_s + grant.grace_s,
                closes_at_s=closes_at_s,
            )
            for delay_s in grant.delays_s
        ]
        return [permit for permit in permits if permit.due_at_s <= permit.void_at_s]

    def _note_lanes(self, owner: str, grant: rows.PermitGrant) -> None:
        for kind, epoch, rate in zip(grant.kinds, grant.epochs, grant.rates, strict=True):
            self._note_lane(owner, kind, epoch=epoch, rate=rate)

    def _note_lane(self, owner: str, kind: str, *, epoch: int, rate: float) -> None:
        self._note_epoch(owner, kind, epoch)
        measures.RATE.labels(owner, kind).set(rate)

    def _note_epoch(self, owner: str, kind: str, epoch: int) -> None:
        known = self._epochs.setdefault(owner, {})
        known[kind] = max(known.get(kind, 0), epoch)


@dataclass
class PermitStock:
    """Permits of one lane that are taken ahead, for calls that follow each other.

    Twice as many each time as long as all are used; one, after some were void before their calls: those are
    lost to the pace.
    """

    calls_left: int = 1
    """How many calls will follow at most, which their caller sets."""
    _doubled: int = 1
    _permits: deque[Permit] = field(default_factory=deque[Permit])

    @property
    def wish(self) -> int:
        """How many to ask for."""
        return max(1, min(self._doubled, self.calls_left, MAX_AHEAD))

    def take(self, lanes: Lanes) -> Permit | None:
        """Return the next permit that may still be used, if there is one."""
        while self._permits:
            permit = self._permits.popleft()
            if lanes.refusal(permit) in (None, "early"):
                return permit
            self._doubled = 1
        return None

    def put(self, permits: Sequence[Permit]) -> None:
        """Keep what was taken ahead."""
        self._doubled *= 2
        self._permits.extend(permits)


def _horizon_s(asked_at_s: float, closes_at_s: float | None) -> float:
    return HORIZON_S if closes_at_s is None else min(HORIZON_S, max(0.0, closes_at_s - asked_at_s))
