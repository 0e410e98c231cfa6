"""Accounts, groups, reminders and runs as a person would have them, for looking at pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.domain.pacing import LanePlan, Pace
from headgate.domain.reminders.recurrence import Schedule, daily, monthly, weekdays
from headgate.domain.reminders.windows import Window
from headgate.kernel.clock import RealClock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.outflow.reminders import reminders
from headgate.outflow.reminders.drafts import Draft, DraftPart
from headgate.outflow.reminders.runs import make_run
from headgate.outflow.reminders.targets import create_list
from headgate.storage.channels.channels import upsert_account
from headgate.storage.database import Database, Tx
from headgate.storage.lanes.lanes import change_lanes, insert_lanes
from headgate.storage.reminders.targets import SeenTarget, note_targets, search_targets

PLACES = ("Harbour", "North garden", "Old mill", "Riverside allotments", "Hilltop", "Station quarter")
LONG = (
    "A reminder whose author could not stop writing when its title was already rather long, and then went on"
)
SUMMARY = (
    "Delivery window closed at 18:00 (Asia/Kuala_Lumpur). 118 of 200 groups delivered. This account is at"
    " capacity for this run; consider sending the rest from another account."
)
WHOLE_DAY = Window(0, 1440, "Asia/Kuala_Lumpur")


@dataclass(frozen=True)
class Scene:
    """What there is to look at."""

    account_id: UUID
    reminder_id: UUID
    under_way: UUID
    ended: UUID


async def set_scene(database: Database, *, groups: int = 200) -> Scene:
    """Make two accounts, groups, four reminders, a run under way and one that its window closed on."""
    ids, now = Ids(RealClock(), Randomness(3)), RealClock().now()
    async with database.transaction() as tx:
        account_id = await _add_account(tx, "Atlas", ids, now, groups)
        await _add_account(tx, "Borealis", ids, now, groups)
        targets = [one.id for one in await search_targets(tx, limit=groups)]
        list_id = await create_list(tx, "All gardens", targets[: groups // 2], ids=ids, now=now)

        async def add(title: str, schedule: Schedule, window: Window = WHOLE_DAY) -> UUID:
            text = "Dear {group}, please water the plants today, {weekday}.\nThank you!"
            parts = (DraftPart(text), DraftPart("Bye, {account}"))
            draft = Draft(title, account_id, parts, schedule, window, tuple(targets), (list_id,))
            return (await reminders.create(tx, draft, ids=ids, now=now)).id

        water = await add("Water the plants", weekdays("09:00"))
        paused = await add("Rent", monthly("last", "10:30"), Window(zone="Europe/London"))
        await reminders.pause(tx, paused, now=now)
        await add(LONG, daily("09:00"), Window(zone="America/New_York"))
        run = await make_run(tx, water, trigger="person", fire_at=now, now=now, ids=ids)
        old = await make_run(
            tx,
            water,
            trigger="schedule",
            fire_at=now - timedelta(days=1),
            now=now - timedelta(days=1),
            ids=ids,
            beside=True,
        )
        await _play(tx, run, old, groups, now)
    return Scene(account_id, water, run, old)


async def _add_account(tx: Tx, name: str, ids: Ids, now: datetime, groups: int) -> UUID:
    account_id = await upsert_account(tx, ids.new(), platform="sim", name=name, established=True, now=now)
    seen = [
        SeenTarget(f"g{number}", f"{PLACES[number % len(PLACES)]} {number + 1}") for number in range(groups)
    ]
    await note_targets(tx, account_id, seen, platform="sim", ids=ids, now=now)
    for pace in (Pace(60.0, 3), Pace(40.0, 3, 5000)):
        plans = [LanePlan("send", pace)]
        owner = str(account_id)
        await insert_lanes(tx, owners=[owner], plans=plans, established=True)
        await change_lanes(tx, owners=[owner], plans=plans, established=None, by_person=True)
    return account_id


async def _play(tx: Tx, run: UUID, old: UUID, groups: int, now: datetime) -> None:
    """Let a part of both runs be sent, as senders leave them."""
    for run_id, sent, rest in ((run, groups * 2 // 5, "pending"), (old, groups * 3 // 5, "skipped")):
        await tx.raw(
            "update delivery set state = 'sent', started_at = $2, ended_at = $2,"
            " latency_ms = 300 + 7 * number where run_id = $1 and number <= $3",
            [run_id, now - timedelta(minutes=2), sent],
        )
        await tx.raw("update part set state = 'sent' where run_id = $1 and delivery <= $2", [run_id, sent])
        if rest == "skipped":
            await tx.raw(
                "update delivery set state = 'skipped', error = 'delivery window closed', ended_at = $3"
                " where run_id = $1 and number > $2",
                [run_id, sent, now],
            )
        for number, state, error in (
            (2, "failed", "no such group"),
            (4, "uncertain", "the connection was lost"),
        ):
            await tx.raw(
                "update delivery set state = $3, error = $4, latency_ms = null"
                " where run_id = $1 and number = $2",
                [run_id, number, state, error],
            )
            await tx.raw(
                "update part set state = $3 where run_id = $1 and delivery = $2", [run_id, number, state]
            )
    await tx.raw("update run set state = 'running', reason = '', started_at = $2 where id = $1", [run, now])
    await tx.raw(
        "update run set state = 'partial', started_at = $2, ended_at = $3, summary = $4 where id = $1",
        [
            old,
            now - timedelta(days=1),
            now - timedelta(hours=20),
            SUMMARY,
        ],
    )
