"""Fetching: slots of accounts take wanted files from lines of channels and store their content.

A crash at any moment costs what came since the last sync: leases end by themselves, spools are gone on with,
and the file, not the slot, is blamed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from headgate.connectors.protocol import PlacingLink
from headgate.domain.breaker import fail
from headgate.domain.errors import (
    AccountTrouble,
    Elsewhere,
    Gone,
    RateLimited,
    Transient,
    WorkError,
    error_class,
)
from headgate.domain.pacing import UnknownLane
from headgate.intake.fetching import endings
from headgate.intake.fetching.batches import FetchBatch
from headgate.intake.fetching.download import Download, NotOurs
from headgate.intake.fetching.placing import Interrupted, PlaceReader, complete_placed
from headgate.intake.fetching.storing import complete, link_known, store
from headgate.intake.fetching.turns import SlotKey, Turn
from headgate.intake.streams.refetch import FailedRefetch, NobodyCan, Refetched, SingleMessages
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.logs import get_logger
from headgate.lanes.links import AccountRef, Links
from headgate.storage.blobs.opening import Files
from headgate.storage.blobs.room import NoRoom
from headgate.storage.blobs.spool_file import SpoolBusy
from headgate.storage.blobs.spools import Spool
from headgate.storage.blobs.store import DiskFull, StoreAway, StoreTrouble
from headgate.storage.database import Database, Tx
from headgate.storage.errors import DatabaseAway
from headgate.storage.library import fetch_lines
from headgate.storage.library import files as file_rows
from headgate.storage.library.fetch_lines import FetchFile
from headgate.storage.library.files import ReleasedFile
from headgate.storage.streams import watches
from headgate.storage.streams.streams import lock_stream

log = get_logger("intake")

KIND = "fetch"
STORE_REST = timedelta(seconds=60)
"""How long nothing is fetched when the store cannot be used."""
OFF_REST = timedelta(minutes=10)
"""How long the line of a channel that is off is left alone."""


@dataclass(frozen=True)
class SlotRows:
    """Slots of accounts with due files, as the work of the kind `fetch`."""

    slots: int

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await fetch_lines.list_due_slots(tx, slots=self.slots, now=now, limit=limit)

    async def postpone(self, tx: Tx, key: SlotKey, *, until: datetime, now: datetime) -> None:
        await fetch_lines.rest_slot(tx, key.account_id, key.slot, until=until)

    async def reopen(self, tx: Tx, key: SlotKey, *, now: datetime) -> None:
        await fetch_lines.rest_slot(tx, key.account_id, key.slot, until=now)


@dataclass
class Fetcher:
    """Fetches files with the accounts that read their channels."""

    links: Links
    messages: SingleMessages
    files: Files
    clock: Clock
    ids: Ids
    at_once: int
    per_account: int
    _lost: list[UUID] = field(default_factory=list[UUID])
    """Turns that failed before they could give back what they had taken: no crash is to blame."""

    def kind(self) -> Kind[SlotKey]:
        return Kind(
            name=KIND,
            parse_key=SlotKey.parse,
            handle=self.fetch,
            rows=SlotRows(self.per_account),
            runner="transfer",
            concurrency=self.at_once,
        )

    async def fetch(self, job: Job[SlotKey]) -> None:
        """Fetch for one turn, and wake a successor if more is due."""
        # What crashed is blamed on the file that was taken; the slot goes on with others.
        await job.progressed()
        await self._release_lost(job.database)
        async with job.database.transaction() as tx:
            watcher = await watches.get_watcher(tx, job.key.account_id)
        if watcher is None or watcher.state != "active":
            return
        account = AccountRef(watcher.id, watcher.platform, watcher.name, watcher.established, watcher.sign_in)
        await self.links.require(account)
        turn = Turn(job, self.clock, account, self.ids.new())
        try:
            more = await self._run(turn)
        except Exception:
            self._lost.append(turn.taken_by)
            raise
        if turn.trouble is not None:
            raise turn.trouble
        async with job.finish() as tx:
            if turn.rest_until is not None:
                await fetch_lines.rest_slot(tx, account.id, job.key.slot, until=turn.rest_until)
            elif more:
                await enqueue(tx, [Wake(KIND, job.raw_key)])

    async def _release_lost(self, database: Database) -> None:
        if self._lost:
            async with database.transaction() as tx:
                await file_rows.release_lost(tx, self._lost)
            self._lost = []

    async def _run(self, turn: Turn) -> bool:
        """Fetch until the turn is over; true if more may be due."""
        while not turn.over:
            taken = await self._take(turn)
            if not taken:
                return False
            await self._fetch_all(turn, taken)
            if turn.ended:
                return turn.rest_until is None and turn.trouble is None
        return True

    async def _take(self, turn: Turn) -> list[FetchFile]:
        """Take the next file, or the next small ones, from the next line that has any."""
        database, now = turn.job.database, self.clock.now()
        room = await self.files.room.measure()
        while True:
            async with database.transaction() as tx:
                line = await fetch_lines.lock_line(
                    tx, turn.account.id, passed=turn.passed, fair=turn.fair, now=now
                )
                if line is None:
                    return []
                if line.switched_off:
                    await fetch_lines.postpone_line(tx, line.channel_id, until=now + OFF_REST, now=now)
                    continue
                await fetch_lines.wake_fitting(tx, line.channel_id, room_bytes=room.left_bytes, now=now)
                taken = await fetch_lines.take_files(
                    tx,
                    line.channel_id,
                    taken_by=turn.taken_by,
                    machine=self.files.spools.machine,
                    now=now,
                )
                await fetch_lines.settle_line(tx, line.channel_id, now=now)
            if taken:
                turn.takes += 1
                return taken
            turn.passed.append(line.channel_id)

    async def _fetch_all(self, turn: Turn, taken: Sequence[FetchFile]) -> None:
        """Link what is known, download the rest, store it together, and give back what failed."""
        released = [
            endings.blame_crashes(file, now=self.clock.now())
            for file in taken
            if file.starts > endings.MAX_STARTS
        ]
        blamed = {each.sighting_id for each in released}
        wanted = [file for file in taken if file.sighting_id not in blamed]
        linked = await link_known(turn.job.database, wanted, taken_by=turn.taken_by, now=self.clock.now())
        wanted = [file for file in wanted if file.sighting_id not in linked]
        batch = FetchBatch(released)
        batch.room_keys = await self._reserve_together(turn, wanted)
        if batch.room_keys:
            batch.spools = await self.files.spools.open_all({file.key: file.source for file in wanted})
        try:
            for place, file in enumerate(wanted):
                if turn.ended or turn.stopping or file.channel_id in turn.passed:
                    released.append(
                        endings.keep_place(file, spooled=file.spooled_bytes, now=self.clock.now())
                    )
                    continue
                turn.permits.calls_left = len(wanted) - place
                await self._fetch_one(turn, file, batch)
                await batch.until_written()
            await self._store(turn, batch)
        finally:
            await batch.close()
        await self._release(turn, [file for file in taken if file.sighting_id not in batch.stored], released)

    async def _fetch_one(self, turn: Turn, file: FetchFile, batch: FetchBatch) -> None:
        """Download one file; what goes wrong decides how it is given back."""
        spool: Spool | None = None
        spooled = file.spooled_bytes
        try:
            if file.failed_before and not await self._refresh(turn, file):
                batch.released.append(endings.keep_for_later(file, spooled=spooled, now=self.clock.now()))
                return
            if await self._place(turn, file, batch.released):
                return
            room_keys = batch.room_keys or await self._reserve(turn, [file])
            spool = batch.take_spool(file) or await self.files.spools.open(file.key, version=file.source)
            download = Download(self.links, self.files, self.messages.rules, turn, file, room_keys)
            try:
                done = await download.pull(spool)
            finally:
                spooled = spool.length
            if done:
                batch.pulled.append((file, spool))
                spool = None
                return
            batch.released.append(endings.keep_place(file, spooled=spooled, now=self.clock.now()))
        except NotOurs:
            if spool is not None:
                await spool.discard()
        except (WorkError, StoreTrouble) as error:
            if spool is not None:
                await spool.close()
                spooled = spool.length
            ending = await self._end(turn, file, error, spooled=spooled)
            if ending is not None:
                batch.released.append(ending)
        finally:
            if spool is not None:
                await spool.close()

    async def _place(self, turn: Turn, file: FetchFile, released: list[ReleasedFile]) -> bool:
        """Read a file where it lies, if it is not to be copied; false if it is to be downloaded."""
        link = await self.links.link(turn.account)
        if not (isinstance(link, PlacingLink) and link.in_place):
            return False
        try:
            async with self.links.call(turn.account, "download") as link:
                content = await PlaceReader(link, turn, self.clock).read(file)
        except Interrupted:
            released.append(endings.keep_place(file, spooled=0, now=self.clock.now()))
            return True
        if content is None:
            return False
        now = self.clock.now()
        await complete_placed(turn.job.database, [(file, content)], taken_by=turn.taken_by, now=now)
        return True

    async def _end(
        self, turn: Turn, file: FetchFile, error: WorkError | StoreTrouble, *, spooled: int
    ) -> ReleasedFile | None:
        """Decide how a file is given back after an error; nothing if it is gone."""
        now = self.clock.now()
        if isinstance(error, DatabaseAway | Elsewhere | UnknownLane):
            raise error
        if isinstance(error, RateLimited):
            turn.rest_until = now + timedelta(seconds=error.retry_after_s)
        elif isinstance(error, AccountTrouble):
            turn.trouble = error
        elif isinstance(error, NoRoom | DiskFull):
            turn.without_room += 1
            return endings.wait_for_room(file, error, spooled=spooled, now=now)
        elif isinstance(error, StoreAway | StoreTrouble):
            log.warning("the store of files cannot be used", reason=str(error))
            turn.rest_until = now + STORE_REST
        elif isinstance(error, SpoolBusy):
            return endings.keep_for_later(file, spooled=spooled, now=now)
        elif isinstance(error, Gone):
            return await self._end_gone(turn, file, error, spooled=spooled)
        else:
            return endings.count_failure(file, error, spooled=spooled, now=now)
        return endings.keep_place(file, spooled=spooled, now=now)

    async def _end_gone(
        self, turn: Turn, file: FetchFile, error: Gone, *, spooled: int
    ) -> ReleasedFile | None:
        """Believe that a file is gone only if its message is, for an account that can read the channel."""
        now = self.clock.now()
        try:
            found = await self._refresh(turn, file)
            lost = not found and await self._lose_sight(turn, file, error)
        except NotOurs:
            return None
        except Gone as unclear:
            return endings.count_failure(file, Transient(str(unclear)), spooled=spooled, now=now)
        except WorkError as failed:
            # Whether the message is there is not known yet.
            return await self._end(turn, file, failed, spooled=spooled)
        if lost:
            return endings.keep_place(file, spooled=spooled, now=now)
        if not found:
            return endings.keep_for_later(file, spooled=spooled, now=now)
        # The message says that the file is there.
        return endings.count_failure(file, Transient(str(error)), spooled=spooled, now=now)

    async def _lose_sight(self, turn: Turn, file: FetchFile, error: Gone) -> bool:
        """Leave a channel that the account cannot see any more to another one; tell whether it is so."""
        if await self.messages.sees(turn.account, file.stream_key) is not False:
            return False
        turn.passed.append(file.channel_id)
        account_id, channel_id, now = turn.account.id, file.channel_id, self.clock.now()
        async with turn.job.database.transaction() as tx:
            await lock_stream(tx, channel_id)
            before = await watches.get_breaker(tx, channel_id=channel_id, account_id=account_id)
            await watches.fail_watch(
                tx,
                channel_id=channel_id,
                account_id=account_id,
                breaker=fail(before, now=now, at_once=True),
                error_class=error_class(error),
                error_message=str(error),
                now=now,
            )
            await watches.pass_on(tx, account_id, channel_id=channel_id, now=now)
        return True

    async def _refresh(self, turn: Turn, file: FetchFile) -> bool:
        """Fetch the message again, which renews its links; false if no account can at the moment.

        Raises `NotOurs` if the message is deleted, or holds another file by now.
        """
        database = turn.job.database
        fetched = await self.messages.fetch(database, file.channel_id, message_key=file.message_key)
        if isinstance(fetched, NobodyCan):
            return False
        if isinstance(fetched, FailedRefetch):
            raise fetched.error
        if fetched.message is None and not await self.messages.answers(turn.account, file.stream_key):
            return False
        async with database.transaction() as tx:
            taken = await self.messages.take(
                tx, file.channel_id, message_key=file.message_key, fetched=fetched
            )
            held = await file_rows.renew_take(tx, [file.sighting_id], taken_by=turn.taken_by)
        if not held:
            raise NotOurs("the file is not wanted any more")
        return isinstance(taken, Refetched)

    async def _reserve_together(self, turn: Turn, files: Sequence[FetchFile]) -> tuple[str, ...]:
        """Promise room to small files together; nothing if each has to ask for itself."""
        if len(files) < 2:
            return ()
        try:
            return await self._reserve(turn, files)
        except NoRoom:
            return ()

    async def _reserve(self, turn: Turn, files: Sequence[FetchFile]) -> tuple[str, ...]:
        """Promise room to files and to the rest of their sets; returns the keys of all."""
        sizes = {file.key: file.size_bytes for file in files}
        others: list[UUID] = []
        if self.files.room.includes_store:
            async with turn.job.database.autocommit() as tx:
                for each in await file_rows.list_set_files(tx, [file.sighting_id for file in files]):
                    if str(each.sighting_id) not in sizes:
                        others.append(each.sighting_id)
                        sizes[str(each.sighting_id)] = each.size_bytes
        await self.files.room.reserve_all(sizes)
        if others:
            async with turn.job.database.transaction() as tx:
                await file_rows.prefer_set(tx, others)
        return tuple(sizes)

    async def _store(self, turn: Turn, batch: FetchBatch) -> None:
        """Store what has come whole, and note it in one transaction."""
        stored, failed = await store(self.files, batch.pulled)
        await complete(turn.job.database, self.files, stored, taken_by=turn.taken_by, now=self.clock.now())
        batch.stored.update(file.sighting_id for file, _ in stored)
        spools = {file.sighting_id: spool for file, spool in batch.pulled}
        await self.files.spools.discard_all([spools[file.sighting_id] for file, _ in stored])
        for file, error in failed:
            spool = spools[file.sighting_id]
            # Its length is what the disk has taken.
            await spool.close()
            ending = await self._end(turn, file, error, spooled=spool.length)
            if ending is not None:
                batch.released.append(ending)

    async def _release(self, turn: Turn, left: Sequence[FetchFile], released: Sequence[ReleasedFile]) -> None:
        """Give back what was not stored; room is still promised only to what has begun to come."""
        if not left:
            return
        async with turn.job.database.transaction() as tx:
            await file_rows.release_files(
                tx,
                released,
                taken_by=turn.taken_by,
                machine=self.files.spools.machine,
                now=self.clock.now(),
            )
            begun = await file_rows.list_begun(tx, [file.sighting_id for file in left])
            await self.files.room.release(tx, [file.key for file in left if file.sighting_id not in begun])
