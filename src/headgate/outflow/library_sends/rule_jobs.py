"""Lets rules send: items that arrived or changed, and with backfill everything, a batch at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.jobs.execution import REST
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.outflow.library_sends.rules import SEND_RULES_CHANGED, apply_rule
from headgate.storage.database import Tx
from headgate.storage.events import publish
from headgate.storage.library_sends import rule_queue, rules

KIND = "send_rule"
NEW = "new"
"""The key of the job for what arrived or changed; the others are ids of rules."""
BATCH = 200
"""Changes or items that one job takes."""
MAX_OPEN = 500
"""Requests of one rule that wait; backfilling goes on when some have ended."""
PAUSE = timedelta(seconds=30)
PRIORITY = -1


class SendRuleRows:
    """What rules have to look at, as the work of the kind `send_rule`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await rules.list_due(tx, now=now, rested_since=now - REST, limit=limit)

    async def postpone(self, tx: Tx, key: str, *, until: datetime, now: datetime) -> None:
        """Nothing to do: `list_due` leaves it alone for a while after its dead letter."""

    async def reopen(self, tx: Tx, key: str, *, now: datetime) -> None:
        """Nothing to do: what is to be looked at still waits."""


@dataclass
class SendRules:
    """Asks for what rules send."""

    clock: Clock
    ids: Ids

    def kind(self) -> Kind[str]:
        return Kind(KIND, str, self.apply, SendRuleRows(), priority=PRIORITY)

    async def apply(self, job: Job[str]) -> None:
        """Look at the next batch; wake a successor if more is left."""
        async with job.finish() as tx:
            # One at a time: two jobs would each find that a thing, or its copy, is not in the target yet.
            await rules.lock_rules(tx)
            if job.key == NEW:
                more = await self._apply_to_changed(tx)
            else:
                more = await self._backfill(tx, UUID(job.key))
            if more:
                await enqueue(tx, [Wake(KIND, job.key, PRIORITY)])

    async def _apply_to_changed(self, tx: Tx) -> bool:
        queued = await rule_queue.list_queued(tx, limit=BATCH)
        await rule_queue.delete_queued(tx, queued)
        changed = sorted({item_id for one in queued for item_id in one.item_ids})
        now = self.clock.now()
        for rule in await rules.list_rules(tx):
            if rule.enabled and changed:
                await apply_rule(tx, rule, changed, ids=self.ids, now=now)
        return len(queued) == BATCH

    async def _backfill(self, tx: Tx, rule_id: UUID) -> bool:
        """Go through the next items that were there before; pause while many requests wait."""
        sweep = await rules.get_sweep(tx, rule_id)
        found = await rules.list_rules(tx, rule_id=rule_id)
        if sweep is None or not found:
            return False
        now = self.clock.now()
        if await rules.count_open(tx, rule_id, cap=MAX_OPEN) >= MAX_OPEN:
            await rules.advance_sweep(tx, rule_id, sweep, after=sweep.sweep_after, due_at=now + PAUSE)
            return False
        item_ids = await rules.list_items(tx, after=sweep.sweep_after, limit=BATCH)
        await apply_rule(tx, found[0], item_ids, ids=self.ids, now=now)
        if len(item_ids) < BATCH:
            await rules.end_sweep(tx, rule_id, sweep)
            await publish(tx, SEND_RULES_CHANGED)
            return False
        await rules.advance_sweep(tx, rule_id, sweep, after=item_ids[-1], due_at=now)
        return True
