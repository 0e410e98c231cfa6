"""An account, groups that it can write to, and plans to be made for them, in hand-moved time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID, uuid4

from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.lanes import Lanes
from headgate.lanes.links import AccountRef, Links
from headgate.outflow.targets import refresh
from headgate.storage.channels import upsert_account
from headgate.storage.database import Database, Tx
from headgate.storage.targets import Refreshed
from headgate.testing import PRESETS, SimulatedConnector, VirtualClock, World

T = TypeVar("T")
START = datetime(2026, 3, 2, 8, tzinfo=UTC)
"""A Monday."""


class NoSecrets:
    """The simulated platform needs none."""

    async def secrets_of(self, account_id: UUID) -> dict[str, str]:
        return {}


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
