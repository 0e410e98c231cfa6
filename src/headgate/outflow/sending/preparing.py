"""The targets of a batch, and the preparation that some platforms need before a first send."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headgate.connectors.protocol import Link
from headgate.domain.errors import RateLimited, WorkError
from headgate.domain.pacing import Permit, PermitVoid
from headgate.lanes import Lanes
from headgate.lanes.links import AccountRef, Links
from headgate.outflow.sending.permits import PermitPool
from headgate.storage.sending.sending import Share

MAX_KNOWN = 50_000


@dataclass(eq=False)
class Group:
    """One target's unsent messages in their order."""

    shares: deque[Share]
    ready_at_s: float
    in_flight: bool = False
    failures: int = 0
    """How often its preparation failed in this batch."""

    @property
    def next(self) -> Share:
        return self.shares[0]


def group_shares(shares: Sequence[Share], *, loaded_at_s: float) -> list[Group]:
    """Return messages by target, each ready when its first message may go."""
    groups: dict[int, Group] = {}
    for share in shares:
        if share.delivery not in groups:
            wait_s = max(share.settles_in_s or 0.0, share.retry_in_s or 0.0)
            groups[share.delivery] = Group(deque(), loaded_at_s + wait_s)
        groups[share.delivery].shares.append(share)
    return list(groups.values())


@dataclass(frozen=True)
class Preparation:
    """Which targets are prepared, and which cannot be; or that the pace asks to come back later."""

    prepared: set[str]
    errors: Mapping[str, WorkError]
    come_back: RateLimited | None = None


@dataclass
class Preparing:
    """Prepares targets once for as long as a connection lasts."""

    account: AccountRef
    links: Links
    lanes: Lanes
    link: Link
    permits: PermitPool | None
    """Its permits; none where nothing needs to be prepared."""
    known: set[str]

    def knows(self, target: str) -> bool:
        """Tell whether a target is prepared, or need not be."""
        return self.permits is None or target in self.known

    async def prepare(self, targets: Sequence[str], *, left: int) -> Preparation:
        """Prepare those that are not yet, as many as the pace allows now; `left` more may follow."""
        new = [target for target in targets if target not in self.known]
        if self.permits is None or not new:
            return Preparation(set(targets), {})
        ready = {target for target in targets if target in self.known}
        if not self.permits.in_hand() and (late := await self.permits.fill(left)):
            return Preparation(ready, {}, None if ready else RateLimited(retry_after_s=late.delay_s))
        permits = [self.permits.take() for _ in self.permits.in_hand(len(new))]
        pairs = list(zip(new, permits, strict=False))
        answers = await asyncio.gather(*(self._prepare_one(target, permit) for target, permit in pairs))
        errors = {target: error for (target, _), error in zip(pairs, answers, strict=True) if error}
        done = {target for target, _ in pairs} - errors.keys()
        if len(self.known) > MAX_KNOWN:
            self.known.clear()
        self.known |= done
        limits = [error for error in errors.values() if isinstance(error, RateLimited)]
        return Preparation(
            ready | done, errors, max(limits, key=lambda limit: limit.retry_after_s, default=None)
        )

    async def _prepare_one(self, target: str, permit: Permit) -> WorkError | None:
        try:
            await self.lanes.wait(permit)
            self.lanes.spend(permit)
            await self.link.prepare(target)
        except PermitVoid:
            return RateLimited("the permit came too late", retry_after_s=1.0)
        except Exception as error:  # noqa: BLE001 - whatever a connector raises is classified
            meaning = self.links.classify(self.account, error)
            self.links.note_call(self.account, "prepare", meaning)
            if isinstance(meaning, RateLimited):
                await self.lanes.signal_limit(permit, retry_after_s=meaning.retry_after_s)
            return meaning
        self.links.note_call(self.account, "prepare")
        return None
