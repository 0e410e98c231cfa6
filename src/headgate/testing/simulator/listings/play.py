"""Listings on the stage: chapters are published while processes die, and everybody is to hear of them once.

Two sources bring one series, a third brings another; one user wants to hear of each chapter, one of each
source. In the end every entry of the world is a release, and every user was told what they wanted, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from headgate.domain.listings.listings import Entry
from headgate.jobs.letters import replay
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.outflow.notifications.follows import follow
from headgate.storage.access import users
from headgate.storage.channels.channels import upsert_account
from headgate.storage.database import Connection, Tx
from headgate.storage.listings import hosts, listings, series
from headgate.storage.listings.hosts import HostName
from headgate.storage.notifications import push_addresses
from headgate.storage.notifications.follows import Per, Subject, Switches
from headgate.storage.notifications.push_addresses import URL, secret_owner
from headgate.storage.secrets import open_vault, put_secret
from headgate.testing.platform.faults import FaultRates
from headgate.testing.platform.profiles import Profile, plain
from headgate.testing.platform.world import World
from headgate.testing.receiver import RECEIVER
from headgate.testing.simulator.engine.company import Company
from headgate.testing.simulator.engine.database import StagedDatabase
from headgate.testing.simulator.engine.ensemble import Ensemble
from headgate.testing.simulator.engine.lines import Lines
from headgate.testing.simulator.engine.operator import Operator
from headgate.testing.simulator.engine.process import ProductFactory
from headgate.testing.simulator.engine.stage import Perils, Stage, StageClock, TrueClock
from headgate.testing.simulator.listings.judge import UNNOTICED, find_lost, find_unpushed, find_untold

START = datetime(2026, 3, 2, 8, tzinfo=UTC)
LOOK_S = 2.0
READER = "reader"
SOURCES = {"dex": "A", "park": "A", "web": "B"}
WITHDRAWN = {2: "2", 3: "1"}
"""Which old chapter is withdrawn with which wave."""
FOUND_WITHIN_S = 150.0
"""A listing is polled once a minute in a play, or half as often while nothing comes."""
POLLED_WITHIN_S = 750.0
"""A listing of a site that is swept is polled every ten minutes in a play."""
WORK = """
select (select count(*) from news) + (select count(*) from push_address where due_at is not null)
    + (select count(*) from pgqueuer where status in ('queued', 'picked')
       and entrypoint in ('notify', 'push', 'poll', 'sweep', 'suspect'))
"""
FOLLOWERS: dict[str, Per] = {"ada": "chapter", "bob": "source"}
HOST = HostName("simulated", "example.org")


@dataclass(frozen=True)
class ListingScript:
    """How much is published when, and what goes wrong meanwhile."""

    profile: Profile = plain
    sources: Mapping[str, str] = field(default_factory=lambda: dict(SOURCES))
    """Which series each listing brings."""
    waves: int = 2
    """So often something new comes everywhere."""
    every_s: float = 60.0
    processes: int = 1
    rates: FaultRates = field(default_factory=FaultRates)
    perils: Perils = field(default_factory=Perils)
    troubled_s: float = 200.0
    longest_s: float = 6 * 3600.0
    crash_at: int | None = None
    """The point inside of a job at which a process dies."""
    impatient: bool = False
    """A person wants to see at once what has come."""
    complete: bool = False
    """The listings answer with everything that they have; now and then something is withdrawn."""
    outage_s: tuple[float, float] | None = None
    """From when to when the receiver of pushes is down."""
    punctual: bool = False
    """Nothing goes wrong, so that everything is found by the schedule's next look."""


@dataclass(frozen=True)
class ListingOutcome:
    """What came of it."""

    seed: int
    failures: list[str]
    chapters: int
    notifications: int
    points: int
    crashes: int
    calls: int
    virtual_s: float
    trace: str


@dataclass
class ListingPlay:
    """Directs one play on a database of its own."""

    seed: int
    url: str
    script: ListingScript
    build: ProductFactory
    channels: list[UUID] = field(default_factory=list[UUID])
    withdrawn: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    late: list[str] = field(default_factory=list[str])
    """What was not found by the schedule's next look, though nothing went wrong."""

    async def run(self) -> ListingOutcome:
        async with Lines(self.url) as lines:
            director = await lines.open()
            await lines.tell_time(START)
            self.stage = Stage(self.seed, START, tell_time=lines.tell_time)
            self.world = self._build_world()
            self.ensemble = Ensemble(self.seed, lines, self.stage, self.world, self.build, listens=False)
            self.person_db = StagedDatabase(lines, StageClock(self.stage), self.stage, name="person")
            self.company = Company(self.stage)
            try:
                for _ in range(self.script.processes):
                    self.ensemble.start_process()
                await self._plan()
                await self._direct(director)
                return await self._judge(director)
            finally:
                await self.company.see_off()
                await self.person_db.close()
                await self.ensemble.dispose()

    def _build_world(self) -> World:
        world = World(self.seed, TrueClock(self.stage), self.script.profile, rates=self.script.rates)
        world.add_account(READER)
        for key, name in self.script.sources.items():
            listing = world.add_listing(key, title=f"Series {name}", page_size=1000)
            listing.complete = self.script.complete
        world.on_point = self.stage.point
        return world

    async def _plan(self) -> None:
        """Publish what nobody is to hear of, and let two users follow everything."""
        for key in self.script.sources:
            for number in ("1", "2"):
                self._publish(key, number, at=START - timedelta(days=9))
        self.ids = Ids(StageClock(self.stage), Randomness(self.seed).fork("ids"))
        async with self.person_db.transaction() as tx:
            works = {name: self.ids.new() for name in sorted(set(self.script.sources.values()))}
            for name, series_id in works.items():
                await series.insert_series(tx, series_id, title=f"Series {name}", now=START)
            await self._add_listings(tx, works)
            for name, per in FOLLOWERS.items():
                user_id = self.ids.new()
                await users.insert_user(
                    tx, user_id=user_id, name=name, password_hash="", role="member", now=START
                )
                await self._add_address(tx, user_id)
                for series_id in works.values():
                    await follow(
                        tx,
                        Subject(series_id=series_id),
                        Switches(per=per),
                        user_id=user_id,
                        ids=self.ids,
                        now=START,
                    )

    async def _add_address(self, tx: Tx, user_id: UUID) -> None:
        """Let a user's notifications be pushed, too."""
        address_id = self.ids.new()
        await push_addresses.insert_address(
            tx, address_id, user_id=user_id, name=RECEIVER, shown=RECEIVER, added_as="member", now=START
        )
        vault = await open_vault(tx, self.ensemble.processes[0].product.data_dir)
        await put_secret(tx, vault, f"{RECEIVER}://{user_id}", owner=secret_owner(address_id), name=URL)

    async def _add_listings(self, tx: Tx, works: dict[str, UUID]) -> None:
        account_id = await upsert_account(
            tx, self.ids.new(), platform=HOST.platform, name=READER, established=True, now=START
        )
        await hosts.upsert_host(tx, HOST, swept=self.script.profile.sweeps, now=START)
        for key, name in self.script.sources.items():
            added = await listings.insert_listing(
                tx,
                self.ids.new(),
                platform=HOST.platform,
                key=key,
                title=key,
                host=HOST.name,
                reader_id=account_id,
                now=START,
            )
            if added is not None:
                self.channels.append(added.channel_id)
                await series.upsert_source(tx, series_id=works[name], channel_id=added.channel_id, now=START)

    def _publish(self, listing: str, number: str, *, at: datetime, title: str = "") -> None:
        entry = Entry(
            key=f"{listing}-{number}",
            title=title or f"Chapter {number}",
            url=f"https://example.org/{listing}/{number}",
            published_at=at,
            number=number,
            language="en",
        )
        self.world.publish(listing, entry)

    async def _direct(self, director: Connection) -> None:
        script, stage = self.script, self.stage
        stage.perils, stage.crash_at_job_point = script.perils, script.crash_at
        choices = Randomness(self.seed).fork("operator")
        operator = Operator(stage, self.ensemble, script.perils, choices)
        self.company.start("operator", operator.live_on())
        wave, troubled = 0, True
        self._came_s = 0.0
        self._unsettled = True
        while stage.elapsed_s < script.longest_s and (self._unsettled or wave < script.waves):
            if troubled and stage.elapsed_s >= script.troubled_s:
                troubled, stage.perils = False, Perils()
                self.world.calm()
                await self.company.see_off()
            if wave < script.waves and stage.elapsed_s >= (wave + 1) * script.every_s:
                wave += 1
                await self._come(wave)
            self.ensemble.receiver.down = self._is_down()
            await self._mend(director)
            await stage.play(until_s=stage.elapsed_s + LOOK_S, between=self.ensemble.replace_dead)
            lost = await find_lost(self, director)
            if script.punctual:
                self.late = self.late or [f"late: {what}" for what in lost if self._is_late(what)]
            self._unsettled = bool(lost) or await _has_work(director)

    def _is_late(self, what: str) -> bool:
        """Tell whether the schedule should have found it; a sweep reports what is new, not what is gone."""
        unseen = self.script.profile.sweeps and what.endswith(UNNOTICED)
        return self.stage.elapsed_s > self._came_s + (POLLED_WITHIN_S if unseen else FOUND_WITHIN_S)

    def _is_down(self) -> bool:
        outage = self.script.outage_s
        return outage is not None and outage[0] <= self.stage.elapsed_s < outage[1]

    @property
    def may_doubt(self) -> bool:
        """Whether somebody may have vanished between a push and its answer, or the answer itself."""
        stage = self.stage
        stopped = stage.crashed_s or stage.lost_s or stage.pauses or self.ensemble.stops
        return bool(stopped) or self.script.rates != FaultRates()

    async def _come(self, wave: int) -> None:
        """Publish something new everywhere, a half chapter on the way, and another title of an old one."""
        now = self.stage.true_now()
        self._came_s = self.stage.elapsed_s
        if self.script.complete and wave in WITHDRAWN:
            self._withdraw(next(iter(self.script.sources)), WITHDRAWN[wave])
        for key in self.script.sources:
            self._publish(key, str(wave + 2), at=now)
        self._publish("dex", f"{wave + 1}.5", at=now)
        self._publish(
            list(self.script.sources)[-1],
            "1",
            at=START - timedelta(days=9),
            title=f"Chapter 1: The Flood {wave}",
        )
        if self.script.impatient:
            async with self.person_db.transaction() as tx:
                for channel_id in self.channels:
                    await listings.ask_listing(tx, channel_id, now=now)

    def _withdraw(self, listing: str, number: str) -> None:
        """Take an old chapter out again, of which nobody was told."""
        self.world.withdraw(listing, f"{listing}-{number}")
        self.withdrawn.add((listing, f"{listing}-{number}"))

    async def _mend(self, director: Connection) -> None:
        """Do what a person does: sign in again, and let what gave up be tried again."""
        if self.world.accounts[READER].state == "active":
            await director.execute(
                "update account set state = 'active', sign_in = sign_in + 1 where state <> 'active'"
            )
        async with self.person_db.transaction() as tx:
            letters = await tx.raw("select id from dead_letter where state = 'open'")
            for letter in letters:
                kinds = self.ensemble.processes[0].product.kinds
                await replay(tx, kinds, letter["id"], now=self.stage.now())

    async def _judge(self, director: Connection) -> ListingOutcome:
        failures = [
            *await find_lost(self, director),
            *await find_untold(self, director, START),
            *await find_unpushed(self, director),
            *self.late,
        ]
        if self._unsettled:
            failures.append(f"not at rest after {self.stage.elapsed_s:.0f} s")
        return ListingOutcome(
            seed=self.seed,
            failures=failures,
            chapters=await _count(director, "select count(*) from chapter"),
            notifications=await _count(director, "select count(*) from notification"),
            points=self.stage.job_points,
            crashes=self.stage.crashes,
            calls=self.world.log.counts.total(),
            virtual_s=self.stage.elapsed_s,
            trace=self.stage.trace,
        )


async def _has_work(director: Connection) -> bool:
    return bool(await _count(director, WORK))


async def _count(director: Connection, sql: str) -> int:
    cursor = await director.execute(sql.encode())
    row = await cursor.fetchone()
    return int(row[0]) if row else 0
