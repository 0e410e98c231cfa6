"""A fan-out on the stage: reminders to many groups, with crashes and floods, judged by the platform's log."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

from headgate.domain.recurrence import daily
from headgate.domain.windows import Window
from headgate.jobs.letters import replay
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.outflow import reminders
from headgate.outflow.drafts import Draft, DraftPart
from headgate.outflow.runs import make_run
from headgate.storage.channels import upsert_account
from headgate.storage.database import Connection, Tx
from headgate.storage.media import add_media
from headgate.testing.faults import FaultRates
from headgate.testing.platform import SimulatedConnector
from headgate.testing.profiles import Profile, plain
from headgate.testing.simulator.database import StagedDatabase, connect_shadowed
from headgate.testing.simulator.process import Process, ProductFactory
from headgate.testing.simulator.stage import Perils, Stage, StageClock
from headgate.testing.world import World

START = datetime(2026, 3, 2, 8, tzinfo=UTC)
PICTURE = bytes(range(256)) * 40
LOOK_S = 2.0
FIRST_FIRE = 9 * 60
RESUMED_WITHIN_S = 20.0
"""Ten seconds until a dead sender's lease has ended, and ten until the next message goes."""


@dataclass(frozen=True)
class Happening:
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
    happenings: Sequence[Happening] = ()
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
    processes: list[Process] = field(default_factory=list[Process])
    gone: list[Process] = field(default_factory=list[Process])

    async def run(self) -> FanoutOutcome:
        async with await connect_shadowed(self.url, "director") as director:
            await _tell_time(director, START)
            self.stage = Stage(self.seed, START, tell_time=lambda now: _tell_time(director, now))
            self.world = self._build_world()
            self._connector = SimulatedConnector(self.world)
            self._randomness = Randomness(self.seed).fork("processes")
            self.desk = StagedDatabase(self.url, StageClock(self.stage), self.stage, name="person")
            try:
                await self._plan()
                await self._direct(director)
                return await self._judge(director)
            finally:
                await self.desk.close()
                for process in [*self.processes, *self.gone]:
                    await process.dispose()
                    await process.close()

    def _build_world(self) -> World:
        world = World(self.seed, StageClock(self.stage), self.script.profile, rates=self.script.rates)
        for account in self.script.accounts:
            world.add_account(account)
        for number in range(self.script.targets):
            world.add_group(f"group-{number}", title=f"Group {number}")
        world.on_point = self.stage.point
        return world

    async def _plan(self) -> None:
        """Write the reminders, and let each begin now."""
        self.ids = Ids(StageClock(self.stage), self._randomness.fork("ids"))
        async with self.desk.transaction() as tx:
            await plan_runs(
                tx,
                self.world,
                self.script.parts,
                window=self.script.window,
                at_close=self.script.at_close,
                established=self.script.established,
                ids=self.ids,
                now=START,
            )

    async def leap(self, seconds: float) -> None:
        """Let much time pass at once; whoever waits for a moment in it wakes at its end."""
        await self.stage.leap(seconds)

    async def rows(self, sql: str, *arguments: Any) -> list[dict[str, Any]]:
        """Return what a statement finds."""
        async with self.desk.transaction() as tx:
            return await tx.raw(sql, arguments)

    async def _direct(self, director: Connection) -> None:
        script, stage = self.script, self.stage
        stage.perils, stage.crash_at = script.perils, script.crash_at
        for _ in range(script.processes):
            self._start_process()
        waiting = deque(script.happenings)
        troubled = script.rates != FaultRates() or script.perils != Perils()
        self._unsettled = True
        while stage.elapsed_s < script.longest_s and (self._unsettled or waiting):
            if troubled and stage.elapsed_s >= script.troubled_s:
                troubled, stage.perils = False, Perils()
                self.world.calm()
            while waiting and waiting[0].at_s <= stage.elapsed_s:
                await waiting.popleft().do(self)
            await self._mend_accounts(director)
            await self._replay_letters()
            turns = [script.longest_s, *(next_one.at_s for next_one in list(waiting)[:1])]
            turns += [script.troubled_s] if troubled else []
            await stage.play(
                until_s=min(stage.elapsed_s + LOOK_S, *turns), between=lambda: self._replace_dead(director)
            )
            self._unsettled = await _count(
                director, "select count(*) from run where ended_at is null or due_at is not null"
            )

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
            async with self.desk.transaction() as tx:
                kinds = self.processes[0].product.kinds
                await replay(tx, kinds, row["id"], now=self.stage.now())

    async def _replace_dead(self, director: Connection) -> None:
        for process in [process for process in self.processes if process.troupe.crashed]:
            self.processes.remove(process)
            self.gone.append(process)
            await process.bury(director)
            self.world.disconnect()
            self._start_process()

    def _start_process(self) -> None:
        number = len(self.processes) + len(self.gone)
        process = Process(
            stage=self.stage,
            url=self.url,
            name=f"process {number}",
            build=self.build,
            connector=self._connector,
            randomness=self._randomness.fork(str(number)),
            listens=False,
        )
        process.start()
        self.processes.append(process)

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
            statements=sum(process.counted["statements"] for process in [*self.processes, *self.gone]),
            most_in_a_minute=max(
                (log.most_sends_within(60.0, account=name) for name in self.script.accounts), default=0
            ),
            virtual_s=max((effect.at_s for effect in sends), default=0.0),
            points=self.stage.risky_points,
            crashes=self.stage.crashes,
            trace=self.stage.trace,
        )
        outcome.failures.extend(await self._find_failures(director, outcome))
        return outcome

    async def _find_failures(self, director: Connection, outcome: FanoutOutcome) -> list[str]:
        """Compare what the platform saw with what we believe, message by message."""
        failures: list[str] = []
        if self._unsettled:
            failures.append(f"not at rest after {self.stage.elapsed_s:.0f} s: {outcome.states}")
        arrived = Counter((effect.account, effect.place, effect.key) for effect in self.world.log.sends())
        cursor = await director.execute(
            "select r.account_name, d.target_key, p.key, p.state, d.state from part p"
            " join delivery d on d.run_id = p.run_id and d.number = p.delivery join run r on r.id = p.run_id"
        )
        for account, target, key, state, delivery in await cursor.fetchall():
            times = arrived.pop((account, target, key), 0)
            if times > 1:
                failures.append(f"{target} got {key} {times} times")
            if state == "sent" and not times:
                failures.append(f"{key} is believed to be sent to {target}, and is not")
            if times and state not in {"sent", "uncertain"}:
                failures.append(f"{target} has {key}, which is believed to be {state}")
            if state in {"planned", "sending"} and delivery in {"sent", "pending", "sending"}:
                failures.append(f"{key} is {state} of a delivery that is {delivery}")
        failures += [f"{place} got a message that nobody planned" for _, place, _ in arrived]
        failures += self._find_pace_failures(outcome)
        if self.script.profile.dedupe.kind != "none" and outcome.uncertain:
            failures.append(f"{outcome.uncertain} uncertain on a platform that knows its keys")
        return failures

    def _find_pace_failures(self, outcome: FanoutOutcome) -> list[str]:
        lane = self.script.profile.lanes["send"]
        failures: list[str] = []
        if outcome.most_in_a_minute > lane.per_minute + lane.burst:
            failures.append(f"{outcome.most_in_a_minute} messages within a minute")
        for crashed_s in self.stage.crashed_s:
            later = [call.began_s for call in self.world.log.calls("send") if call.began_s > crashed_s]
            if self.script.crash_at and later and min(later) > crashed_s + RESUMED_WITHIN_S:
                failures.append(f"went on {min(later) - crashed_s:.1f} s after a crash")
        return failures


async def plan_runs(
    tx: Tx,
    world: World,
    parts: Sequence[str],
    *,
    window: Window,
    at_close: Literal["stop", "carry"] = "stop",
    established: bool = True,
    ids: Ids,
    now: datetime,
) -> list[UUID]:
    """Let each account of the world send these parts to every group, beginning now; return the accounts."""
    picture = await add_media(tx, ids.new(), name="a.png", mime_type="image/png", content=PICTURE, now=now)
    groups = {ids.new(): group for group in world.groups.values()}
    rows = [{"id": str(key), "key": group.key, "title": group.title} for key, group in groups.items()]
    await tx.raw(
        "insert into target (id, platform, key, title, created_at)"
        " select g.id, 'simulated', g.key, g.title, $2"
        " from jsonb_to_recordset($1::text::jsonb) as g (id uuid, key text, title text)",
        [json.dumps(rows), now],
    )
    accounts: list[UUID] = []
    for account in world.accounts:
        account_id = await upsert_account(
            tx, ids.new(), platform="simulated", name=account, established=established, now=now
        )
        draft = Draft(
            title=f"From {account}",
            account_id=account_id,
            parts=tuple(_part(text, picture.id) for text in parts),
            schedule=daily(window.start if not window.holds(FIRST_FIRE) else FIRST_FIRE),
            window=window,
            targets=tuple(groups),
            at_close=at_close,
        )
        saved = await reminders.create(tx, draft, ids=ids, now=now)
        # Only the run that is made here counts.
        await reminders.pause(tx, saved.id, now=now)
        await make_run(tx, saved.id, trigger="person", fire_at=now, now=now, ids=ids)
        accounts.append(account_id)
    return accounts


def _part(text: str, picture_id: UUID) -> DraftPart:
    if text.startswith("+"):
        return DraftPart(text.removeprefix("+").removeprefix("picture"), picture_id)
    return DraftPart(text)


async def _count(director: Connection, sql: str) -> int:
    cursor = await director.execute(sql.encode())
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


async def _tell_time(director: Connection, now: datetime) -> None:
    await director.execute("update sim.clock set at = %s", (now,))
