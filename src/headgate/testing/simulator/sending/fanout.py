"""A fan-out on the stage: reminders to many groups, with crashes and floods, judged by the platform's log."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from headgate.domain.reminders.windows import Window
from headgate.jobs.letters import replay
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.database import Connection
from headgate.testing.platform.faults import FaultRates
from headgate.testing.platform.profiles import Profile, plain
from headgate.testing.platform.world import World
from headgate.testing.simulator.engine.company import Company
from headgate.testing.simulator.engine.database import StagedDatabase
from headgate.testing.simulator.engine.ensemble import Ensemble
from headgate.testing.simulator.engine.lines import Lines
from headgate.testing.simulator.engine.operator import Operator
from headgate.testing.simulator.engine.process import Process, ProductFactory
from headgate.testing.simulator.engine.stage import Perils, Stage, StageClock, TrueClock
from headgate.testing.simulator.sending.judge import SHARES, JudgedShare, check_fanout
from headgate.testing.simulator.sending.plan import plan_runs, see_targets
from headgate.testing.simulator.sending.sharing import Sharing, check_sharing, stock_library
from headgate.testing.simulator.sending.steering import Steering

START = datetime(2026, 3, 2, 8, tzinfo=UTC)
LOOK_S = 2.0


@dataclass(frozen=True)
class FanoutEvent:
    """Something that somebody does at a moment of the play."""

    at_s: float
    do: Callable[[Fanout], Awaitable[None]]


@dataclass(frozen=True)
class FanoutScript:
    """How many groups get what from whom, and what goes wrong meanwhile."""

    targets: int = 3
    parts: Sequence[str] = ("Dear {group}", "+picture")
    """Texts; one that begins with `+` has a picture, and the rest of it is the caption."""
    accounts: Sequence[str] = ("main",)
    profile: Profile = plain
    window: Window = field(default_factory=lambda: Window(0, 1440))
    processes: int = 1
    rates: FaultRates = field(default_factory=FaultRates)
    perils: Perils = field(default_factory=Perils)
    troubled_s: float = 60.0
    longest_s: float = 12 * 3600.0
    crash_at: int | None = None
    at_close: Literal["stop", "carry"] = "stop"
    established: bool = True
    punctual: bool = False
    """Nothing goes wrong, so that everybody begins at once and nobody takes longer than the pace."""
    steered: bool = False
    """A person pauses, resumes and cancels runs, and groups shut accounts out, while things go wrong."""
    things: int = 0
    """Things in the library that a person sends on at random while things go wrong."""
    happenings: Sequence[FanoutEvent] = ()
    """What happens when, in the order of time."""


@dataclass(frozen=True)
class FanoutOutcome:
    """What came of it."""

    seed: int
    failures: list[str]
    states: list[str]
    summaries: list[str]
    messages: int
    uploads: int
    """By one account, at most."""
    doubled: int
    uncertain: int
    statements: int
    """What the jobs needed, beginnings and ends of transactions included."""
    most_in_a_minute: int
    virtual_s: float
    points: int
    crashes: int
    trace: str


@dataclass
class Fanout:
    """Directs one fan-out on a database of its own."""

    seed: int
    url: str
    script: FanoutScript
    build: ProductFactory

    async def run(self) -> FanoutOutcome:
        async with Lines(self.url) as lines:
            director = await lines.open()
            await lines.tell_time(START)
            self.stage = Stage(self.seed, START, tell_time=lines.tell_time)
            self.world = self._build_world()
            self.ensemble = Ensemble(
                self.seed,
                lines,
                self.stage,
                self.world,
                self.build,
                # Only a listener looks for accounts that no process holds any more.
                listens=self.script.profile.exclusive,
                downloads=bool(self.script.things),
            )
            self.company = Company(self.stage)
            self.person_db = StagedDatabase(lines, StageClock(self.stage), self.stage, name="person")
            try:
                await self._plan()
                await self._direct(director)
                return await self._judge(director)
            finally:
                await self.company.see_off()
                await self.person_db.close()
                await self.ensemble.dispose()

    @property
    def processes(self) -> list[Process]:
        """Those that run now."""
        return self.ensemble.processes

    def _build_world(self) -> World:
        world = World(self.seed, TrueClock(self.stage), self.script.profile, rates=self.script.rates)
        for account in self.script.accounts:
            world.add_account(account)
        for number in range(self.script.targets):
            world.add_group(f"group-{number}", title=f"Group {number}")
        world.on_point = self.stage.point
        return world

    async def _plan(self) -> None:
        """Write the reminders, and let each begin now."""
        self.ids = Ids(StageClock(self.stage), Randomness(self.seed).fork("ids"))
        async with self.person_db.transaction() as tx:
            accounts = await plan_runs(
                tx,
                self.world,
                self.script.parts,
                window=self.script.window,
                at_close=self.script.at_close,
                established=self.script.established,
                ids=self.ids,
                now=START,
            )
            if self.script.things:
                await see_targets(tx, now=START)
                await stock_library(
                    tx,
                    self.world,
                    self.script.things,
                    reader=self.script.accounts[0],
                    reader_id=accounts[0],
                    ids=self.ids,
                    now=START,
                )

    async def leap(self, seconds: float) -> None:
        """Let much time pass at once; whoever waits for a moment in it wakes at its end."""
        await self.stage.leap(seconds)

    async def rows(self, sql: str, *arguments: Any) -> list[dict[str, Any]]:
        """Return what a statement finds."""
        async with self.person_db.transaction() as tx:
            return await tx.raw(sql, arguments)

    async def _direct(self, director: Connection) -> None:
        script, stage = self.script, self.stage
        stage.perils, stage.crash_at = script.perils, script.crash_at
        for _ in range(script.processes):
            self.ensemble.start_process()
        self._invite_people()
        waiting = deque(script.happenings)
        sharing = bool(script.things)
        troubled = sharing or script.rates != FaultRates() or script.perils != Perils()
        self._unsettled = True
        while stage.elapsed_s < self._longest_s() and (self._unsettled or waiting or (sharing and troubled)):
            if troubled and stage.elapsed_s >= script.troubled_s:
                troubled, stage.perils = False, Perils()
                self.world.calm()
                await self.company.see_off()
            while waiting and waiting[0].at_s <= stage.elapsed_s:
                await waiting.popleft().do(self)
            await self._mend_accounts(director)
            if script.steered and not troubled:
                await self.steering.resume_all()
            await self._replay_letters()
            turns = [self._longest_s(), *(next_one.at_s for next_one in list(waiting)[:1])]
            turns += [script.troubled_s] if troubled else []
            await stage.play(
                until_s=min(stage.elapsed_s + LOOK_S, *turns), between=self.ensemble.replace_dead
            )
            self._unsettled = await _count(
                director,
                "select (select count(*) from run where ended_at is null or due_at is not null)"
                " + (select count(*) from send_request where due_at is not null)"
                " + (select count(*) from send_rule where due_at is not null)"
                " + (select count(*) from send_rule_queue)"
                " + (select count(*) from dead_letter where state = 'open')",
            )

    @property
    def put_off_s(self) -> float:
        """How long a clock that was set back puts off what has its hour."""
        return max(0.0, -sum(by_s for _, by_s in self.stage.steps))

    def _longest_s(self) -> float:
        return self.script.longest_s + self.put_off_s

    def _invite_people(self) -> None:
        """Let people steer and stop things while they go wrong."""
        choices = Randomness(self.seed)
        fork = choices.fork("sharing")
        reader = self.script.accounts[0]
        self.sharing = Sharing(self.stage, self.world, self.person_db, fork, self.ids, reader)
        self.steering = Steering(self.stage, self.world, self.person_db, choices.fork("steering"))
        operator = Operator(self.stage, self.ensemble, self.script.perils, choices.fork("operator"))
        self.company.start("operator", operator.live_on())
        if self.script.steered:
            self.company.start("person", self.steering.meddle())
        if self.script.things:
            self.company.start("sharing", self.sharing.meddle())
            self.company.start("rules", self.sharing.rules.meddle())

    async def _mend_accounts(self, director: Connection) -> None:
        """Sign accounts in again when the platform would let them, as a person does."""
        for name, account in self.world.accounts.items():
            if account.state == "active":
                await director.execute(
                    "update account set state = 'active', sign_in = sign_in + 1"
                    " where name = %s and state <> 'active'",
                    (name,),
                )

    async def _replay_letters(self) -> None:
        """Let what gave up be tried again, as a person does."""
        for row in await self.rows("select id from dead_letter where state = 'open'"):
            async with self.person_db.transaction() as tx:
                kinds = self.processes[0].product.kinds
                await replay(tx, kinds, row["id"], now=self.stage.now())

    async def _judge(self, director: Connection) -> FanoutOutcome:
        rows = await (
            await director.execute("select state, summary from run order by account_name")
        ).fetchall()
        log = self.world.log
        sends = log.sends()
        outcome = FanoutOutcome(
            seed=self.seed,
            failures=[],
            states=[row[0] for row in rows],
            summaries=[row[1] for row in rows],
            messages=len(sends),
            uploads=max(
                (len(log.effects("uploaded", account=name)) for name in self.script.accounts), default=0
            ),
            doubled=len(log.doubled_sends()),
            uncertain=await _count(director, "select count(*) from part where state = 'uncertain'"),
            statements=self.ensemble.statements,
            most_in_a_minute=max(
                (log.most_sends_within(60.0, account=name) for name in self.script.accounts), default=0
            ),
            virtual_s=max((effect.at_s for effect in sends), default=0.0),
            points=self.stage.risky_points,
            crashes=self.stage.crashes,
            trace=self.stage.trace,
        )
        if self._unsettled:
            outcome.failures.append(f"not at rest after {self.stage.elapsed_s:.0f} s: {outcome.states}")
        shares = [JudgedShare(*row) for row in await (await director.execute(SHARES)).fetchall()]
        outcome.failures.extend(check_fanout(self, shares))
        if self.script.things:
            outcome.failures.extend(await check_sharing(self.world, director, self.sharing))
        return outcome


async def _count(director: Connection, sql: str) -> int:
    cursor = await director.execute(sql.encode())
    row = await cursor.fetchone()
    return int(row[0]) if row else 0
