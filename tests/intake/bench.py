"""A world, an account that follows its streams, and a hand that carries out what is due."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID, uuid4

from headgate.app.parts import Parts, build_parts
from headgate.connectors.protocol import CallKind, LaneDefault
from headgate.domain.streams.messages import LiveEvent, Message
from headgate.intake.channels import requests
from headgate.intake.channels.discovery import follow_all
from headgate.intake.streams.live import LiveIntake
from headgate.jobs.stepper import Stepper
from headgate.jobs.tick import Tick
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import load_settings
from headgate.lanes.links import AccountRef
from headgate.storage.channels import intake_settings
from headgate.storage.channels.requests import ScanWish
from headgate.storage.database import Connection, Database, Tx, connect
from headgate.storage.queries import QueryFile
from headgate.storage.streams.explain import Explanation, explain_stream
from headgate.testing import PRESETS, Profile, SimulatedConnector, VirtualClock, World

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
REST_S = 5 * 3600.0
NO_DOWNLOADS = {"HEADGATE_DATA_DIR": "/nonexistent", "HEADGATE_FILES_DOWNLOADS_AT_ONCE": "0"}
"""Longer than any stream rests that is not cold."""
HEARTBEAT_S = 60.0
DEFAULT_PROFILE = PRESETS["telegram_like"].but(lenses=("everything",))
"""One lens, so that tests which are about something else count one call a page."""

T = TypeVar("T")

Q = QueryFile(
    "intake tests",
    """
-- name: stream
select c.id, s.head, s.due_at, s.scanned_at, s.message_count, s.total_messages_scanned, s.reason,
       coalesce((select range_intersect_agg(v.ranges) from coverage v
                 where v.channel_id = c.id and v.lens = any(s.lenses)), '{}')::text as ranges
from channel c join stream s on s.channel_id = c.id
where c.key = %(key)s

-- name: titles
select i.title from item i join channel c on c.id = i.channel_id where c.key = %(key)s order by i.title

-- name: sightings
select message_key || '/' || attachment_key from sighting where verdict = 'kept' order by 1

-- name: scans
select status || ' ' || reason || ' ' || pages || ' ' || messages from scan order by queued_at, id

-- name: deleted
select message_key from sighting where deleted_at is not null order by 1

-- name: verdicts
select file_name || url || ' ' || verdict from sighting s join channel c on c.id = s.channel_id
where c.key = %(key)s order by 1

-- name: hidden
select i.title from item i join channel c on c.id = i.channel_id where c.key = %(key)s and i.hidden order by 1

-- name: let_jobs_wait_less
-- What the engine and the lanes wait for lies in real time.
update pgqueuer set execute_after = execute_after - %(by)s::interval, heartbeat = heartbeat - %(by)s::interval

-- name: let_lanes_wait_less
update lane set tat = tat - %(by)s::interval, cool_until = cool_until - %(by)s::interval

-- name: disable
update channel set message_scan_enabled = false where key = %(key)s

-- name: reset
with raised as (
    update stream set epoch = epoch + 1
)
update coverage set past_ranges = past_ranges + ranges, ranges = '{}'
""",
)


@dataclass(frozen=True)
class StreamSeen:
    """What is known of a stream."""

    id: UUID
    head: int | None
    due_at: datetime | None
    scanned_at: datetime | None
    message_count: int
    total_messages_scanned: int
    reason: str
    ranges: str


class ProcessGone(BaseException):
    """The process ends here, and nothing of it goes on."""


@dataclass
class Bench:
    """The product around one database, in hand-moved time."""

    database: Database
    url: str
    clock: VirtualClock
    world: World
    parts: Parts
    claimer: Stepper | None = None
    data_dir: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """More settings, as a process finds them."""
    _ticker: Tick | None = None
    _processes: int = 1
    _connections: list[Connection] = field(default_factory=list[Connection])

    async def follow(self, name: str = "reader") -> None:
        if name not in self.world.accounts:
            self.world.add_account(name)
        await follow_all(self.database, self.parts.links, self.parts.ids, self.clock, name=name)

    async def stepper(self) -> Stepper:
        if self.claimer is None:
            connection = await connect(self.url)
            self._connections.append(connection)
            self.claimer = Stepper(self.parts.execution, connection, uuid4(), HEARTBEAT_S)
        return self.claimer

    async def tick(self) -> None:
        if self._ticker is None:
            self._ticker = self.parts.tick()
        await self._ticker.tick(self.clock.now())

    async def step(self) -> bool:
        """Carry out one job, after a tick if none is waiting; false if there is none even then."""
        stepper = await self.stepper()
        job = await stepper.claim()
        if job is None:
            await self.tick()
            job = await stepper.claim()
        if job is None:
            return False
        _, settlement = await stepper.execute(job)
        await stepper.settle(job, settlement)
        return True

    async def work(self) -> int:
        """Carry out jobs until none is left and no tick makes one; returns how many there were."""
        done = 0
        while await self.step():
            done += 1
        return done

    async def pass_time(self, seconds: float) -> None:
        """Move the time, also that of the engine and the lanes."""
        self.clock.advance(seconds)
        for name in ("let_jobs_wait_less", "let_lanes_wait_less"):
            await self.change(name, by=timedelta(seconds=seconds))

    async def rest(self, seconds: float = REST_S) -> int:
        """Let time pass, then work."""
        await self.pass_time(seconds)
        return await self.work()

    async def catch_up(self) -> None:
        """Wait until the newest message is old enough to be proven, and read what there is."""
        for _ in range(3):
            await self.rest(60)

    async def restart(self) -> None:
        """Go on in another process: nothing is left of the old one, and its jobs are free again."""
        self.claimer = self._ticker = None
        self.world.on_point = None
        await self.change("let_jobs_wait_less", by=timedelta(seconds=10 * HEARTBEAT_S))
        self._processes += 1
        self.parts = make_parts(
            self.database,
            self.url,
            self.clock,
            self.world,
            seed=self._processes,
            data_dir=self.data_dir,
            environment=self.environment,
        )

    def at_next(self, point: str, act: Callable[[], Awaitable[None]]) -> None:
        """Do something once, in the middle of the platform's next call that comes by this point."""

        async def once(name: str) -> None:
            if name == point:
                self.world.on_point = None
                await act()

        self.world.on_point = once

    def fail(self, point: str, error: BaseException) -> None:
        """Let every call fail that comes by this point, until `mend`."""

        async def always(name: str) -> None:
            if name == point:
                raise error

        self.world.on_point = always

    def fail_next(self, point: str, error: BaseException) -> None:
        """Let the next call fail that comes by this point."""

        async def act() -> None:
            raise error

        self.at_next(point, act)

    def mend(self) -> None:
        self.world.on_point = None

    async def account(self, name: str = "reader") -> AccountRef:
        rows = await self.rows("select id from account where name = $1", name)
        return AccountRef(rows[0]["id"], "simulated", name, established=True)

    async def live(self) -> LiveIntake:
        parts = self.parts
        account = await self.account()
        manifest = parts.links.manifest(account.platform)
        return LiveIntake(account, manifest, self.database, self.clock, parts.ids, parts.rules)

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[None, None]:
        """Listen as the product does; what was posted in the block is heard, and written when it ends."""
        live = await self.live()
        task = asyncio.create_task(live.run(self.parts.links))
        connections = self.world.timeline.connections
        while not connections:  # noqa: ASYNC110 - the world sets no event
            await asyncio.sleep(0)
        yield
        while connections[0].next_ms() is not None:  # noqa: ASYNC110 - likewise
            await asyncio.sleep(0)
        self.world.disconnect("reader")
        await task

    async def hear(self, *messages: Message, stream: str = "packs") -> None:
        """Take messages in as live events that prove nothing."""
        live = await self.live()
        for message in messages:
            live.take(LiveEvent("message", stream, message))
        await live.flush()

    async def ask(self, wish: ScanWish | None = None, *, key: str = "packs") -> requests.AskedScan:
        """Want a scan as a person does."""
        channel_id = (await self.stream(key)).id
        now, ids = self.clock.now(), self.parts.ids
        return await self.do(
            lambda tx: requests.ask_scan(tx, channel_id, wish or ScanWish(), ids=ids, now=now)
        )

    async def switch(self, key: str = "packs", *, on: bool) -> None:
        """Turn a channel's switch as a person does."""
        (row,) = await self.rows("select id from channel where key = $1", key)
        attempt = requests.enable if on else requests.disable
        await self.do(lambda tx: attempt(tx, row["id"], now=self.clock.now()))

    async def set(self, key: str = "packs", **settings: Any) -> None:
        """Replace the settings of a channel."""
        (row,) = await self.rows("select id from channel where key = $1", key)
        now = self.clock.now()
        await self.do(lambda tx: intake_settings.set_channel(tx, row["id"], settings, now=now))

    async def stream(self, key: str = "packs") -> StreamSeen:
        async with self.database.transaction() as tx:
            row = await tx.one(StreamSeen, Q["stream"], key=key)
        assert row is not None
        return row

    async def explain(self, key: str = "packs") -> Explanation:
        channel_id = (await self.stream(key)).id
        explanation = await self.do(lambda tx: explain_stream(tx, channel_id))
        assert explanation is not None
        return explanation

    async def reasons(self, key: str = "packs") -> list[str]:
        """Return the reasons of what was decided, in their order."""
        decisions = (await self.explain(key)).decisions
        return [decision.reason for decision in sorted(decisions, key=lambda one: one.number)]

    async def do(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        async with self.database.transaction() as tx:
            return await work(tx)

    async def rows(self, sql: str, *arguments: Any) -> list[dict[str, Any]]:
        return await self.do(lambda tx: tx.raw(sql, arguments))

    async def column(self, name: str, **parameters: str) -> list[str]:
        async with self.database.transaction() as tx:
            return await tx.column(Q[name], **parameters)

    async def change(self, name: str, **parameters: Any) -> None:
        async with self.database.transaction() as tx:
            await tx.execute(Q[name], **parameters)

    def calls(self, kind: str) -> int:
        """Return how many calls of a kind the platform has seen."""
        return self.world.log.counts[kind]

    def places(self, stream: str = "packs") -> list[str]:
        """Return what the world holds, as the sightings should name it."""
        return sorted(
            f"{message.key}/{attachment.key}"
            for message in self.world.messages(stream)
            for attachment in message.attachments
        )

    async def close(self) -> None:
        for connection in self._connections:
            await connection.close()


def build_bench(
    database: Database,
    url: str,
    profile: Profile = DEFAULT_PROFILE,
    *,
    lanes: Mapping[CallKind, LaneDefault] | None = None,
    data_dir: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Bench:
    """Put a world with one account and one stream around a database."""
    # Lanes wait on the clock; a pace without bounds keeps a hand-moved clock from standing still.
    unbounded = {
        kind: type(lane)(per_minute=1_000_000, burst=100_000) for kind, lane in profile.lanes.items()
    }
    clock = VirtualClock(START)
    world = World(1, clock, profile.but(lanes={**unbounded, **(lanes or {})}))
    world.add_account("reader")
    world.add_stream("packs", title="Packs")
    parts = make_parts(database, url, clock, world, data_dir=data_dir, environment=environment)
    return Bench(database, url, clock, world, parts, data_dir=data_dir, environment=environment or {})


def make_parts(
    database: Database,
    url: str,
    clock: VirtualClock,
    world: World,
    *,
    seed: int = 1,
    data_dir: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Parts:
    """Put a process together; each one makes ids of its own. It downloads only if it has a folder."""
    own = NO_DOWNLOADS if data_dir is None else {"HEADGATE_DATA_DIR": str(data_dir)}
    settings = load_settings({**own, **(environment or {})})
    return build_parts(
        settings,
        url,
        database,
        clock=clock,
        randomness=Randomness(seed),
        connectors={"simulated": SimulatedConnector(world)},
    )
