"""Turning requests into runs: when the files of a thing are there, its account's sender gets it.

A request is decided in one transaction with the end of its job. Locks are taken in the order that everybody
uses: the item, its files, the run, the request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.domain.library.inspections import ItemFile, VolumeFiles, arrange_volumes
from headgate.domain.library.sending_on import (
    Fetching,
    FilesMissing,
    SendPlan,
    SourceFile,
    SourceMessage,
    Thing,
    Unsendable,
    plan_sending,
)
from headgate.domain.reminders.windows import DAY_MINUTES, Window
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Wake
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.lanes.links import Links
from headgate.outflow.reminders.runs import opening_of
from headgate.outflow.sending import controls
from headgate.outflow.sending.endings import SENDS_CHANGED
from headgate.outflow.sending.resting import wake_sender
from headgate.storage.database import Tx
from headgate.storage.events import publish
from headgate.storage.library.inspections import list_item_files
from headgate.storage.library.removals import ask_files, lock_items
from headgate.storage.library_sends import requests
from headgate.storage.library_sends.requests import KnownThing, RequestMessage, SendRequest, SightedPlace
from headgate.storage.sending import run_making, sending
from headgate.storage.sending.run_making import NewRun, SendingAccount
from headgate.storage.sending.uploads import StoredPiece, upsert_pieces

KIND = "send_on"
RECHECK = timedelta(seconds=30)
"""A request is woken when its files arrive; that a file was given up shows at the next look."""
MAX_WAIT = timedelta(days=7)
ANY_TIME = Window(0, DAY_MINUTES, "UTC")
POST_TYPE = "text/x-post"
NOT_FETCHED: frozenset[str] = frozenset({"failed", "gone", "dropped"})


class RequestRows:
    """Requests that wait, as the work of the kind `send_on`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await requests.list_due(tx, now=now, limit=limit)

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        await requests.set_due(tx, key, due_at=until)

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        await requests.set_due(tx, key, due_at=now)


def wake_of(request_id: UUID) -> Wake:
    return Wake(KIND, str(request_id))


@dataclass(frozen=True)
class SendPlanner:
    """Decides how requests are sent, and makes their runs."""

    links: Links
    clock: Clock
    ids: Ids

    def kind(self) -> Kind[UUID]:
        return Kind(name=KIND, parse_key=UUID, handle=self.plan, rows=RequestRows())

    async def plan(self, job: Job[UUID]) -> None:
        """Give a request its run, or let it wait for files."""
        async with job.finish() as tx:
            await self.plan_request(tx, job.key)

    async def plan_request(self, tx: Tx, request_id: UUID) -> None:
        seen = await requests.get_request(tx, request_id)
        if seen is None or seen.state != "waiting":
            return
        now = self.clock.now()
        account = await self._account(tx, seen)
        if account is None or not await lock_items(tx, [seen.item_id]):
            lost = "its account was removed" if account is None else "it was removed from the library"
            await self._fail(tx, seen, lost, now=now)
            return
        asked = await self._ask_files(tx, seen, account, now=now)
        if seen.run_id is not None:
            await sending.lock_run(tx, seen.run_id)
        request = await requests.lock_request(tx, request_id)
        if request is None or request.state != "waiting":
            return
        # Read after the lock: whoever stores a file now wakes the request after this transaction.
        decision = await self._decide(tx, request, account)
        if isinstance(decision, Unsendable):
            await self._fail(tx, request, decision.reason, now=now)
        elif isinstance(decision, FilesMissing):
            await self._wait(tx, request, decision, asked_at=now if asked else None, now=now)
        else:
            await self._queue(tx, request, account, decision, now=now)
        await publish(tx, SENDS_CHANGED)

    async def _account(self, tx: Tx, request: SendRequest) -> SendingAccount | None:
        if request.account_id is None:
            return None
        return await run_making.get_sending_account(tx, request.account_id)

    async def _ask_files(
        self, tx: Tx, request: SendRequest, account: SendingAccount, *, now: datetime
    ) -> bool:
        """Have missing files fetched, once for each time that a person asks."""
        if request.asked_at is not None:
            return False
        if not isinstance(await self._decide(tx, request, account), FilesMissing):
            return False
        await ask_files(tx, [request.item_id], now=now)
        return True

    async def _decide(
        self, tx: Tx, request: SendRequest, account: SendingAccount
    ) -> SendPlan | FilesMissing | Unsendable:
        item = await requests.get_thing(tx, request.item_id, account_id=account.id)
        if item is None:
            return Unsendable("it was removed from the library")
        places = await requests.list_places(tx, request.item_id)
        files = await list_item_files(tx, request.item_id)
        manifest = self.links.manifest(account.platform)
        forward = "forward" in manifest.capabilities and item.seen and not request.forward_refused
        sent = await requests.list_sent_volumes(tx, request.run_id) if request.run_id else []
        return plan_sending(
            thing_of(item, places, files, asked=request.asked_at is not None),
            can_forward=forward,
            max_bytes=manifest.upload_max_bytes,
            sent=frozenset(sent),
        )

    async def _wait(
        self,
        tx: Tx,
        request: SendRequest,
        missing: FilesMissing,
        *,
        asked_at: datetime | None,
        now: datetime,
    ) -> None:
        if request.asked_at is not None and now - request.asked_at > MAX_WAIT:
            await self._fail(tx, request, f"its files did not arrive in {MAX_WAIT.days} days", now=now)
            return
        reason = f"waits for its files: {missing.stored} of {missing.total} stored"
        await requests.wait(tx, request.id, reason=reason, due_at=now + RECHECK, asked_at=asked_at)

    async def _queue(
        self, tx: Tx, request: SendRequest, account: SendingAccount, plan: SendPlan, *, now: datetime
    ) -> None:
        if request.run_id is not None and request.way:
            # The same run goes on, so that nothing of it is sent twice.
            await controls.retry(tx, request.run_id, skipped=True, now=now)
            return
        run_id = await self._make_run(tx, request, account, plan, now=now)
        if run_id is None:
            await self._fail(tx, request, f"{account.name} cannot write to this target any more", now=now)
            return
        await requests.queue(tx, request.id, run_id=run_id, way=plan.way)
        await wake_sender(tx, account.id)

    async def _make_run(
        self, tx: Tx, request: SendRequest, account: SendingAccount, plan: SendPlan, *, now: datetime
    ) -> UUID | None:
        item = await requests.get_thing(tx, request.item_id, account_id=account.id)
        run = NewRun(
            id=self.ids.new(),
            reminder_id=None,
            account_id=account.id,
            account_name=account.name,
            trigger="library",
            title=item.title if item else "",
            fire_at=now,
            at_close="stop",
            **vars(opening_of(ANY_TIME, now=now)),
        )
        await run_making.insert_run(tx, run, now=now)
        await requests.insert_messages(tx, run.id, await self._messages(tx, plan, item, now=now))
        return run.id if await run_making.insert_delivery(tx, run.id, request.target_id) else None

    async def _messages(
        self, tx: Tx, plan: SendPlan, item: KnownThing | None, *, now: datetime
    ) -> list[RequestMessage]:
        pieces = [message.piece for message in plan.messages if message.piece is not None]
        stored = [
            StoredPiece(
                piece.name,
                piece.mime_type,
                piece.size_bytes,
                piece.sha256,
                piece.blob_id,
                piece.offset_bytes,
            )
            for piece in pieces
        ]
        media_ids = iter(await upsert_pieces(tx, stored, ids=self.ids, now=now) if stored else [])
        stream = item.stream if item else ""
        return [
            RequestMessage(
                # Braces mean variables in the texts of runs.
                text=message.text.replace("{", "{{").replace("}", "}}"),
                media_id=next(media_ids) if message.piece is not None else None,
                stream=stream if message.forward_key else "",
                key=message.forward_key,
                volumes=message.volumes,
            )
            for message in plan.messages
        ]

    async def _fail(self, tx: Tx, request: SendRequest, reason: str, *, now: datetime) -> None:
        await requests.end_request(tx, request.id, "failed", reason=reason, now=now)
        await publish(tx, SENDS_CHANGED)


def thing_of(
    item: KnownThing, places: Sequence[SightedPlace], files: Sequence[ItemFile], *, asked: bool
) -> Thing:
    """Return what a plan needs to know; before files were asked for, none of them counts as lost."""
    by_file = {place.sighting_id: place for place in places}
    real = [
        file
        for file in files
        if file.sighting_id in by_file and by_file[file.sighting_id].mime_type != POST_TYPE
    ]
    alive = {place.message_key: place for place in reversed(places) if not place.deleted}
    return Thing(
        title=item.title,
        url=next((place.url for place in places if place.url), ""),
        files=tuple(_source(volume, by_file, asked=asked) for volume in arrange_volumes(real)),
        messages=tuple(
            SourceMessage(place.message_key, place.text, place.alone) for place in reversed(alive.values())
        ),
    )


def _source(volume: VolumeFiles, places: dict[UUID, SightedPlace], *, asked: bool) -> SourceFile:
    best = volume.best
    held = [places[copy.sighting_id] for copy in volume.copies]
    fetching: Fetching = "coming"
    if volume.source is not None:
        fetching = "stored"
    elif all(place.deleted for place in held) or (
        asked and all(copy.state in NOT_FETCHED for copy in volume.copies)
    ):
        fetching = "lost"
    return SourceFile(
        number=volume.number,
        name=best.file_name,
        mime_type=places[best.sighting_id].mime_type,
        size_bytes=best.size_bytes,
        fetching=fetching,
        blob_id=best.blob_id,
        sha256=best.sha256,
        messages=tuple(place.message_key for place in held if not place.deleted),
    )
