"""The whole intake in the hands of a state machine: stepped by hand, and mortal at every statement."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID, uuid4

import psycopg
from bench import NO_DOWNLOADS, START
from psycopg import sql

from headgate.app.parts import Parts, build_parts
from headgate.intake.channels.discovery import follow_all
from headgate.intake.streams.live import LiveIntake
from headgate.jobs.stepper import Stepper
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import load_settings
from headgate.lanes.links import AccountRef
from headgate.testing import PRESETS, SimulatedConnector, VirtualClock, World
from headgate.testing.listener import LinkListener
from headgate.testing.simulator.engine.database import SHADOW_NOW, StagedDatabase
from headgate.testing.simulator.engine.lines import Lines
from headgate.testing.simulator.engine.theatre import at_database
from headgate.testing.simulator.streams.checks import check_always, check_rest

HEARTBEAT_S = 5.0
MAX_STEPS = 400


class Died(BaseException):
    """The process is gone; nothing of it goes on."""


@dataclass
class Fate:
    """Counts the points of a process until it dies; stands where the stage stands in a play."""

    points_left: int | None = None

    async def point(self, _label: str, *, switch: bool = True, undone: bool = False) -> None:
        if self.points_left is None:
            return
        self.points_left -= 1
        if self.points_left < 0:
            raise Died

    def hold(self) -> None: ...

    def release(self) -> None: ...

    def loses_connection(self) -> bool:
        return False


@dataclass
class MachineBench:
    """One database, one world, and one process after another."""

    url: str
    profile: str
    clock: VirtualClock = field(default_factory=lambda: VirtualClock(START))
    fate: Fate = field(default_factory=Fate)
    processes: int = 0

    def __post_init__(self) -> None:
        self.lines = Lines(self.url)
        profile = PRESETS[self.profile]
        lanes = {
            kind: type(lane)(per_minute=1_000_000, burst=100_000) for kind, lane in profile.lanes.items()
        }
        self.world = World(1, self.clock, profile.but(lanes=lanes, flood_per_minute={}))
        self.world.add_account("reader")
        for key in ("packs", "talk"):
            self.world.add_stream(key, topics=("General", "Releases") if key == "packs" else ())
            self.world.fill(key, 12)

    async def open(self) -> None:
        self.director = await self.lines.open()
        await self.advance(0)
        await self.start()
        await self.follow()

    async def start(self) -> None:
        """Begin a process."""
        self.processes += 1
        self.database = StagedDatabase(self.lines, self.clock, cast("Any", self.fate), name="machine")
        self.parts = self._build()
        self.stepper = Stepper(self.parts.execution, await self.lines.open(), uuid4(), HEARTBEAT_S)
        self.live: LiveIntake | None = None
        self.listener: LinkListener | None = None

    async def die(self) -> None:
        """End the process, and begin another one."""
        await self.end()
        self.fate.points_left = None
        self.world.disconnect()
        await self.start()

    async def end(self) -> None:
        await self._stop_listening()
        self.lines.cut(self.stepper.connection)
        await self.database.close()

    async def close(self) -> None:
        await self.end()
        await self.lines.close()

    async def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.world.advance()
        await self.lines.tell_time(self.clock.now())

    async def follow(self) -> None:
        await follow_all(self.database, self.parts.links, self.parts.ids, self.clock, name="reader")

    async def work(self, steps: int) -> int:
        """Tick and carry out so many jobs; returns how many there were."""
        done = 0
        while done < steps:
            await self.parts.tick().tick(self.clock.now())
            job = await self.stepper.claim()
            if job is None:
                break
            _, settlement = await self.stepper.execute(job)
            await self.stepper.settle(job, settlement)
            done += 1
        return done

    async def connect(self) -> None:
        """Listen anew; whatever was not written is lost."""
        await self._stop_listening()
        account = await self.account()
        self.listener = LinkListener(await self.parts.links.link(account))
        await self.listener.start()
        manifest = self.parts.links.manifest(account.platform)
        self.live = LiveIntake(account, manifest, self.database, self.clock, self.parts.ids, self.parts.rules)

    async def hear(self, *, write: bool) -> None:
        """Take in what was told meanwhile; write it, or not yet."""
        if self.listener is None or self.live is None:
            return
        await self.listener.catch_up()
        events, self.listener.events = self.listener.events, []
        for event in events:
            self.live.take(event)
        if write:
            await self.live.flush()
        if self.listener.ended:
            self.listener = self.live = None

    async def account(self) -> AccountRef:
        cursor = await self.director.execute("select id from account where name = 'reader'")
        row = await cursor.fetchone()
        assert row is not None
        return AccountRef(row[0], "simulated", "reader", established=True)

    async def channels(self) -> list[tuple[UUID, str]]:
        cursor = await self.director.execute(
            "select c.id, c.key from channel c join stream s on s.channel_id = c.id order by c.key"
        )
        return [(row[0], row[1]) for row in await cursor.fetchall()]

    async def check(self) -> list[str]:
        return await check_always(self.world, self.director)

    async def rest(self, *, last_forms: bool) -> list[str]:
        """Let time pass until nothing is left to do."""
        failures: list[str] = []
        for _ in range(12):
            await self.work(MAX_STEPS)
            await self.hear(write=True)
            failures = await check_rest(self.world, self.director, last_forms=last_forms)
            if not failures:
                break
            await self.advance(1900)
        return failures

    async def _stop_listening(self) -> None:
        if self.listener is not None:
            await self.listener.stop()
        self.listener = self.live = None

    def _build(self) -> Parts:
        return build_parts(
            load_settings({**NO_DOWNLOADS, "HEADGATE_JOBS_TICK_S": "3"}),
            self.url,
            self.database,
            clock=self.clock,
            # No two processes draw the same ids.
            randomness=Randomness(self.processes),
            connectors={"simulated": SimulatedConnector(self.world)},
        )


@dataclass
class Runs:
    """Runs a bench's coroutines one by one, in a loop and a database of its own."""

    server_url: str
    template: str

    def open(self, profile: str) -> MachineBench:
        self.runner = asyncio.Runner()
        self.name = f"machine_{uuid4().hex[:12]}"
        with psycopg.connect(self.server_url, autocommit=True) as connection:
            connection.execute(
                sql.SQL("create database {} template {} strategy file_copy").format(
                    sql.Identifier(self.name), sql.Identifier(self.template)
                )
            )
        url = at_database(self.server_url, self.name)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(SHADOW_NOW)
        self.bench = MachineBench(url, profile)
        self.run(self.bench.open())
        return self.bench

    def run(self, coroutine: Any) -> Any:
        return self.runner.run(coroutine)

    def close(self) -> None:
        self.run(self.bench.close())
        self.runner.close()
        with psycopg.connect(self.server_url, autocommit=True) as connection:
            connection.execute(
                sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(self.name))
            )
