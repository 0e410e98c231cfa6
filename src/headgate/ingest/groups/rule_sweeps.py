"""Applies a rule that was switched on to what is there, or dissolves the groups of one that was switched off.

A batch at a time: items that may match are written anew, and writing them lets them join their groups as it
does for what arrives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.catalogue.groups.rules import GROUP_RULES_CHANGED, dissolve_untouched
from headgate.domain.library.group_rules import find_shared
from headgate.jobs.execution import REST
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.groups import rules
from headgate.storage.groups.rules import OpenItem, RuleSweep
from headgate.storage.shelf.rule_groups import list_roots
from headgate.storage.shelf.touched import touch_items

KIND = "group_rule"
BATCH = 500
PRIORITY = -1
"""Whatever else is due goes first; what waits long ages."""
_PAUSE_EVERY = 100


class SweptRules:
    """Rules that a person has switched, as the work of the kind `group_rule`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await rules.list_swept_rules(tx, limit=limit, rested_since=now - REST)

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        """Nothing to do: `list_due` leaves the rule alone for a while after its dead letter."""

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        """Nothing to do: what is to be done still waits."""


@dataclass
class RuleSweeping:
    """Goes through items or groups, a batch at a time."""

    clock: Clock

    def kind(self) -> Kind[UUID]:
        return Kind(KIND, UUID, self.sweep, SweptRules(), priority=PRIORITY)

    async def sweep(self, job: Job[UUID]) -> None:
        """Do the next batch of a rule; wake a successor if more is left."""
        async with job.database.transaction() as tx:
            sweep = await rules.get_sweep(tx, job.key)
            batch: Sequence[OpenItem] = ()
            if sweep is not None and sweep.sweep == "apply":
                batch = await rules.list_open(tx, job.key, after=sweep.sweep_after, limit=BATCH)
        matching = await self._matching(sweep, batch) if sweep is not None else []
        async with job.finish() as tx:
            if sweep is None:
                return
            if sweep.sweep == "dissolve":
                last = await dissolve_untouched(tx, job.key, after=sweep.sweep_after)
            else:
                await _apply(tx, sweep, matching)
                last = batch[-1].id if len(batch) == BATCH else None
            await _advance(tx, job.key, sweep, last)

    async def _matching(self, sweep: RuleSweep, batch: Sequence[OpenItem]) -> list[UUID]:
        """Return the items to write: those whose titles match, and members, which may match no longer."""
        if sweep.kind == "replies":
            return [item.id for item in batch]
        found: list[UUID] = []
        for place, item in enumerate(batch):
            if item.grouped or find_shared(sweep.pattern, item.title) is not None:
                found.append(item.id)
            if place % _PAUSE_EVERY == 0:
                await self.clock.sleep(0)
        return found


async def _apply(tx: Tx, sweep: RuleSweep, item_ids: Sequence[UUID]) -> None:
    if sweep.kind == "replies":
        item_ids = sorted({one.item_id for one in await list_roots(tx, item_ids)}) if item_ids else []
    if item_ids:
        touch_items(tx, item_ids)
        await publish(tx, Event("items"))


async def _advance(tx: Tx, rule_id: UUID, sweep: RuleSweep, last: UUID | None) -> None:
    if last is None:
        await rules.end_sweep(tx, rule_id, sweep)
        await publish(tx, GROUP_RULES_CHANGED)
        return
    await rules.advance_sweep(tx, rule_id, sweep, after=last)
    await enqueue(tx, [Wake(KIND, str(rule_id), PRIORITY)])
