"""A demo's database behind the commands, to write into and to look at."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar
from uuid import UUID, uuid4

from typer.testing import CliRunner, Result

from headgate.app.connectors import load_connectors
from headgate.app.parts import open_parts
from headgate.app.product_time import anchored_clock
from headgate.cli.main import app
from headgate.jobs.kinds import Kinds
from headgate.jobs.stepper import Stepper
from headgate.kernel.clock import RealClock
from headgate.kernel.settings import load_settings
from headgate.storage.database import Database, Tx, connect
from headgate.storage.jobs.product_clock import Anchor, anchor_clock, get_anchor
from headgate.testing import SimulatedConnector, build_demo_world

T = TypeVar("T")
HEARTBEAT_S = 60.0
LOGIN = ("--answer", "code=12345")


class Ledger:
    """Runs `headgate` on a database whose platform is the demo's, and reads its tables."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.now = RealClock().now()
        self(lambda tx: anchor_clock(tx, real_now=self.now, scale=1.0))

    def __call__(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        async def carry_out() -> T:
            database = Database(self.url, RealClock())
            await database.open()
            try:
                async with database.transaction() as tx:
                    return await work(tx)
            finally:
                await database.close()

        return asyncio.run(carry_out())

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(app, list(arguments), prog_name="headgate")

    def said(self, *arguments: str) -> str:
        """Return what a command that succeeds says."""
        result = self.run(*arguments)
        assert result.exit_code == 0, result.output
        return result.output

    def document(self, *arguments: str) -> Any:
        """Return the document of a command that succeeds."""
        result = self.run(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def refused(self, *arguments: str) -> str:
        """Return why a command is refused."""
        result = self.run(*arguments)
        assert result.exit_code == 1, result.output
        return " ".join(result.stderr.split())

    def rows(self, sql: str, *arguments: Any) -> list[dict[str, Any]]:
        return self(lambda tx: tx.raw(sql, arguments))

    def values(self, sql: str, *arguments: Any) -> list[Any]:
        return [next(iter(row.values())) for row in self.rows(sql, *arguments)]

    def add_user(self, name: str, role: str = "member") -> UUID:
        """Let somebody be there who can be told things."""
        user_id = uuid4()
        self.rows(
            "insert into app_user (id, name, password_hash, role, created_at) values ($1, $2, '', $3, $4)",
            user_id,
            name,
            role,
            self.now,
        )
        return user_id

    def carry_out(self, *kinds: str) -> None:
        """Do the due work of some kinds, as a service would, until none is left."""

        async def work() -> None:
            settings, anchor = load_settings(), await self._anchor()
            clock = anchored_clock(anchor)
            world = build_demo_world(settings.demo.seed, clock, opened_at=anchor.opened_at)
            connectors = {**load_connectors(settings), "simulated": SimulatedConnector(world)}
            async with (
                open_parts(settings, self.url, clock=clock, connectors=connectors) as parts,
                await connect(self.url) as connection,
            ):
                wanted = Kinds([kind for kind in parts.execution.kinds if kind.name in kinds])
                stepper = Stepper(replace(parts.execution, kinds=wanted), connection, uuid4(), HEARTBEAT_S)
                await parts.tick().tick(clock.now())
                while job := await stepper.claim():
                    _, settlement = await stepper.execute(job)
                    await stepper.settle(job, settlement)

        asyncio.run(work())

    async def _anchor(self) -> Anchor:
        database = Database(self.url, RealClock())
        await database.open()
        try:
            async with database.transaction() as tx:
                anchor = await get_anchor(tx)
        finally:
            await database.close()
        assert anchor is not None
        return anchor

    def follow(self, *keys: str, account: str = "atlas") -> None:
        """Sign an account in, and follow some of what it sees."""
        self.said("account", "add", "simulated", account, "--established", *LOGIN)
        self.said("channel", "add", account, *keys)
