"""One account's connection to the simulated platform."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from headgate.connectors.protocol import FoundChannel, MediaHandle, OutgoingFile, Part, Sent
from headgate.domain.listings.listings import Entry, Listed, Swept
from headgate.domain.reminders.recognition import Sought
from headgate.domain.streams.messages import Head, Lens, LiveEvent, Message, Page, Span
from headgate.testing.content.content import file_bytes
from headgate.testing.platform.call_log import COUNTED_AS, Call
from headgate.testing.platform.errors import (
    SimAuthError,
    SimBadRequest,
    SimBanned,
    SimClosed,
    SimDisconnected,
    SimDuplicate,
    SimFlood,
    SimLinkExpired,
    SimNotFound,
    SimRestricted,
    SimTimeout,
)
from headgate.testing.platform.faults import FLOOD_S
from headgate.testing.platform.outbox import accept_send, accept_upload, find_group, find_in_history
from headgate.testing.platform.places import SimGroup, validators_of
from headgate.testing.platform.platform_state import PlatformState
from headgate.testing.platform.sessions import Session
from headgate.testing.platform.streams.downloads import chunks_of
from headgate.testing.platform.streams.live import Connection, Delivery
from headgate.testing.platform.streams.positions import from_ms
from headgate.testing.platform.streams.reading import PageRequest, head_of, page_of
from headgate.testing.platform.streams.rows import Row, write_row
from headgate.testing.platform.streams.stream import Stream

T = TypeVar("T")
_SENDING = frozenset({"prepare", "upload", "send", "forward"})


class SimulatedLink:
    """All that an account can do; each call is logged, counted, and open to faults."""

    def __init__(self, world: PlatformState, account: str, session: Session | None = None) -> None:
        self._world = world
        self._session = session
        self._account = world.accounts[account]
        self._closed = False
        self._connections: list[Connection] = []

    async def discover(self) -> Sequence[FoundChannel]:
        return await self._call("discover", "", lambda _: self._discover())

    async def heads(self, streams: Sequence[str]) -> Mapping[str, Head]:
        return await self._call("heads", ",".join(streams), lambda _: self._heads(streams))

    async def read(
        self, stream: str, *, lens: Lens, hole: Span, bound: int, bookmark: str, limit: int
    ) -> Page:
        return await self.search(stream, PageRequest(lens, hole, bound, bookmark, limit))

    async def search(self, stream: str, request: PageRequest) -> Page:
        """Read a page, of one topic alone if the request says so: more than a connector needs."""
        return await self._call("read", stream, lambda _: self._page(self._stream(stream), request))

    async def message(self, stream: str, key: str) -> Message | None:
        return await self._call(
            "message", f"{stream}/{key}", lambda _: self._world.on_message(self._message(stream, key))
        )

    async def listen(self) -> AsyncIterator[LiveEvent]:
        await self._call("listen", "", lambda _: None)
        connection = self._connect()
        try:
            while True:
                for event in self._take_events(connection):
                    yield event
                if connection.ended:
                    break
                await self._wait(connection)
            if connection.abrupt:
                raise SimDisconnected("listen")
            yield LiveEvent("disconnect")
        finally:
            self._world.timeline.end_connections([connection])

    async def list(self, listing: str, cursor: Mapping[str, str]) -> Listed:
        return await self._call("list", listing, lambda _: self._answer_list(listing, cursor))

    async def sweep(self, site: str, cursor: Mapping[str, str]) -> Swept:
        return await self._call("sweep", site, lambda _: self._sweep(site, cursor))

    async def find(self, query: str) -> Sequence[FoundChannel]:
        wanted = query.casefold()
        found = await self._call("find", query, lambda _: self._discover())
        return [one for one in found if one.kind == "listing" and wanted in (one.key, one.title.casefold())]

    async def download(
        self, stream: str, *, message_key: str, attachment_key: str, offset: int = 0
    ) -> AsyncIterator[bytes]:
        place = f"{stream}/{message_key}/{attachment_key}"
        content = await self._call(
            "download", place, lambda _: self._open_file(stream, message_key, attachment_key)
        )
        async for chunk in chunks_of(self._world, self._account.name, content, offset=offset):
            yield chunk

    async def prepare(self, target: str) -> None:
        await self._call("prepare", target, lambda _: self._group(target))

    async def upload(self, file: OutgoingFile) -> MediaHandle:
        content = b"".join([chunk async for chunk in file.read()])
        return await self._call("upload", "", lambda call: accept_upload(self._world, call, file, content))

    async def send(self, target: str, part: Part, *, key: str) -> Sent:
        return await self._send("send", target, key, lambda: part)

    async def forward(self, stream: str, *, message_key: str, target: str, key: str) -> Sent:
        return await self._send("forward", target, key, lambda: self._forwarded(stream, message_key))

    async def find_sent(self, target: str, sought: Sought, *, key: str, since: datetime) -> Sent | None:
        found = await self._call(
            "find_sent",
            target,
            lambda _: find_in_history(
                self._world, self._group(target), sought, account=self._account.name, key=key, since=since
            ),
        )
        return Sent(found.key, found.sent_at) if found else None

    async def close(self) -> None:
        self._closed = True
        if self._session is not None:
            self._world.sessions.end(self._session)
        self._world.timeline.end_connections(self._connections)
        self._connections.clear()

    async def _call(self, kind: str, place: str, effect: Callable[[Call], T]) -> T:
        world = self._world
        call = world.log.begin(account=self._account.name, kind=kind, place=place)
        if self._session is not None:
            world.sessions.use(self._session, kind)
        try:
            if world.on_point is not None:
                await world.on_point(f"{kind}.began")
            if latency_s := world.profile.latency_of(kind):
                await world.clock.sleep(latency_s)
            world.advance()
            self._check(kind)
            if not world.faults.quiet:
                self._fail_before(kind)
            if world.on_point is not None:
                await world.on_point(f"{kind}.before_effect")
            answer = effect(call)
            if world.on_point is not None:
                await world.on_point(f"{kind}.after_effect")
            self._fail_after(kind)
        except BaseException as error:
            wait_s = error.seconds if isinstance(error, SimFlood) else 0.0
            world.log.finish(call, type(error).__name__, wait_s=wait_s)
            raise
        world.log.finish(call, "ok")
        return answer

    def _check(self, kind: str) -> None:
        """Refuse what the account may not do (any longer, or so often)."""
        state = self._account.state
        if self._closed:
            raise SimClosed("the connection is closed")
        if state == "banned":
            raise SimBanned(f"{self._account.name} is banned")
        if state == "logged_out" or self._account.destroyed:
            raise SimAuthError(f"{self._account.name} is signed out")
        if state == "restricted" and kind in _SENDING:
            raise SimRestricted(f"{self._account.name} may not send")
        counted = COUNTED_AS.get(kind)
        limit = None if counted is None else self._world.profile.flood_per_minute.get(counted)
        if counted is not None and limit is not None:
            self._account.count_call(counted, limit_per_minute=limit, now_s=self._world.clock.monotonic())

    def _fail_before(self, kind: str) -> None:
        world, account = self._world, self._account
        if self._strikes("flood"):
            raise SimFlood(world.faults.choices("flood", account.name).uniform(*FLOOD_S))
        if self._strikes("timeout_before"):
            raise SimTimeout(kind)
        if self._strikes("disconnect"):
            world.disconnect(account.name)
            raise SimDisconnected(kind)
        if self._strikes("ban"):
            account.state = "banned"
            world.disconnect(account.name)
            raise SimBanned(f"{account.name} is banned")

    def _fail_after(self, kind: str) -> None:
        if self._strikes("timeout_after"):
            raise SimTimeout(kind)

    def _strikes(self, fault: str) -> bool:
        return self._world.faults.strikes(fault, self._account.name)

    def _discover(self) -> list[FoundChannel]:
        world, account = self._world, self._account.name
        streams = [
            FoundChannel(
                stream.key,
                stream.title,
                "stream",
                parent=stream.parent,
                topics=tuple(stream.topics),
                continues=stream.continues,
            )
            for stream in world.streams.values()
            if world.sees(account, stream)
        ]
        listings = [
            FoundChannel(listing.key, listing.title, "listing", is_series=True)
            for listing in world.listings.values()
        ]
        groups = [
            FoundChannel(group.key, group.title, "target")
            for group in world.groups.values()
            if group.members is None or account in group.members
        ]
        return [*streams, *listings, *groups]

    def _heads(self, streams: Sequence[str]) -> dict[str, Head]:
        world = self._world
        if len(streams) > world.profile.heads_per_call:
            raise SimBadRequest(f"at most {world.profile.heads_per_call} heads a call")
        known = (world.streams[key] for key in streams if key in world.streams)
        return {stream.key: self._head(stream) for stream in known if world.sees(self._account.name, stream)}

    def _head(self, stream: Stream) -> Head:
        return head_of(self._world, self._account, stream)

    def _page(self, stream: Stream, request: PageRequest) -> Page:
        return page_of(self._world, self._account, stream, request)

    def _message(self, stream: str, key: str) -> Message | None:
        row = self._row(stream, key)
        if row is None:
            return None
        if row.garbled:
            raise SimBadRequest(f"message {key} cannot be parsed")
        self._give_links(stream, row)
        return self._world.tell(row, shift=self._account.shift)

    def _answer_list(self, listing: str, cursor: Mapping[str, str]) -> Listed:
        return self._world.on_list(lambda place: self._list(listing, place), cursor)

    def _list(self, listing: str, cursor: Mapping[str, str]) -> Listed:
        if listing not in self._world.listings:
            raise SimNotFound(f"there is no listing {listing}")
        entries = self._world.listings[listing].newest(self._world.clock.now())
        validators = dict(validators_of(entries))
        if cursor.get("etag") == validators["etag"]:
            return Listed((), validators, unchanged=True)
        return Listed(entries, validators, complete=self._world.listings[listing].complete)

    def _sweep(self, site: str, cursor: Mapping[str, str]) -> Swept:
        """Tell what has changed on a host in the order of its changes; the last one told is told again."""
        now = self._world.clock.now()
        if not cursor:
            return Swept({}, {"since": now.isoformat()})
        listings = [one for one in self._world.listings.values() if one.host == site]
        since = datetime.fromisoformat(cursor["since"])
        changed = sorted(
            (at, listing.key, entry.key, entry)
            for listing in listings
            for at, entry in listing.changed_since(since, now)
        )
        # What changed in one moment is told together, so that a cursor is a time alone.
        end = self._world.profile.page_size
        while 0 < end < len(changed) and changed[end][0] == changed[end - 1][0]:
            end += 1
        found: dict[str, tuple[Entry, ...]] = {}
        for _, listing_key, _, entry in changed[:end]:
            found[listing_key] = (*found.get(listing_key, ()), entry)
        told_until = changed[min(end, len(changed) - 1)][0] if changed else since
        return Swept(found, {"since": told_until.isoformat()}, more=len(changed) > end)

    def _open_file(self, stream: str, message_key: str, attachment_key: str) -> bytes:
        world = self._world
        row = self._row(stream, message_key)
        if row is None:
            raise SimNotFound(f"message {message_key} is gone")
        name = self._account.name
        if self._strikes("expired_link"):
            world.links.end_one(account=name, stream=stream, position=row.position)
        if world.links.is_stale(
            account=name, stream=stream, position=row.position, sent_ms=row.arrived_ms, now_ms=world.now_ms
        ):
            raise SimLinkExpired(f"the link to {attachment_key} of message {message_key} has expired")
        files = {f"a{n}": file for n, file in enumerate(write_row(row, at_ms=world.now_ms).files)}
        if attachment_key not in files:
            raise SimNotFound(f"message {message_key} has no file {attachment_key}")
        return file_bytes(files[attachment_key])

    async def _send(self, kind: str, target: str, key: str, part: Callable[[], Part]) -> Sent:
        try:
            sent = await self._call(
                kind,
                target,
                lambda call: accept_send(self._world, call, self._group(target), part(), key=key),
            )
        except SimDuplicate:
            # The refusal is the proof that the first one arrived; the platform does not say as what.
            return Sent(key="", sent_at=self._world.clock.now())
        return Sent(sent.key, sent.sent_at)

    def _forwarded(self, stream: str, message_key: str) -> Part:
        row = self._row(stream, message_key)
        if row is None:
            raise SimNotFound(f"message {message_key} is gone")
        return Part(text=f"forwarded {stream}/{message_key}")

    def _group(self, key: str) -> SimGroup:
        return find_group(self._world, account=self._account.name, key=key)

    def _stream(self, key: str) -> Stream:
        stream = self._world.stream(key)
        if not self._world.sees(self._account.name, stream):
            raise SimNotFound(f"{self._account.name} cannot see {key}")
        return stream

    def _row(self, stream: str, key: str) -> Row | None:
        """Return a message that exists, whether searches find it yet or not."""
        if not key.isdecimal():
            raise SimBadRequest(f"{key!r} is no key of a message")
        now_ms = self._world.now_ms
        row = self._stream(stream).row_at(int(key) - self._account.shift, now_ms=now_ms)
        return None if row is None or row.is_deleted(now_ms) else row

    def _give_links(self, stream: str, row: Row) -> None:
        self._world.links.give(
            account=self._account.name, stream=stream, position=row.position, now_ms=self._world.now_ms
        )

    def _connect(self) -> Connection:
        connection = self._world.connect(self._account.name)
        self._connections.append(connection)
        return connection

    def _take_events(self, connection: Connection) -> Iterator[LiveEvent]:
        self._world.advance()
        while (delivery := connection.take(self._world.now_ms)) is not None:
            yield self._tell_event(connection, delivery)

    def _tell_event(self, connection: Connection, delivery: Delivery) -> LiveEvent:
        happening = delivery.happening
        row, kind, stream = happening.row, happening.kind, happening.stream
        position = row.position + self._account.shift
        proven = None
        if self._world.profile.live == "proof":
            proven = connection.continuity.prove(
                delivery.number, stream=stream, position=position if kind == "message" else None
            )
        message = None
        if kind != "delete" and not row.garbled:
            message = self._world.tell(row, shift=self._account.shift, at_ms=happening.at_ms)
            self._give_links(stream, row)
        return LiveEvent(kind, stream=stream, message=message, key=str(position), proven=proven)

    async def _wait(self, connection: Connection) -> None:
        """Wait until something is put on its way, or until its time has come."""
        clock = self._world.clock
        connection.woken.clear()
        waits: set[asyncio.Future[Any]] = {asyncio.ensure_future(connection.woken.wait())}
        next_ms = self._world.timeline.next_ms(connection)
        if next_ms is not None:
            waits.add(asyncio.ensure_future(clock.sleep(clock.real_s_until(from_ms(next_ms)))))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
