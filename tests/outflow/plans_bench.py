"""An account, groups that it can write to, and plans to be made for them, in hand-moved time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID, uuid4

from headgate.domain.reminders.recurrence import daily
from headgate.domain.reminders.windows import Window
from headgate.jobs.execution import Execution
from headgate.jobs.kinds import Kinds
from headgate.jobs.stepper import Stepper
from headgate.jobs.tick import Tick
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.lanes import Lanes
from headgate.lanes.links import AccountRef, Links
from headgate.outflow.reminders import reminders
from headgate.outflow.reminders.drafts import Draft, DraftPart
from headgate.outflow.reminders.fire import Firing
from headgate.outflow.reminders.media import add_media
from headgate.outflow.reminders.runs import make_run
from headgate.outflow.reminders.targets import refresh
from headgate.storage.channels.channels import upsert_account
from headgate.storage.database import Database, Tx, connect
from headgate.storage.reminders.reminders import Reminder
from headgate.storage.reminders.targets import Refreshed
from headgate.storage.vault import Vault
from headgate.testing import PRESETS, SimulatedConnector, VirtualClock, World

T = TypeVar("T")
HEARTBEAT_S = 60.0
START = datetime(2026, 3, 2, 8, tzinfo=UTC)
"""A Monday."""


class NoSecrets:
    """The simulated platform needs none."""

    async def secrets_of(self, account_id: UUID) -> dict[str, str]:
        return {}

    async def vault(self, tx: Tx) -> Vault:
        raise AssertionError("nothing is sealed here")


@dataclass
class PlansBench:
    """The plans of one database, with a world behind them."""

    database: Database
    clock: VirtualClock
    ids: Ids
    world: World
    links: Links

    @property
    def now(self) -> datetime:
        return self.clock.now()

    async def do(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        async with self.database.transaction() as tx:
            return await work(tx)

    async def rows(self, sql: str, *arguments: Any) -> list[dict[str, Any]]:
        return await self.do(lambda tx: tx.raw(sql, arguments))

    async def values(self, sql: str, *arguments: Any) -> list[Any]:
        return [next(iter(row.values())) for row in await self.rows(sql, *arguments)]

    async def account(self, name: str = "main", platform: str = "simulated") -> AccountRef:
        if name not in self.world.accounts:
            self.world.add_account(name)
        account_id = await self.do(
            lambda tx: upsert_account(
                tx, self.ids.new(), platform=platform, name=name, established=True, now=self.now
            )
        )
        return AccountRef(account_id, platform, name, established=True)

    async def refresh(self, account: AccountRef) -> Refreshed:
        return await refresh(self.database, self.links, account, ids=self.ids, now=self.now)

    async def targets(self, *keys: str, account: AccountRef | None = None) -> list[UUID]:
        """Add groups, let the account see them, and return the ids of their targets in the same order."""
        for key in keys:
            if key not in self.world.groups:
                self.world.add_group(key)
        await self.refresh(account or await self.account())
        rows = await self.rows("select key, id from target")
        by_key = {row["key"]: row["id"] for row in rows}
        return [by_key[key] for key in keys]

    async def media(self, content: bytes = b"picture", name: str = "a.png") -> UUID:
        stored = await self.do(lambda tx: add_media(tx, content, name=name, ids=self.ids, now=self.now))
        return stored.id

    async def draft(self, *keys: str, account: AccountRef | None = None, **changes: Any) -> Draft:
        """Return a draft to these groups: every day at 09:00 UTC, one text."""
        sender = account or await self.account()
        draft = Draft(
            title="Water the plants",
            account_id=sender.id,
            parts=(DraftPart("Dear {group}"),),
            schedule=daily("09:00"),
            window=Window(),
            targets=tuple(await self.targets(*keys, account=sender)),
        )
        return replace(draft, **changes)

    async def create(self, *keys: str, **changes: Any) -> UUID:
        """Keep a reminder to these groups."""
        draft = await self.draft(*keys, **changes)
        saved = await self.do(lambda tx: reminders.create(tx, draft, ids=self.ids, now=self.now))
        return saved.id

    async def run_now(self, reminder_id: UUID) -> UUID:
        """Make a run as a person does, also beside another one."""
        now, ids = self.now, self.ids
        return await self.do(
            lambda tx: make_run(tx, reminder_id, trigger="person", fire_at=now, now=now, ids=ids, beside=True)
        )

    async def reminder(self, reminder_id: UUID) -> Reminder:
        return (await self.do(lambda tx: reminders.get(tx, reminder_id))).reminder

    def to(self, at: datetime) -> None:
        """Move the time to a moment."""
        self.clock.advance((at - self.now).total_seconds())

    async def work(self) -> int:
        """Tick and carry out the jobs that fire reminders, until none is left; returns how many."""
        kinds = Kinds([Firing(self.clock, self.ids).kind()])
        execution = Execution(
            kinds=kinds, database=self.database, clock=self.clock, randomness=Randomness(2), ids=self.ids
        )
        tick = Tick(kinds, self.database, self.clock, self.ids)
        connection = await connect(self.database.url)
        stepper = Stepper(execution, connection, uuid4(), HEARTBEAT_S)
        done = 0
        try:
            while True:
                await tick.tick(self.now)
                job = await stepper.claim()
                if job is None:
                    return done
                _, settlement = await stepper.execute(job)
                await stepper.settle(job, settlement)
                done += 1
        finally:
            await connection.close()


def build_plans_bench(database: Database) -> PlansBench:
    profile = PRESETS["telegram_like"]
    # Lanes wait on the clock, which stands still here.
    lanes = {kind: type(lane)(per_minute=1_000_000, burst=100_000) for kind, lane in profile.lanes.items()}
    clock = VirtualClock(START)
    world = World(1, clock, profile.but(lanes=lanes))
    links = Links({"simulated": SimulatedConnector(world)}, Lanes(database, clock), NoSecrets())
    return PlansBench(database, clock, Ids(clock, Randomness(1)), world, links)


def unknown() -> UUID:
    """Return an id that nothing has."""
    return uuid4()
