"""A demo's database behind the commands, to write into and to look at."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from typer.testing import CliRunner, Result

from headgate.cli.main import app
from headgate.kernel.clock import RealClock
from headgate.storage.database import Database, Tx
from headgate.storage.product_clock import anchor_clock

T = TypeVar("T")
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

    def follow(self, *keys: str, account: str = "atlas") -> None:
        """Sign an account in, and follow some of what it sees."""
        self.said("account", "add", "simulated", account, "--established", *LOGIN)
        self.said("channel", "add", account, *keys)
