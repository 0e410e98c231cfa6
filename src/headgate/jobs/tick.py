"""The tick: due rows without a job get one, whatever was lost on the way.

A NOTIFY is a hint, the tick is the truth. One process at a time ticks, under a lease.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from headgate.domain.errors import Transient
from headgate.jobs import measures
from headgate.jobs.execution import Picked, bury_job
from headgate.jobs.job import Claim
from headgate.jobs.kinds import Kind, Kinds, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.logs import get_logger
from headgate.storage.database import Database, Tx
from headgate.storage.errors import Refused
from headgate.storage.jobs import dead_letters, engine
from headgate.storage.jobs.clock_repair import ClockSteps, repair_clock_rewind
from headgate.storage.lanes import breakers
from headgate.storage.together import ask_together

log = get_logger("jobs")

DUE_AT_ONCE = 500
"""Rows of a kind that are woken in one transaction at most."""
MAX_QUEUED = 2000
"""So many waiting jobs of a kind, and the tick adds none: who is due stays due, and looking stays cheap."""
AGE_AFTER_S = 30.0
CHECK_EVERY_S = 10.0


@dataclass
class Tick:
    """Turns due rows into jobs, and tidies what crashes leave behind."""

    kinds: Kinds
    database: Database
    clock: Clock
    ids: Ids
    _checked_at: float = float("-inf")

    async def tick(self, now: datetime) -> None:
        """Do one tick: wake whatever is due, as far as the queue has room."""
        # Before the waking: what is buried is postponed, and must not be woken in the same breath.
        if self.clock.monotonic() - self._checked_at >= CHECK_EVERY_S:
            self._checked_at = self.clock.monotonic()
            await self._check(now)
        kinds: Sequence[Kind[Any]] = [kind for kind in self.kinds if kind.rows is not None]
        for _ in range(MAX_QUEUED // DUE_AT_ONCE):
            try:
                kinds = await self._wake_due(kinds, now)
            except Refused:
                # One of them is to blame, and must not keep the others asleep.
                kinds = await self._wake_each(kinds, now)
            if not kinds:
                break
        measures.TICKS.inc()

    async def _wake_each(self, kinds: Sequence[Kind[Any]], now: datetime) -> list[Kind[Any]]:
        more: list[Kind[Any]] = []
        for kind in kinds:
            try:
                more += await self._wake_due([kind], now)
            except Refused as error:
                log.exception("due work cannot be listed", kind=kind.name, reason=str(error))
        return more

    async def _wake_due(self, kinds: Sequence[Kind[Any]], now: datetime) -> list[Kind[Any]]:
        """Wake due rows of kinds, all in one transaction; return the kinds that may have more."""
        async with self.database.transaction() as tx:
            queued = await engine.count_queued(tx, [kind.name for kind in kinds], most=MAX_QUEUED)
            asking = [
                (kind, kind.rows, min(MAX_QUEUED - waiting, DUE_AT_ONCE))
                for kind, waiting in zip(kinds, queued, strict=True)
                if kind.rows is not None and waiting < MAX_QUEUED
            ]
            found = await ask_together(
                tx, [partial(rows.list_due, now=now, limit=limit) for _, rows, limit in asking]
            )
            wakes: list[Wake] = []
            more: list[Kind[Any]] = []
            for (kind, _, limit), due in zip(asking, found, strict=True):
                if len(due) == limit:
                    more.append(kind)
                wakes += [
                    one if isinstance(one, Wake) else Wake(kind.name, one, kind.priority) for one in due
                ]
            await enqueue(tx, wakes)
        return more

    async def _bury_held(self, tx: Tx, now: datetime) -> None:
        for held in await engine.list_held(tx):
            picked = Picked(
                claim=Claim(job_id=held.id, owner=self.ids.new()),
                kind=held.kind,
                key=held.key,
                attempts=held.attempts,
                crashes=0,
                collisions=0,
                first_tried_at=held.first_tried_at,
                isolated=False,
            )
            error = Transient("the engine parked the job by itself")
            await bury_job(tx, picked, self.kinds.get(held.kind), error, now=now, letter_id=self.ids.new())
            await engine.delete_job(tx, held.id)

    async def _check(self, now: datetime) -> None:
        """Do what reads the whole queue: tidy up after crashes, age what waits long, take measures."""
        async with self.database.transaction() as tx:
            steps = await repair_clock_rewind(tx, now=now)
            await engine.sweep_ended(tx)
            await self._bury_held(tx, now)
            await engine.age_priorities(tx, after_s=AGE_AFTER_S)
            depths = await engine.queue_depths(tx)
            letters = await dead_letters.count_open_by_class(tx)
            not_closed = await breakers.count_breakers(tx, now=now)
            measures.PUSHES_WAITING.set(await breakers.count_waiting_pushes(tx))
        if steps != ClockSteps():
            log.warning(
                "a clock was set back; stored times were moved by as much",
                product_s=steps.product.total_seconds(),
                real_s=steps.real.total_seconds(),
            )
        for one in not_closed:
            measures.BREAKERS.labels(one.of_kind, "open").set(one.open)
            measures.BREAKERS.labels(one.of_kind, "half_open").set(one.half_open)
        measures.QUEUE_DEPTH.clear()
        measures.QUEUE_OLDEST.clear()
        for depth in depths:
            measures.QUEUE_DEPTH.labels(depth.kind, depth.status).set(depth.depth)
            measures.QUEUE_OLDEST.labels(depth.kind, depth.status).set(depth.oldest_s)
        measures.DEAD_LETTERS.clear()
        for letter in letters:
            measures.DEAD_LETTERS.labels(letter.error_class).set(letter.letters)
