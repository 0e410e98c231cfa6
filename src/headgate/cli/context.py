"""What every command works with: the database from the settings, and the product clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from headgate.app.product_time import anchored_clock
from headgate.app.server import open_server
from headgate.domain.errors import UserError
from headgate.kernel.clock import Clock, RealClock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import Settings, load_settings
from headgate.storage.blobs.opening import Files, build_files
from headgate.storage.database import Database
from headgate.storage.jobs.product_clock import Anchor, get_anchor
from headgate.storage.migrate import schema_status

Result = TypeVar("Result")


@dataclass(frozen=True)
class CommandContext:
    """An open database and the clock of its services; the clock of a demo runs fast."""

    settings: Settings
    database: Database
    clock: Clock
    anchor: Anchor | None = None

    @property
    def ids(self) -> Ids:
        return Ids(self.clock, Randomness())

    @asynccontextmanager
    async def open_files(self) -> AsyncGenerator[Files, None]:
        """Yield the files that the settings name; whoever uses them checks them first."""
        settings = self.settings
        files = build_files(settings.files, settings.data.dir, self.database, clock=self.clock, ids=self.ids)
        try:
            yield files
        finally:
            await files.close()


def with_database(work: Callable[[CommandContext], Awaitable[Result]]) -> Result:
    """Run a command's work with an open database."""

    async def run() -> Result:
        async with open_context() as context:
            return await work(context)

    return asyncio.run(run())


@asynccontextmanager
async def open_context() -> AsyncGenerator[CommandContext, None]:
    """Open the database of the settings; one that is not up to date is refused."""
    settings = load_settings()
    async with open_server(settings) as url:
        if not (await schema_status(url)).current:
            raise UserError("The database needs an update.", command="headgate db migrate")
        database = Database(url, RealClock(), size=2, name="headgate command")
        await database.open()
        try:
            async with database.transaction() as tx:
                anchor = await get_anchor(tx)
            clock = RealClock() if anchor is None else anchored_clock(anchor)
            yield CommandContext(settings, database, clock, anchor)
        finally:
            await database.close()
