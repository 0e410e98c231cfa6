"""Works on one import in this process, beside any workers that run.

Only what the import needs is done: a person who imports a folder has not asked for sends, nor for calls to
other platforms.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from headgate.app.parts import Parts
from headgate.app.service import Service
from headgate.connectors.folder import own_folders
from headgate.connectors.folder.walking import LeftOut, walk_tree
from headgate.domain.errors import UserError
from headgate.ingest.inspecting.inspect import KIND as INSPECT
from headgate.ingest.labels.labelling import KIND as LABEL
from headgate.intake.channels.importing import StartedImport
from headgate.intake.fetching.fetch import KIND as FETCH
from headgate.intake.streams.assemble import KIND as ASSEMBLE
from headgate.intake.streams.head_checks import KIND as CHECK
from headgate.intake.streams.ingest import KIND as INGEST
from headgate.intake.streams.scan import KIND as SCAN
from headgate.jobs.kinds import Kind, Kinds, Wake, WorkRows
from headgate.jobs.wake import enqueue
from headgate.storage.channels.requests import ScanProgress, get_scan_progress
from headgate.storage.database import Tx
from headgate.storage.library.imports import ImportProgress, get_progress

__all__ = ["ImportState", "count_left_out", "get_state", "own_folders", "work_on_import"]

WAKE_S = 0.5
LOOK_SHARE = 20
"""Looking how far an import is takes at most one part in so many of its time."""
DUE_AT_ONCE = 500
MAX_DUE = 100_000

_OF_CHANNEL = (CHECK, SCAN, FETCH)
_OF_ALL = (INGEST, ASSEMBLE, LABEL, INSPECT)


@dataclass(frozen=True)
class ImportState:
    """How far an import is: its scan, and what was found."""

    scan: ScanProgress
    progress: ImportProgress

    @property
    def ended(self) -> bool:
        return self.scan.ended and self.progress.idle


@dataclass(frozen=True)
class _OwnRows:
    """The due rows of one account and its channel, out of all of a kind."""

    rows: WorkRows[Any]
    started: StartedImport

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> Sequence[str | Wake]:
        own = (str(self.started.account_id), str(self.started.channel_id))
        due = await self.rows.list_due(tx, now=now, limit=MAX_DUE)
        return [wake for wake in due if _key_of(wake).startswith(own)][:limit]

    async def postpone(self, tx: Tx, key: Any, *, until: datetime, now: datetime) -> None:
        await self.rows.postpone(tx, key, until=until, now=now)

    async def reopen(self, tx: Tx, key: Any, *, now: datetime) -> None:
        await self.rows.reopen(tx, key, now=now)


async def work_on_import(
    parts: Parts,
    started: StartedImport,
    *,
    stop: asyncio.Event,
    on_progress: Callable[[ImportState], None],
) -> ImportState:
    """Work until the import has nothing left to do, or until `stop`; returns how far it is."""
    own = _own_parts(parts, started)
    ended = asyncio.Event()
    service = Service(own, frozenset({"work"}))
    serving = asyncio.create_task(service.run(ended, _nothing), name="import worker")
    watching = asyncio.create_task(_watch(own, started, stop, on_progress), name="import progress")
    try:
        await asyncio.wait({serving, watching}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
        return await watching
    finally:
        watching.cancel()
        ended.set()
        await serving


async def get_state(parts: Parts, started: StartedImport) -> ImportState:
    """Return how far an import is."""
    async with parts.database.transaction() as tx:
        scan = await get_scan_progress(tx, started.scan_id)
        progress = await get_progress(tx, started.channel_id, since=started.started_at, now=parts.clock.now())
    if scan is None:
        raise UserError("The folder's channel was removed while it was imported.")
    return ImportState(scan, progress)


async def count_left_out(parts: Parts, started: StartedImport) -> dict[str, int]:
    """Return how many entries of the folder are not imported, by why."""
    left_out = Counter[LeftOut]()

    def walk() -> None:
        for _ in walk_tree(Path(started.path), own_folders=own_folders(parts.settings), left_out=left_out):
            pass

    await asyncio.to_thread(walk)
    return {str(reason): count for reason, count in left_out.items()}


async def _watch(
    parts: Parts,
    started: StartedImport,
    stop: asyncio.Event,
    on_progress: Callable[[ImportState], None],
) -> ImportState:
    """Wake what is due, and look how far it is, until there is nothing left or a person stops it.

    A look goes over all files of the folder, so it is taken less often the longer it takes.
    """
    next_look_s = 0.0
    while True:
        await wake_own(parts)
        began_s = parts.clock.monotonic()
        if began_s >= next_look_s or stop.is_set():
            state = await get_state(parts, started)
            on_progress(state)
            if state.ended or stop.is_set():
                return state
            next_look_s = began_s + LOOK_SHARE * (parts.clock.monotonic() - began_s)
        await parts.clock.sleep(WAKE_S)


async def wake_own(parts: Parts) -> None:
    """Enqueue due work of these parts; without the tick's lease, which a service may need meanwhile."""
    now = parts.clock.now()
    async with parts.database.transaction() as tx:
        for kind in parts.kinds:
            if kind.rows is not None:
                due = await kind.rows.list_due(tx, now=now, limit=DUE_AT_ONCE)
                await enqueue(tx, [_wake(kind, each) for each in due])


def _own_parts(parts: Parts, started: StartedImport) -> Parts:
    if parts.kinds.get(FETCH) is None:
        raise UserError(
            "Downloads are switched off, and importing needs them.",
            remedy="Set HEADGATE_FILES_DOWNLOADS_AT_ONCE to 1 or more.",
        )
    kinds = Kinds(
        [
            replace(kind, rows=_OwnRows(kind.rows, started))
            if kind.name in _OF_CHANNEL and kind.rows
            else kind
            for kind in parts.kinds
            if kind.name in _OF_CHANNEL or kind.name in _OF_ALL
        ]
    )
    return replace(parts, kinds=kinds, execution=replace(parts.execution, kinds=kinds))


def _wake(kind: Kind[Any], due: str | Wake) -> Wake:
    return due if isinstance(due, Wake) else Wake(kind.name, due, kind.priority)


def _key_of(wake: str | Wake) -> str:
    return wake.key if isinstance(wake, Wake) else wake


async def _nothing() -> None: ...
