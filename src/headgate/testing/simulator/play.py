"""A whole play: the product on a real PostgreSQL against a faulty world, from one seed, and its judgement."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime

from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.database import Connection
from headgate.testing.faults import FaultRates
from headgate.testing.platform import SimulatedConnector
from headgate.testing.profiles import PRESETS
from headgate.testing.simulator.calls import check_calls, count_reads
from headgate.testing.simulator.checks import check_always, check_rest
from headgate.testing.simulator.crowd import Crowd
from headgate.testing.simulator.database import StagedDatabase, connect_shadowed
from headgate.testing.simulator.person import Person
from headgate.testing.simulator.process import Process, ProductFactory
from headgate.testing.simulator.stage import Perils, Stage, StageClock, Troupe
from headgate.testing.world import World

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
ACCOUNTS = ("reader", "second")
STREAMS = 3
CHECK_S = 15.0
"""How often it is checked, while everything goes wrong, what must be true at every moment."""
VISIT_S = 20.0
"""How often a person looks whether something waits for a person."""


@dataclass(frozen=True)
class Script:
    """How a play goes: what goes wrong, for how long, and how long it may take to come to rest."""

    rates: FaultRates
    perils: Perils
    profile: str = "telegram_like"
    troubled_s: float = 50.0
    rest_s: float = 1200.0
    processes: int = 2
    history: int = 40
    impatient: bool = False
    resets: bool = True
    """In the end everything is read anew, so that also edits are known which nobody could hear of."""


@dataclass(frozen=True)
class Outcome:
    """What came of a play."""

    seed: int
    failures: list[str]
    points: int
    crashes: int
    virtual_s: float
    items: int
    calls: int
    trace: str


@dataclass
class Play:
    """Directs one seed from the first curtain to the judgement."""

    seed: int
    url: str
    script: Script
    build: ProductFactory
    processes: list[Process] = field(default_factory=list[Process])
    gone: list[Process] = field(default_factory=list[Process])

    async def run(self) -> Outcome:
        async with await connect_shadowed(self.url, "director") as director:
            await _tell_time(director, START)
            stage = Stage(self.seed, START, tell_time=lambda now: _tell_time(director, now))
            world = self._build_world(stage)
            try:
                return await self._run(stage, world, director)
            finally:
                await self._dispose()

    async def _run(self, stage: Stage, world: World, director: Connection) -> Outcome:
        self._randomness = Randomness(self.seed).fork("processes")
        self._connector = SimulatedConnector(world)
        for _ in range(self.script.processes):
            self._start_process(stage)
        person = self._invite_person(stage, world)
        failures = await self._trouble(stage, world, director, person)
        world.faults.stop()
        for account in world.accounts:
            world.restore(account)
            person.signed_in_s.setdefault(account, []).append(stage.elapsed_s)
        # The last one must do alone, which also makes the rest of the play shorter.
        for process in self.processes[1:]:
            await self._lose(process, world, director)
        failures = failures or await self._go_through_rest(stage, world, director, person)
        return Outcome(
            seed=self.seed,
            failures=[*failures, *check_calls(world, person)],
            points=stage.points,
            crashes=stage.crashes,
            virtual_s=stage.elapsed_s,
            items=sum(len(message.attachments) for key in world.streams for message in world.messages(key)),
            calls=world.log.counts.total(),
            trace=stage.trace,
        )

    def _invite_person(self, stage: Stage, world: World) -> Person:
        choices = Randomness(self.seed).fork("person")
        clock = StageClock(stage)
        self._desk = StagedDatabase(self.url, clock, stage, name="person")
        product = self.build(self._desk, clock, choices.fork("product"), self._connector)
        return Person(stage, world, self._desk, product, choices, Ids(clock, choices.fork("ids")))

    async def _trouble(self, stage: Stage, world: World, director: Connection, person: Person) -> list[str]:
        """Let everything go wrong for a while; what must be true at every moment is looked at meanwhile."""
        crowd = Crowd(stage, world, Randomness(self.seed).fork("crowd"))
        troupes = [stage.enter("crowd", safe=True), stage.enter("person", safe=True)]
        troupes[0].start(crowd.live_on())
        troupes[1].start(person.meddle())
        stage.perils = self.script.perils
        failures: list[str] = []
        while stage.elapsed_s < self.script.troubled_s and not failures:
            until_s = min(stage.elapsed_s + CHECK_S, self.script.troubled_s)
            await stage.play(until_s=until_s, between=lambda: self._replace_dead(stage, world, director))
            failures = await check_always(world, director)
        stage.perils = Perils()
        for troupe in troupes:
            await self._see_off(stage, troupe)
        return failures

    async def _see_off(self, stage: Stage, troupe: Troupe) -> None:
        """Let people go home; one who is in the middle of something leaves it."""
        stage.forget(troupe)
        troupe.over = True
        for task in troupe.tasks:
            task.cancel()
        await asyncio.gather(*troupe.tasks, return_exceptions=True)

    async def _go_through_rest(
        self, stage: Stage, world: World, director: Connection, person: Person
    ) -> list[str]:
        """Come to rest; then have unreadable messages mended, which needs no reading; then read all anew."""
        if failures := await self._come_to_rest(stage, world, director, person):
            return failures
        reads = count_reads(world)
        world.mend()
        if failures := await self._come_to_rest(stage, world, director, person, retry=True):
            return failures
        if count_reads(world) > reads:
            return ["a stream was read for the sake of single messages"]
        if not self.script.resets:
            return []
        return await self._come_to_rest(stage, world, director, person, reset=True)

    async def _come_to_rest(
        self,
        stage: Stage,
        world: World,
        director: Connection,
        person: Person,
        *,
        retry: bool = False,
        reset: bool = False,
    ) -> list[str]:
        """Go on without faults until nothing is left to do; a person mends what waits for one."""
        deadline_s = stage.elapsed_s + self.script.rest_s
        failures = ["nothing was looked at"]
        visit = 0
        while failures and stage.elapsed_s < deadline_s:
            troupe = stage.enter("person", safe=True)
            if visit or not (retry or reset):
                troupe.start(person.mend(impatient=self.script.impatient and not retry))
            elif retry:
                troupe.start(person.retry_all(impatient=self.script.impatient))
            else:
                troupe.start(person.reset_all())
            visit += 1
            until_s = stage.elapsed_s + VISIT_S
            await stage.play(until_s=until_s, between=lambda: self._replace_dead(stage, world, director))
            await self._see_off(stage, troupe)
            failures = await check_rest(world, director, last_forms=reset)
        return failures

    async def _replace_dead(self, stage: Stage, world: World, director: Connection) -> None:
        for process in [process for process in self.processes if process.troupe.crashed]:
            await self._lose(process, world, director)
            self._start_process(stage)

    async def _lose(self, process: Process, world: World, director: Connection) -> None:
        self.processes.remove(process)
        self.gone.append(process)
        # Whatever it was about to do, it never does.
        process.troupe.crashed = True
        await process.bury(director)
        world.disconnect()

    def _start_process(self, stage: Stage) -> None:
        number = len(self.processes) + len(self.gone)
        process = Process(
            stage=stage,
            url=self.url,
            name=f"process {number}",
            build=self.build,
            connector=self._connector,
            randomness=self._randomness.fork(str(number)),
        )
        process.start()
        self.processes.append(process)

    def _build_world(self, stage: Stage) -> World:
        world = World(self.seed, StageClock(stage), PRESETS[self.script.profile], rates=self.script.rates)
        for account in ACCOUNTS:
            world.add_account(account)
        for number in range(STREAMS):
            key = f"stream-{number}"
            world.add_stream(key, topics=("General", "Releases") if number == 0 else ())
            world.fill(key, self.script.history)
        world.on_point = stage.point
        return world

    async def _dispose(self) -> None:
        await self._desk.close()
        for process in [*self.processes, *self.gone]:
            await process.dispose()
            await process.close()


async def _tell_time(director: Connection, now: datetime) -> None:
    await director.execute("update sim.clock set at = %s", (now,))
