"""Where plays are given: a migrated template with the stage's time in it, cloned for each seed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import uuid4

from psycopg import sql

from headgate.storage.database import connect
from headgate.storage.migrate import migrate
from headgate.testing.simulator.engine.database import SHADOW_NOW
from headgate.testing.simulator.engine.process import ProductFactory
from headgate.testing.simulator.listings.play import ListingOutcome, ListingPlay, ListingScript
from headgate.testing.simulator.sending.fanout import Fanout, FanoutOutcome, FanoutScript
from headgate.testing.simulator.streams.play import Play, PlayOutcome, Script
from headgate.testing.simulator.streams.scripts import script_for


def at_database(url: str, name: str) -> str:
    """Return the address of another database on the same server."""
    address, mark, options = url.partition("?")
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}/{name}{mark}{options}"


@dataclass(frozen=True)
class Theatre:
    """A server with the template of all plays."""

    url: str
    template: str
    build: ProductFactory

    async def play(self, seed: int, faults: str, script: Script | None = None) -> PlayOutcome:
        """Give the play of a seed on a database of its own, by its own script or another."""
        async with self.open_database() as url:
            return await Play(seed, url, script or script_for(seed, faults), self.build).run()

    async def fan_out(self, seed: int, script: FanoutScript) -> FanoutOutcome:
        """Give a fan-out on a database of its own."""
        async with self.open_database() as url:
            return await Fanout(seed, url, script, self.build).run()

    async def publish(self, seed: int, script: ListingScript) -> ListingOutcome:
        """Give a play of listings on a database of its own."""
        async with self.open_database() as url:
            return await ListingPlay(seed, url, script, self.build).run()

    @asynccontextmanager
    async def open_database(self) -> AsyncGenerator[str, None]:
        """Yield the address of a database for one play, which is gone afterwards."""
        name = f"sim_{uuid4().hex[:12]}"
        async with await connect(self.url, name="theatre") as connection:
            await connection.execute(
                # Copied as files: page by page through the log takes twice as long.
                sql.SQL("create database {} template {} strategy file_copy").format(
                    sql.Identifier(name), sql.Identifier(self.template)
                )
            )
            try:
                yield at_database(self.url, name)
            finally:
                await connection.execute(
                    sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
                )


@asynccontextmanager
async def open_theatre(url: str, build: ProductFactory) -> AsyncGenerator[Theatre, None]:
    """Make the template on a server whose administrator we are, and remove it in the end."""
    template = f"sim_template_{uuid4().hex[:8]}"
    async with await connect(url, name="theatre") as connection:
        await connection.execute(sql.SQL("create database {}").format(sql.Identifier(template)))
        try:
            await migrate(at_database(url, template))
            async with await connect(at_database(url, template)) as inside:
                await inside.execute(SHADOW_NOW)
            yield Theatre(url, template, build)
        finally:
            await connection.execute(
                sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(template))
            )
