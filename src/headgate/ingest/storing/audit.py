"""Audits: everything that is stored is read and verified; what is damaged is fetched again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headgate.kernel.clock import Clock
from headgate.storage.blobs.opening import Files, claim_store
from headgate.storage.blobs.verify import (
    Audit,
    AuditedBlobs,
    Auditor,
    DamagedContent,
    begin_audit,
    count_damaged,
    end_audit,
    get_audit,
    note_audit,
    only_audit,
)
from headgate.storage.database import Database, Tx
from headgate.storage.library.damage import condemn_blobs

OnProgress = Callable[[int, int], None]
"""Told how many bytes are read, and how many there are in all."""


def ignore_progress(_read: int, _total: int) -> None:
    """Report no progress."""


@dataclass(frozen=True)
class AuditReport:
    """The latest audit, and what is damaged now."""

    audit: Audit | None
    damaged: DamagedContent


async def report_audit(tx: Tx) -> AuditReport:
    """Return what is known of the state of stored content."""
    return AuditReport(await get_audit(tx), await count_damaged(tx))


class _Reading:
    """Keeps the pace of an audit, and says how far it is."""

    def __init__(
        self, clock: Clock, audit: Audit, bytes_per_s: float | None, on_progress: OnProgress
    ) -> None:
        self._clock = clock
        self._bytes_per_s = bytes_per_s
        self._on_progress = on_progress
        self._total = audit.total_bytes
        self._read = audit.checked_bytes
        self._free_at_s = clock.monotonic()
        on_progress(self._read, self._total)

    async def note(self, count: int) -> None:
        self._read += count
        self._on_progress(self._read, self._total)
        if self._bytes_per_s is None:
            return
        now_s = self._clock.monotonic()
        self._free_at_s = max(now_s, self._free_at_s + count / self._bytes_per_s)
        if self._free_at_s > now_s:
            await self._clock.sleep(self._free_at_s - now_s)


async def audit_files(
    files: Files,
    clock: Clock,
    *,
    restart: bool = False,
    bytes_per_s: float | None = None,
    on_progress: OnProgress = ignore_progress,
) -> AuditReport:
    """Read and verify all stored content, or go on where the last audit was broken off."""
    database = files.database
    await files.store.check()
    await _check_store(files)
    async with only_audit(database.url):
        audit = await _begin(database, clock, restart=restart)
        reading = _Reading(clock, audit, bytes_per_s, on_progress)
        auditor = Auditor(database, files.store)
        try:
            after = audit.reached
            while (verified := await auditor.verify(after=after, on_read=reading.note)).last is not None:
                await _note(files, clock, verified)
                after = verified.last
        finally:
            await auditor.close()
        async with database.transaction() as tx:
            await end_audit(tx, now=clock.now())
            return await report_audit(tx)


async def _begin(database: Database, clock: Clock, *, restart: bool) -> Audit:
    async with database.transaction() as tx:
        await begin_audit(tx, now=clock.now(), restart=restart)
        audit = await get_audit(tx)
    if audit is None:
        raise AssertionError("the row is inserted or found")
    return audit


async def _note(files: Files, clock: Clock, verified: AuditedBlobs) -> None:
    """Act on what a batch found, and note how far the audit is: a kill in between reads the batch again."""
    if verified.damages:
        # A disk that was unmounted meanwhile has lost nothing.
        await _check_store(files)
    blob_ids = [damage.blob.id for damage in verified.damages]
    condemned = await condemn_blobs(files.database, blob_ids, now=clock.now())
    async with files.database.transaction() as tx:
        await note_audit(tx, verified, refetched=condemned.refetched, lost=condemned.lost, now=clock.now())


async def _check_store(files: Files) -> None:
    await claim_store(files.database, files.store, fresh_id=files.ids.new())
