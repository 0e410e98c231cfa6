"""A whole play: the product on a real PostgreSQL against a faulty world, from one seed, and its judgement."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from headgate.kernel.randomness import Randomness
from headgate.storage.database import Connection
from headgate.testing.faults import FaultRates
from headgate.testing.platform import SimulatedConnector
from headgate.testing.profiles import PRESETS
from headgate.testing.simulator.checks import check_world
from headgate.testing.simulator.database import connect_shadowed
from headgate.testing.simulator.process import Process, ProductFactory
from headgate.testing.simulator.stage import Perils, Stage, StageClock
from headgate.testing.world import World

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
ACCOUNT = "reader"
STREAMS = 3


@dataclass(frozen=True)
class Script:
    """How a play goes: what goes wrong, for how long, and how long it may take to come to rest."""

    rates: FaultRates
    perils: Perils
    profile: str = "telegram_like"
    troubled_s: float = 60.0
    rest_s: float = 1200.0
    processes: int = 2
    history: int = 60
    impatient: bool = False


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
        people = stage.enter("people")
        people.start(_live_on(stage, world, Randomness(self.seed).fork("people")))
        stage.perils = self.script.perils
        await stage.play(until_s=self.script.troubled_s, between=lambda: self._replace_dead(stage, world))
        stage.forget(people)
        people.tasks[0].cancel()
        stage.perils = Perils()
        world.calm()
        await self._come_to_rest(stage, world, director)
        return Outcome(
            seed=self.seed,
            failures=await check_world(world, director),
            points=stage.points,
            crashes=stage.crashes,
            virtual_s=stage.elapsed_s,
            items=sum(len(message.attachments) for key in world.streams for message in world.messages(key)),
            calls=world.log.counts.total(),
            trace=stage.trace,
        )

    async def _come_to_rest(self, stage: Stage, world: World, director: Connection) -> None:
        """Go on without faults until nothing is left to do; a person mends what waits for one."""
        deadline_s = stage.elapsed_s + self.script.rest_s
        while stage.elapsed_s < deadline_s:
            await _act_as_person(director, stage, impatient=self.script.impatient)
            until_s = stage.elapsed_s + 45
            await stage.play(until_s=until_s, between=lambda: self._replace_dead(stage, world))
            if not await check_world(world, director):
                return

    async def _replace_dead(self, stage: Stage, world: World) -> None:
        for process in [process for process in self.processes if process.troupe.crashed]:
            self.processes.remove(process)
            self.gone.append(process)
            await process.bury()
            world.disconnect()
            self._start_process(stage)

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
        world.add_account(ACCOUNT)
        for number in range(STREAMS):
            key = f"stream-{number}"
            world.add_stream(key, topics=("General", "Releases") if number == 0 else ())
            world.fill(key, self.script.history)
        world.on_point = stage.point
        return world

    async def _dispose(self) -> None:
        for process in [*self.processes, *self.gone]:
            await process.dispose()
            await process.close()


async def _live_on(stage: Stage, world: World, choices: Randomness) -> None:
    """What people do meanwhile: post, post albums and archive sets, delete."""
    while True:
        await stage.sleep(choices.uniform(0.5, 12))
        stream = choices.choice(sorted(world.streams))
        action = choices.below(10)
        if action < 6:
            world.post(stream)
        elif action < 8:
            world.post_album(stream, pictures=2 + choices.below(4))
        else:
            messages = world.messages(stream)
            world.delete(stream, choices.choice(messages[-5:]).key)


async def _act_as_person(director: Connection, stage: Stage, *, impatient: bool) -> None:
    """Sign accounts in again and replay what gave up while nothing worked; nothing else is helped along.

    An impatient person also asks for a scan of everything, which saves the play the wait for the schedule.
    """
    await director.execute("update account set state = 'active', state_reason = '' where state <> 'active'")
    await director.execute(
        "update stream set due_at = %s, wake_seq = wake_seq + 1 where exists (select from dead_letter d"
        " where d.kind = 'scan' and d.key = channel_id::text and d.state = 'open')",
        (stage.now(),),
    )
    await director.execute(
        "update dead_letter set state = 'replayed', closed_at = %s where state = 'open'", (stage.now(),)
    )
    if impatient:
        await director.execute(
            "update stream set due_at = least(due_at, %s), wake_seq = wake_seq + 1 where due_at is not null",
            (stage.now(),),
        )


async def _tell_time(director: Connection, now: datetime) -> None:
    await director.execute("update sim.clock set at = %s", (now,))
