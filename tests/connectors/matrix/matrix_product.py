"""The product in real time around a homeserver: the service runs as a process runs it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from matrix_stage import ACCOUNT, Stage

from headgate.app.parts import Parts, open_parts
from headgate.app.service import Service
from headgate.connectors.login_steps import SignedIn
from headgate.connectors.matrix import MatrixConnector
from headgate.connectors.matrix.manifest import MANIFEST
from headgate.connectors.protocol import CallKind, LaneDefault, Manifest
from headgate.domain.reminders.recurrence import daily
from headgate.domain.reminders.windows import DAY_MINUTES, Window
from headgate.intake.channels import accounts
from headgate.intake.channels.accounts import NewAccount
from headgate.intake.channels.discovery import discover, follow, home_of
from headgate.kernel.clock import RealClock
from headgate.kernel.connector_settings import MatrixSettings
from headgate.kernel.settings import load_settings
from headgate.lanes.links import AccountRef
from headgate.outflow.reminders import reminders
from headgate.outflow.reminders.drafts import Draft, DraftPart
from headgate.outflow.reminders.runs import make_run
from headgate.outflow.reminders.targets import refresh

Lanes = Mapping[CallKind, LaneDefault]
PATIENCE_S = 60.0
_QUICK = LaneDefault(per_minute=60_000, burst=1000)
QUICK_LANES: Lanes = dict.fromkeys(MANIFEST.lanes, _QUICK)
"""No pace; the server of the tests has none either."""


class PacedMatrix(MatrixConnector):
    """The connector with the lanes that a test gives it."""

    def __init__(self, settings: MatrixSettings, lanes: Lanes) -> None:
        super().__init__(settings, RealClock())
        self._lanes = lanes

    @property
    def manifest(self) -> Manifest:
        return replace(MANIFEST, lanes=self._lanes)


@dataclass
class Product:
    """The parts of a process, with one account."""

    parts: Parts
    account: AccountRef

    async def follow_rooms(self) -> None:
        """Follow all rooms that the account is in."""
        found = await discover(self.parts.links, self.account)
        now, home = self.parts.clock.now(), home_of(self.parts.links, self.account)
        async with self.parts.database.transaction() as tx:
            await follow(tx, found, home, ids=self.parts.ids, now=now)

    async def find_targets(self) -> None:
        now, ids = self.parts.clock.now(), self.parts.ids
        await refresh(self.parts.database, self.parts.links, self.account, ids=ids, now=now)

    async def remind(self, text: str) -> None:
        """Begin a run of a reminder to all targets."""
        now, ids = self.parts.clock.now(), self.parts.ids
        draft = Draft(
            title="Water the plants",
            account_id=self.account.id,
            parts=(DraftPart(text),),
            schedule=daily("09:00"),
            window=Window(0, DAY_MINUTES),
            targets=tuple(await self.column("select id from target order by title")),
        )
        async with self.parts.database.transaction() as tx:
            saved = await reminders.create(tx, draft, ids=ids, now=now)
            await make_run(tx, saved.id, trigger="person", fire_at=now, now=now, ids=ids)

    async def let_downloads_wait_less(self) -> None:
        """Pass the time for which failed downloads wait, and for which a dead worker's are left to it."""
        for sql in (
            "update item_file set due_at = due_at - interval '2 min' where state = 'wanted'",
            "update item_file set taken_until = taken_until - interval '2 min' where state = 'wanted'",
            "update fetch_line set due_at = due_at - interval '2 min'",
            "update pgqueuer set execute_after = execute_after - interval '2 min'",
        ):
            await self.rows(sql)

    async def rows(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        async with self.parts.database.transaction() as tx:
            return await tx.raw(sql, values)

    async def column(self, sql: str, *values: Any) -> list[Any]:
        return [next(iter(row.values())) for row in await self.rows(sql, *values)]

    async def eventually(self, sql: str, wanted: object, *, patience_s: float = PATIENCE_S) -> None:
        """Wait until a query has an answer; fail with the last one."""
        ends_s = self.parts.clock.monotonic() + patience_s
        found = await self.column(sql)
        while found != wanted:
            assert self.parts.clock.monotonic() < ends_s, f"{sql}: {found} instead of {wanted}"
            await self.parts.clock.sleep(0.1)
            found = await self.column(sql)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        """Let the service work during the block."""
        stop, ready = asyncio.Event(), asyncio.Event()
        service = Service(self.parts, frozenset({"tick", "work", "listen"}))

        async def on_ready() -> None:
            ready.set()

        task = asyncio.create_task(service.run(stop, on_ready))
        await asyncio.wait({task, asyncio.create_task(ready.wait())}, return_when=asyncio.FIRST_COMPLETED)
        try:
            yield
        finally:
            stop.set()
            await task


@asynccontextmanager
async def open_product(
    stage: Stage, url: str, folder: Path, lanes: Lanes = QUICK_LANES
) -> AsyncGenerator[Product, None]:
    """Open a process whose account has signed in."""
    connector = PacedMatrix(stage.connector.settings, lanes)
    settings = load_settings({"HEADGATE_DATA_DIR": str(folder)})
    async with open_parts(settings, url, clock=RealClock(), connectors={"matrix": connector}) as parts:
        new = NewAccount("matrix", ACCOUNT, established=True, signed_in=SignedIn(await stage.sign_in()))
        async with parts.database.transaction() as tx:
            added = await accounts.add_account(tx, new, data_dir=folder, ids=parts.ids, now=parts.clock.now())
        yield Product(parts, AccountRef(added.id, "matrix", ACCOUNT, established=True, sign_in=added.sign_in))
