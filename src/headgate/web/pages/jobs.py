"""The engine, for administrators: what waits, what runs, what gave up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from fastapi import Response

from headgate.ingest.storing.audit import report_audit
from headgate.ingest.storing.audit_words import describe_audit
from headgate.storage.jobs.dead_letters import list_dead_letters
from headgate.storage.jobs.engine import QueueDepth, queue_depths
from headgate.web.callers import CurrentCaller
from headgate.web.door import ADMIN, Routes
from headgate.web.parts import CurrentSite

routes = Routes()

MAX_LETTERS = 100


@dataclass(frozen=True)
class Queue:
    """One kind of job in figures."""

    kind: str
    waiting: int
    running: int
    held: int
    oldest: timedelta | None


def sum_up(depths: Iterable[QueueDepth]) -> list[Queue]:
    """Return a line for each kind, over all runners."""
    by_kind: defaultdict[str, list[QueueDepth]] = defaultdict(list)
    for depth in depths:
        by_kind[depth.kind].append(depth)
    return [_line(kind, found) for kind, found in sorted(by_kind.items())]


def _line(kind: str, depths: list[QueueDepth]) -> Queue:
    def total(status: str) -> int:
        return sum(depth.depth for depth in depths if depth.status == status)

    waits_s = [depth.oldest_s for depth in depths if depth.status == "queued"]
    return Queue(
        kind=kind,
        waiting=total("queued"),
        running=total("picked"),
        held=total("failed"),
        oldest=timedelta(seconds=max(waits_s)) if waits_s else None,
    )


@routes.get("/jobs", door=ADMIN)
async def show_jobs(site: CurrentSite, caller: CurrentCaller) -> Response:
    async with site.transaction() as tx:
        queues = sum_up(await queue_depths(tx))
        letters = await list_dead_letters(tx, state="open", kind=None, limit=MAX_LETTERS)
        files = describe_audit(await report_audit(tx), site.parts.clock.now())
    return site.renderer.render("jobs.html", caller=caller, queues=queues, letters=letters, files=files)
