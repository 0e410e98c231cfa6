"""Series with sources, users who follow them, and a service to push to, in hand-moved time."""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID, uuid4

from receiver import Receiver

from headgate.connectors.apprise_out import AppriseOut
from headgate.domain.pacing import LanePlan, Pace
from headgate.jobs.execution import Execution
from headgate.jobs.kinds import Kinds, Wake
from headgate.jobs.stepper import Stepper
from headgate.jobs.tick import Tick
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import VirtualClock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.lanes import Lanes
from headgate.outflow.notifications import follows
from headgate.outflow.notifications.notify import Notifier
from headgate.outflow.notifications.push_addresses import PushAddresses
from headgate.outflow.notifications.push_out import PushOut
from headgate.storage.access.users import Role
from headgate.storage.database import Database, Tx, connect
from headgate.storage.listings.releases import NewRelease, take_releases
from headgate.storage.notifications.follows import Subject, Switches
from headgate.storage.notifications.push_addresses import PushAddress

T = TypeVar("T")
START = datetime(2026, 3, 2, 12, tzinfo=UTC)
"""A Monday at noon."""
GATHER_S = 30.0
# Lanes wait on the clock, which stands still here.
FAST = LanePlan("push", Pace(1_000_000, burst=100_000))


@dataclass(frozen=True)
class Entry:
    """One release as a source lists it."""

    number: str
    language: str = "en"
    group: str = ""
    title: str = ""
    volume: str = ""
    key: str = ""
    published_at: datetime | None = None


@dataclass
class NewsBench:
    """Everything between what a poll finds and what a person gets."""

    database: Database
    clock: VirtualClock
    ids: Ids
    lanes: Lanes
    data_dir: Path
    receiver: Receiver
    pusher: Any = field(default_factory=AppriseOut)
    running_on: Database | None = None
    """Another way to the database for the jobs alone."""

    @property
    def now(self) -> datetime:
        return self.clock.now()

    @property
    def addresses(self) -> PushAddresses:
        return PushAddresses(self.pusher, self.lanes, self.clock, self.ids, self.data_dir, FAST)

    async def do(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        async with self.database.transaction() as tx:
            return await work(tx)

    async def rows(self, sql: str, *arguments: Any) -> list[dict[str, Any]]:
        return await self.do(lambda tx: tx.raw(sql, arguments))

    async def values(self, sql: str, *arguments: Any) -> list[Any]:
        return [next(iter(row.values())) for row in await self.rows(sql, *arguments)]

    async def user(self, name: str = "ada", role: Role = "admin") -> UUID:
        """Add a user; an administrator, who may push to the receiver on this machine."""
        user_id = self.ids.new()
        await self.rows(
            "insert into app_user (id, name, password_hash, role, created_at) values ($1, $2, '', $3, $4)",
            user_id,
            name,
            role,
            self.now,
        )
        return user_id

    async def series(self, title: str = "Solo Leveling") -> UUID:
        series_id = self.ids.new()
        await self.rows(
            "insert into series (id, title, created_at) values ($1, $2, $3)", series_id, title, self.now
        )
        return series_id

    async def source(self, title: str = "Asura", kind: str = "listing") -> UUID:
        """Add a channel; listings with their host."""
        channel_id = self.ids.new()
        await self.rows(
            "insert into channel (id, platform, key, kind, title, created_at)"
            " values ($1, 'feeds', $2, $4, $2, $3)",
            channel_id,
            title,
            self.now,
            kind,
        )
        if kind == "listing":
            await self.rows(
                "insert into host (platform, name, created_at) values ('feeds', 'a.example', $1)"
                " on conflict do nothing",
                self.now,
            )
            await self.rows(
                "insert into listing (channel_id, platform, host) values ($1, 'feeds', 'a.example')",
                channel_id,
            )
        return channel_id

    async def publish(
        self, series_id: UUID, channel_id: UUID, *entries: Entry | str, first_poll: bool = False
    ) -> None:
        """Let a poll find entries a second later, and wake the telling as it does."""
        self.clock.advance(1)
        listed = [entry if isinstance(entry, Entry) else Entry(entry) for entry in entries]

        releases = [self._release(series_id, channel_id, entry, first_poll=first_poll) for entry in listed]

        async def take(tx: Tx) -> None:
            await take_releases(tx, releases, ids=self.ids, now=self.now)
            await enqueue(tx, [Wake("notify", str(channel_id))])

        await self.do(take)

    def _release(self, series_id: UUID, channel_id: UUID, entry: Entry, *, first_poll: bool) -> NewRelease:
        return NewRelease(
            channel_id=channel_id,
            series_id=series_id,
            chapter_key=entry.number,
            place=f"{float(entry.number):09.3f}",
            number=entry.number,
            volume=entry.volume,
            chapter_title=entry.title,
            entry_key=entry.key or f"{entry.number}/{entry.language}/{entry.group}",
            title=entry.title,
            url=f"https://a.example/{entry.number}",
            language=entry.language,
            scan_group=entry.group,
            external=False,
            published_at=entry.published_at or self.now,
            fingerprint=zlib.crc32(repr(entry).encode()),
            first_poll=first_poll,
        )

    async def follow(self, user_id: UUID, subject: UUID | str, **switches: Any) -> UUID:
        """Follow a series, a channel or a search."""
        wanted = Subject(search=subject) if isinstance(subject, str) else await self._subject(subject)
        made = await self.do(
            lambda tx: follows.follow(
                tx, wanted, Switches(**switches), user_id=user_id, ids=self.ids, now=self.now
            )
        )
        return made.id

    async def _subject(self, subject_id: UUID) -> Subject:
        is_series = await self.values("select exists (select from series where id = $1)", subject_id)
        return Subject(series_id=subject_id) if is_series[0] else Subject(channel_id=subject_id)

    async def told(self, user_id: UUID | None = None) -> list[str]:
        """Return what users were told, in its order."""
        return await self.values(
            "select body from notification where user_id = coalesce($1, user_id) order by at, id", user_id
        )

    async def address(self, user_id: UUID, name: str = "phone", url: str = "") -> UUID:
        """Add an address for a user, by default the receiver's."""
        url = url or self.receiver.url
        return await self.addresses.add(self.database, url, name=name, user_id=user_id)

    async def shown_address(self, address_id: UUID) -> PushAddress:
        (user_id,) = await self.values("select user_id from push_address where id = $1", address_id)
        return await self.do(lambda tx: self.addresses.get(tx, address_id, user_id=user_id))

    async def pushes(self) -> list[tuple[str, int]]:
        """Return the state of each push, and how often it was tried."""
        rows = await self.rows("select state, attempts from push order by made_at, id")
        return [(row["state"], row["attempts"]) for row in rows]

    def kinds(self) -> Kinds:
        push_out = PushOut(
            self.pusher, self.lanes, self.clock, self.ids, self.data_dir, gather_s=GATHER_S, plan=FAST
        )
        return Kinds([Notifier(self.clock, GATHER_S).kind(), push_out.kind()])

    async def work(self) -> int:
        """Tick and carry out jobs until none is left and no tick makes one; returns how many."""
        done = 0
        async with self.stepper() as stepper:
            await self.tick()
            while True:
                job = await stepper.claim()
                if job is None:
                    await self.tick()
                    job = await stepper.claim()
                if job is None:
                    return done
                _, settlement = await stepper.execute(job)
                await stepper.settle(job, settlement)
                done += 1

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, and everything happen at the moment at which it comes due."""
        ends_at = self.now + timedelta(seconds=seconds)
        while self.now < ends_at:
            (due_at,) = await self.values("select min(due_at) from push_address where due_at > $1", self.now)
            moment = min(due_at or ends_at, ends_at)
            self.clock.advance((moment - self.now).total_seconds())
            await self.work()

    async def tick(self) -> None:
        await Tick(self.kinds(), self.database, self.clock, self.ids).tick(self.now)

    @asynccontextmanager
    async def stepper(self) -> AsyncGenerator[Stepper, None]:
        execution = Execution(
            kinds=self.kinds(),
            database=self.running_on or self.database,
            clock=self.clock,
            randomness=Randomness(2),
            ids=self.ids,
        )
        connection = await connect(self.database.url)
        try:
            yield Stepper(execution, connection, uuid4(), heartbeat_timeout_s=60.0)
        finally:
            await connection.close()


def build_news_bench(database: Database, receiver: Receiver, data_dir: Path) -> NewsBench:
    clock = VirtualClock(START)
    return NewsBench(database, clock, Ids(clock, Randomness(1)), Lanes(database, clock), data_dir, receiver)
