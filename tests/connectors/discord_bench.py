"""The product around one database, with a bot on a real server as its account."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from bench import Bench, build_bench
from discord_stage import MovableClock, Stage
from fetch_bench import FetchBench

from headgate.app.parts import Parts, build_parts
from headgate.connectors.login_steps import LoginAttempt, SignedIn
from headgate.domain.reminders.recurrence import daily
from headgate.domain.reminders.windows import DAY_MINUTES, Window
from headgate.intake.channels.accounts import NewAccount, add_account
from headgate.intake.channels.discovery import discover, follow, home_of, note_listed
from headgate.kernel.clock import VirtualClock
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import load_settings
from headgate.lanes.links import AccountRef
from headgate.outflow.reminders import reminders
from headgate.outflow.reminders.drafts import Draft, DraftPart
from headgate.outflow.reminders.runs import make_run
from headgate.outflow.reminders.targets import refresh
from headgate.storage.database import Database

SETTLED_S = 30.0


class ProductClock(MovableClock):
    """Product time that a test moves on, over real time."""

    def advance(self, seconds: float) -> None:
        self.ahead_s += seconds


class DiscordBench(FetchBench):
    """The bot reads whatever it sees on the stage, and writes to it."""

    stage: Stage

    async def sign_in(self) -> None:
        """Sign the bot in as a person does, with its token."""
        signed_in = await self.stage.connector.login(LoginAttempt(answers={"token": self.stage.token}))
        assert isinstance(signed_in, SignedIn)
        new = NewAccount("discord", "bot", established=True, signed_in=signed_in)
        assert self.data_dir is not None
        folder, now, ids = self.data_dir, self.clock.now(), self.parts.ids
        added = await self.do(lambda tx: add_account(tx, new, data_dir=folder, ids=ids, now=now))
        self.account_id: UUID = added.id

    async def account(self, name: str = "bot") -> AccountRef:
        return AccountRef(self.account_id, "discord", name, established=True)

    async def follow(self, name: str = "bot") -> None:
        """Follow everything that the bot sees now."""
        account, links = await self.account(), self.parts.links
        found, now, home = await discover(links, account), self.clock.now(), home_of(links, account)
        await self.do(lambda tx: follow(tx, found, home, ids=self.parts.ids, now=now))
        await self.do(lambda tx: note_listed(tx, found, home, links, now=now))

    async def catch_up(self) -> None:
        """Let everything settle, and read and fetch what there is."""
        for _ in range(3):
            self.stage.settle()
            await self.rest(SETTLED_S)

    @asynccontextmanager
    async def hearing(self) -> AsyncGenerator[None]:
        """Listen as the product does, for as long as the block lasts or the session does."""
        live, sessions = await self.live(), self.stage.edge.sessions
        before = sessions.identified
        task = asyncio.create_task(live.run(self.parts.links))
        async with asyncio.timeout(10):
            await sessions.until_identified(before + 1)
        try:
            yield
        finally:
            sessions.drop(resumable=False)
            async with asyncio.timeout(10):
                await task

    async def until(self, ask: Callable[[], Awaitable[object]]) -> None:
        """Wait for something that a listener brings about."""
        async with asyncio.timeout(15):
            while not await ask():  # noqa: ASYNC110 - it happens in another task
                await asyncio.sleep(0.05)

    async def begin_reminder(self, *targets: str, text: str) -> None:
        """Begin a run of a reminder to these channels."""
        now, ids = self.clock.now(), self.parts.ids
        await refresh(self.database, self.parts.links, await self.account(), ids=ids, now=now)
        rows = await self.rows("select id, key from target")
        chosen = tuple(row["id"] for row in rows if row["key"] in targets)
        draft = Draft(
            title="Reminder",
            account_id=self.account_id,
            parts=(DraftPart(text),),
            schedule=daily("09:00"),
            window=Window(0, DAY_MINUTES),
            targets=chosen,
        )
        saved = await self.do(lambda tx: reminders.create(tx, draft, ids=ids, now=now))
        await self.do(lambda tx: make_run(tx, saved.id, trigger="person", fire_at=now, now=now, ids=ids))

    async def let_doubts_age(self) -> None:
        """Let so much time pass that no call can be under way any more."""
        await self.rows(
            "update part set sending_at = sending_at - $1::interval,"
            " doubtful_since = doubtful_since - $1::interval where sending_at is not null returning key",
            timedelta(seconds=60),
        )
        await self.pass_time(60)

    async def sends(self) -> dict[str, int]:
        rows = await self.rows("select state, count(*) as number from part group by state")
        return {row["state"]: row["number"] for row in rows}


def make_discord_parts(
    stage: Stage, database: Database, url: str, *, clock: ProductClock, folder: Path
) -> Parts:
    settings = load_settings({"HEADGATE_DATA_DIR": str(folder)})
    return build_parts(
        settings,
        url,
        database,
        clock=clock,
        randomness=Randomness(1),
        connectors={"discord": stage.connector},
    )


@asynccontextmanager
async def open_discord_bench(
    stage: Stage, database: Database, url: str, folder: Path
) -> AsyncGenerator[DiscordBench]:
    plain: Bench = build_bench(database, url)
    clock = ProductClock()
    parts = make_discord_parts(stage, database, url, clock=clock, folder=folder)
    bench = DiscordBench(
        database, url, cast("VirtualClock", cast("Any", clock)), plain.world, parts, data_dir=folder
    )
    bench.stage = stage
    await bench.start()
    await bench.sign_in()
    try:
        yield bench
    finally:
        await parts.links.close()
        await bench.close()
        await parts.files.close()
