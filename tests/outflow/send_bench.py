"""The whole product around a channel with files, a person who sends them on, and the platform's own log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID, uuid4

from bench import DEFAULT_PROFILE, build_bench
from fetch_bench import FetchBench

from headgate.domain.reminders.recurrence import daily
from headgate.domain.reminders.windows import DAY_MINUTES, Window
from headgate.outflow.library_sends import actions
from headgate.outflow.library_sends.actions import AskedSends, SendWish
from headgate.outflow.library_sends.planning import SendPlanner
from headgate.outflow.reminders import reminders
from headgate.outflow.reminders.drafts import Draft, DraftPart
from headgate.outflow.reminders.runs import make_run
from headgate.outflow.reminders.targets import refresh
from headgate.storage.channels.channels import upsert_account
from headgate.storage.database import Database
from headgate.storage.library_sends.overview import ShownRequest, list_requests
from headgate.storage.sending.sending import begin_batch, list_due_runs
from headgate.testing import Profile
from headgate.testing.content.content import SimFile
from headgate.testing.platform.places import GroupMessage

SHORT_PAUSE_S = 1.0
"""Between two messages to one group."""
LONG_PAUSE_S = 6.0
PATIENT_TURNS = 100
TURN_S = 0.01


class SendBench(FetchBench):
    """The account `reader` reads the channel `packs`; `poster` does not. Both write to the group `lake`."""

    async def set_up(self) -> None:
        await self.start()
        self.world.add_account("poster")
        self.world.add_group("lake", title="The lake")
        await self.follow()
        for name in ("reader", "poster"):
            await self.add_sender(name)
        self.target_id: UUID = (await self.rows("select id from target where key = 'lake'"))[0]["id"]

    async def add_sender(self, name: str) -> UUID:
        """Let an account write to all groups that it sees."""
        now, ids = self.clock.now(), self.parts.ids
        account_id = await self.do(
            lambda tx: upsert_account(
                tx, ids.new(), platform="simulated", name=name, established=True, now=now
            )
        )
        await refresh(self.database, self.parts.links, await self.account(name), ids=ids, now=now)
        return account_id

    async def catch(self, *files: SimFile, text: str = "", one_message: bool = False) -> list[UUID]:
        """Post files, one message each unless they share one, and return their items in the same order."""
        batches = [list(files)] if one_message else [[file] for file in files]
        for batch in batches:
            await self.hear(self.world.post("packs", files=batch, text=text))
        await self.work()
        rows = await self.rows("select item_id, file_name from sighting")
        by_name = {row["file_name"]: row["item_id"] for row in rows}
        return [by_name[file.name] for file in files]

    async def send(self, *item_ids: UUID, by: str = "", **wish: Any) -> AskedSends:
        """Ask as a person does, by the account of a name."""
        account_id = (await self.account(by)).id if by else None
        asked = SendWish(self.target_id, item_ids, account_id=account_id, **wish)
        now, ids = self.clock.now(), self.parts.ids
        return await self.do(lambda tx: actions.send_things(tx, asked, ids=ids, now=now))

    async def cancel(self, request_id: UUID) -> ShownRequest:
        now = self.clock.now()
        return await self.do(lambda tx: actions.cancel_request(tx, request_id, now=now))

    async def retry(self, request_id: UUID) -> ShownRequest:
        now = self.clock.now()
        return await self.do(lambda tx: actions.retry_request(tx, request_id, now=now))

    async def resolve(self, request_id: UUID, *, arrived: bool) -> ShownRequest:
        now = self.clock.now()
        return await self.do(lambda tx: actions.resolve_request(tx, request_id, arrived=arrived, now=now))

    async def requests(self) -> list[ShownRequest]:
        """Return all requests, the oldest first."""
        found = await self.do(lambda tx: list_requests(tx, limit=1000))
        return found[::-1]

    async def only_request(self) -> ShownRequest:
        (request,) = await self.requests()
        return request

    async def work(self) -> int:
        """Carry out jobs until none is left; pauses pass by themselves when nothing else goes on."""
        task = asyncio.create_task(super().work())
        seen_s, times = None, 0
        while not task.done():
            await asyncio.wait([task], timeout=TURN_S)
            wake_s = self.clock.next_wake_s()
            times = times + 1 if wake_s == seen_s else 0
            seen_s = wake_s
            pause_s = 0.0 if wake_s is None else wake_s - self.clock.monotonic()
            if 0 < pause_s <= SHORT_PAUSE_S or (times > PATIENT_TURNS and 0 < pause_s <= LONG_PAUSE_S):
                self.clock.advance(pause_s)
        return task.result()

    async def plan(self, request_id: UUID) -> None:
        """Decide on a request without sending it."""
        planner = SendPlanner(self.parts.links, self.clock, self.parts.ids)
        await self.do(lambda tx: planner.plan_request(tx, request_id))

    async def let_doubts_age(self) -> None:
        """Let so much real time pass that no call can be under way any more."""
        await self.rows(
            "update part set sending_at = sending_at - $1::interval,"
            " doubtful_since = doubtful_since - $1::interval where sending_at is not null returning key",
            timedelta(minutes=5),
        )
        await self.pass_time(60)

    async def add_user(self, name: str) -> UUID:
        user_id = uuid4()
        await self.rows(
            "insert into app_user (id, name, password_hash, role, created_at)"
            " values ($1, $2, '', 'member', $3) returning id",
            user_id,
            name,
            self.clock.now(),
        )
        return user_id

    async def begin_reminder(self, *, by: str) -> None:
        """Begin a run of a reminder to the group."""
        now, ids = self.clock.now(), self.parts.ids
        draft = Draft(
            title="Water the plants",
            account_id=(await self.account(by)).id,
            parts=(DraftPart("Dear {group}"),),
            schedule=daily("09:00"),
            window=Window(0, DAY_MINUTES),
            targets=(self.target_id,),
        )
        saved = await self.do(lambda tx: reminders.create(tx, draft, ids=ids, now=now))
        await self.do(lambda tx: make_run(tx, saved.id, trigger="person", fire_at=now, now=now, ids=ids))

    async def next_turns(self, by: str = "reader") -> list[str]:
        """Return what the runs of an account are, in the order in which they are served."""
        account = await self.account(by)
        due = await self.do(lambda tx: list_due_runs(tx, account.id, now=self.clock.now()))
        return [run.trigger for run in due]

    async def serve_next(self, by: str = "reader") -> None:
        """Note that the next run of an account has its turn."""
        self.clock.advance(1)
        account, now = await self.account(by), self.clock.now()
        due = await self.do(lambda tx: list_due_runs(tx, account.id, now=now))
        await self.do(lambda tx: begin_batch(tx, due[0].id, now=now))

    def arrived(self, group: str = "lake") -> list[GroupMessage]:
        return self.world.groups[group].messages

    def files_at(self, group: str = "lake") -> list[tuple[str, bytes]]:
        """Return the names and contents of the files that arrived."""
        uploads = [self.world.uploads[message.media] for message in self.arrived(group) if message.media]
        return [(upload.name, upload.content) for upload in uploads]


B = TypeVar("B", bound=SendBench)


@asynccontextmanager
async def open_send_bench(
    database: Database, url: str, folder: Path, profile: Profile = DEFAULT_PROFILE
) -> AsyncGenerator[SendBench, None]:
    async with open_bench(SendBench, database, url, folder, profile) as bench:
        yield bench


@asynccontextmanager
async def open_bench(
    kind: type[B], database: Database, url: str, folder: Path, profile: Profile = DEFAULT_PROFILE
) -> AsyncGenerator[B, None]:
    plain = build_bench(database, url, profile, data_dir=folder)
    bench = kind(database, url, plain.clock, plain.world, plain.parts, data_dir=folder)
    await bench.set_up()
    try:
        yield bench
    finally:
        await bench.parts.links.close()
        await bench.close()
        await bench.parts.files.close()
