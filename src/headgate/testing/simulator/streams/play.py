"""A whole play: the product on a real PostgreSQL against a faulty world, from one seed, and its judgement."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.database import Connection
from headgate.testing.platform.faults import FaultRates
from headgate.testing.platform.profiles import PRESETS
from headgate.testing.platform.world import World
from headgate.testing.simulator.engine.company import Company
from headgate.testing.simulator.engine.database import StagedDatabase
from headgate.testing.simulator.engine.ensemble import Ensemble
from headgate.testing.simulator.engine.lines import Lines
from headgate.testing.simulator.engine.operator import Operator
from headgate.testing.simulator.engine.process import ProductFactory
from headgate.testing.simulator.engine.stage import Perils, Stage, StageClock, TrueClock
from headgate.testing.simulator.streams.calls import check_calls, count_reads, list_rereads
from headgate.testing.simulator.streams.checks import check_always, check_rest
from headgate.testing.simulator.streams.contents import Contents
from headgate.testing.simulator.streams.crowd import Crowd
from headgate.testing.simulator.streams.group_rules import check_group_rules
from headgate.testing.simulator.streams.grouping import check_decisions
from headgate.testing.simulator.streams.person import Person
from headgate.testing.simulator.streams.punctuality import Punctuality
from headgate.testing.simulator.streams.shelf_model import check_shelf

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
ACCOUNTS = ("reader", "second")
STREAMS = 3
CHECK_S = 15.0
"""How often it is checked, while everything goes wrong, what must be true at every moment."""
ARRANGE_S = 40.0
"""How long the person arranges the library, after the platform is well again."""
VISIT_S = 20.0
"""How often a person looks whether something waits for a person."""


@dataclass(frozen=True)
class Script:
    """How a play goes: what goes wrong, for how long, and how long it may take to come to rest."""

    rates: FaultRates
    perils: Perils
    profile: str = "telegram_like"
    exclusive: bool = False
    """The platform destroys a session that is open in two places."""
    troubled_s: float = 50.0
    rest_s: float = 1200.0
    processes: int = 2
    history: int = 40
    page_size: int = 7
    """At most; so that every history spans several pages."""
    impatient: bool = False
    punctual: bool = False
    """When all is at rest it is looked how soon something new is taken in."""
    resets: bool = True
    """In the end everything is read anew, so that also edits are known which nobody could hear of."""


@dataclass(frozen=True)
class PlayOutcome:
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

    async def run(self) -> PlayOutcome:
        async with Lines(self.url) as lines:
            director = await lines.open()
            await lines.tell_time(START)
            stage = Stage(self.seed, START, tell_time=lines.tell_time)
            world = self._build_world(stage)
            self.ensemble = Ensemble(self.seed, lines, stage, world, self.build, downloads=True)
            self.contents = Contents(world)
            self.person_db = StagedDatabase(lines, StageClock(stage), stage, name="person")
            try:
                return await self._run(stage, world, director)
            finally:
                await self.person_db.close()
                await self.ensemble.dispose()

    async def _run(self, stage: Stage, world: World, director: Connection) -> PlayOutcome:
        for _ in range(self.script.processes):
            self.ensemble.start_process()
        person = self._invite_person(stage, world)
        failures = await self._trouble(stage, world, director, person)
        world.faults.stop()
        for account in world.accounts:
            world.restore(account)
            person.signed_in_s.setdefault(account, []).append(stage.elapsed_s)
        failures = failures or await self._arrange(stage, world, director, person)
        # The last one must do alone, which also makes the rest of the play shorter.
        for process in self.ensemble.processes[1:]:
            await self.ensemble.lose(process)
        failures = failures or await self._go_through_rest(stage, world, director, person)
        return PlayOutcome(
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
        connector, receiver = self.ensemble.connector, self.ensemble.receiver
        product = self.build(self.person_db, clock, choices.fork("product"), connector, receiver)
        return Person(stage, world, self.person_db, product, choices, Ids(clock, choices.fork("ids")))

    async def _trouble(self, stage: Stage, world: World, director: Connection, person: Person) -> list[str]:
        """Let everything go wrong for a while."""
        crowd = Crowd(stage, world, Randomness(self.seed).fork("crowd"))
        choices = Randomness(self.seed).fork("operator")
        operator = Operator(stage, self.ensemble, self.script.perils, choices)
        company = Company(stage)
        company.start("crowd", crowd.live_on())
        company.start("person", person.meddle())
        company.start("librarian", person.arrange_library())
        company.start("operator", operator.live_on())
        return await self._endure(company, stage, world, director, person, until_s=self.script.troubled_s)

    async def _arrange(self, stage: Stage, world: World, director: Connection, person: Person) -> list[str]:
        """Let the platform behave, so that the person has much to group while processes still die."""
        company = Company(stage)
        company.start("person", person.try_to_mend(impatient=self.script.impatient))
        company.start("librarian", person.arrange_library())
        until_s = stage.elapsed_s + ARRANGE_S
        return await self._endure(company, stage, world, director, person, until_s=until_s)

    async def _endure(
        self,
        company: Company,
        stage: Stage,
        world: World,
        director: Connection,
        person: Person,
        *,
        until_s: float,
    ) -> list[str]:
        """Let processes die for a while; what must be true at every moment is looked at meanwhile."""
        stage.perils = self.script.perils
        failures: list[str] = []
        while stage.elapsed_s < until_s and not failures:
            next_s = min(stage.elapsed_s + CHECK_S, until_s)
            await stage.play(until_s=next_s, between=self.ensemble.replace_dead)
            failures = [
                *await check_always(world, director),
                *await self.contents.check_always(director, person.product.data_dir),
                *await check_shelf(director, at_rest=False),
            ]
        stage.perils = Perils()
        await company.see_off()
        return failures

    async def _go_through_rest(
        self, stage: Stage, world: World, director: Connection, person: Person
    ) -> list[str]:
        """Come to rest; then have unreadable messages mended, which needs no reading; then read all anew."""
        if failures := await self._come_to_rest(stage, world, director, person):
            return failures
        reads, rereads = count_reads(world), await list_rereads(director)
        world.mend()
        if failures := await self._come_to_rest(stage, world, director, person, retry=True):
            return failures
        if {call.place for call in list(world.log.calls("read"))[reads:]} - rereads:
            return ["a stream was read for the sake of single messages"]
        if self.script.punctual:
            punctuality = Punctuality(stage, world, director, person, self.ensemble.replace_dead)
            if failures := await punctuality.check(patient=not self.script.impatient):
                return failures
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
            company = Company(stage)
            if visit or not (retry or reset):
                company.start("person", person.mend(impatient=self.script.impatient and not retry))
            elif retry:
                company.start("person", person.retry_all(impatient=self.script.impatient))
                company.start("librarian", person.rules.turn_all())
            else:
                company.start("person", person.reset_all())
            visit += 1
            until_s = stage.elapsed_s + VISIT_S
            await stage.play(until_s=until_s, between=self.ensemble.replace_dead)
            await company.see_off()
            failures = await check_rest(world, director, last_forms=reset, pins=person.pins)
            failures += await self.contents.check_rest(director, person.product.data_dir)
            failures += await check_shelf(director, at_rest=True)
            failures += await check_decisions(director, person.grouper.decisions)
            failures += await check_group_rules(director, person.rules, person.grouper.decisions)
        return failures

    def _build_world(self, stage: Stage) -> World:
        profile = PRESETS[self.script.profile]
        profile = profile.but(
            page_size=min(profile.page_size, self.script.page_size), exclusive=self.script.exclusive
        )
        world = World(self.seed, TrueClock(stage), profile, rates=self.script.rates)
        for account in ACCOUNTS:
            world.add_account(account)
        for number in range(STREAMS):
            key = f"stream-{number}"
            world.add_stream(key, topics=("General", "Releases") if number == 0 else ())
            world.fill(key, self.script.history)
        # Several pages of nothing in the middle, and an end that is there no more.
        world.clear("stream-1", first=self.script.history // 4, count=self.script.history // 2)
        world.clear("stream-2", first=self.script.history - 2, count=2)
        world.on_point = stage.point
        return world
