"""The product around a simulated platform: streams that it follows, and a hand that does what is due."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from uuid import UUID, uuid4

from headgate.app.parts import Parts, build_parts
from headgate.connectors.protocol import LaneDefault
from headgate.intake.channels.discovery import follow_all
from headgate.jobs.stepper import Stepper
from headgate.kernel.clock import Clock
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import Settings, load_settings
from headgate.lanes.links import AccountRef
from headgate.storage.database import Database, connect
from headgate.testing import PRESETS, Profile, SimulatedConnector, World

READER = "reader"
PLATFORM = "simulated"
SEED = 1
HEARTBEAT_S = 3600.0


def unpaced_profile() -> Profile:
    """Return a platform like Telegram that takes any number of calls: they are counted here, not paced."""
    profile = PRESETS["telegram_like"]
    lanes = {kind: LaneDefault(per_minute=1_000_000, burst=100_000) for kind in profile.lanes}
    return profile.but(lanes=lanes, flood_per_minute={})


@dataclass
class BenchProduct:
    """One process's parts on a database, and its account on the simulated platform."""

    parts: Parts
    stepper: Stepper

    @property
    def database(self) -> Database:
        return self.parts.database

    async def follow(self) -> AccountRef:
        """Follow every stream that the account sees."""
        parts = self.parts
        await follow_all(parts.database, parts.links, parts.ids, parts.clock, name=READER)
        async with parts.database.transaction() as tx:
            (account,) = await tx.raw("select id from account where name = $1", [READER])
        return AccountRef(account["id"], PLATFORM, READER, established=True)

    async def channel_ids(self) -> Mapping[str, UUID]:
        """Return the ids of all channels by their keys."""
        async with self.database.transaction() as tx:
            return {row["key"]: row["id"] for row in await tx.raw("select key, id from channel order by key")}

    async def work(self) -> int:
        """Tick and carry out jobs until nothing is due; returns how many jobs there were."""
        done = 0
        while True:
            await self.parts.tick().tick(self.parts.clock.now())
            if not (carried := await self.drain()):
                return done
            done += carried

    async def drain(self) -> int:
        """Carry out what is queued, and what that wakes."""
        done = 0
        while (job := await self.stepper.claim()) is not None:
            _, settlement = await self.stepper.execute(job)
            await self.stepper.settle(job, settlement)
            done += 1
        return done


def without_downloads(settings: Settings) -> Settings:
    """Return settings under which a benchmark leaves the folder of a person's files alone."""
    files = settings.files.model_copy(update={"downloads_at_once": 0})
    return replace(settings, files=files)


@asynccontextmanager
async def open_product(url: str, clock: Clock, world: World) -> AsyncGenerator[BenchProduct, None]:
    """Start the product on a database; doing so again on the same one is a restart."""
    database = Database(url, clock, name="headgate bench")
    await database.open()
    try:
        parts = build_parts(
            without_downloads(load_settings()),
            url,
            database,
            clock=clock,
            randomness=Randomness(SEED),
            connectors={PLATFORM: SimulatedConnector(world)},
        )
        async with await connect(url, name="headgate bench") as connection:
            yield BenchProduct(parts, Stepper(parts.execution, connection, uuid4(), HEARTBEAT_S))
        await parts.links.close()
    finally:
        await database.close()
