"""The reminders of a fan-out, written as the commands write them, and each begun at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.domain.reminders.recurrence import daily
from headgate.domain.reminders.windows import Window
from headgate.kernel.ids import Ids
from headgate.outflow.reminders import reminders
from headgate.outflow.reminders.drafts import Draft, DraftPart
from headgate.outflow.reminders.runs import make_run
from headgate.storage.channels.channels import upsert_account
from headgate.storage.database import Tx
from headgate.storage.reminders.media import upsert_media
from headgate.testing.platform.world import World

PICTURE = bytes(range(256)) * 40
FIRST_FIRE = 9 * 60


async def plan_runs(
    tx: Tx,
    world: World,
    parts: Sequence[str],
    *,
    window: Window,
    at_close: Literal["stop", "carry"] = "stop",
    established: bool = True,
    ids: Ids,
    now: datetime,
) -> list[UUID]:
    """Let each account of the world send these parts to every group, beginning now; return the accounts."""
    picture = await upsert_media(tx, ids.new(), name="a.png", mime_type="image/png", content=PICTURE, now=now)
    groups = {ids.new(): group for group in world.groups.values()}
    rows = [{"id": str(key), "key": group.key, "title": group.title} for key, group in groups.items()]
    await tx.raw(
        "insert into target (id, platform, key, title, created_at)"
        " select g.id, 'simulated', g.key, g.title, $2"
        " from jsonb_to_recordset($1::text::jsonb) as g (id uuid, key text, title text)",
        [json.dumps(rows), now],
    )
    accounts: list[UUID] = []
    for account in world.accounts:
        account_id = await upsert_account(
            tx, ids.new(), platform="simulated", name=account, established=established, now=now
        )
        draft = Draft(
            title=f"From {account}",
            account_id=account_id,
            parts=tuple(_part(text, picture.id) for text in parts),
            schedule=daily(window.start if not window.holds(FIRST_FIRE) else FIRST_FIRE),
            window=window,
            targets=tuple(groups),
            at_close=at_close,
        )
        saved = await reminders.create(tx, draft, ids=ids, now=now)
        # Only the run that is made here counts.
        await reminders.pause(tx, saved.id, now=now)
        await make_run(tx, saved.id, trigger="person", fire_at=now, now=now, ids=ids)
        accounts.append(account_id)
    return accounts


async def see_targets(tx: Tx, *, now: datetime) -> None:
    """Let every account write to every group."""
    await tx.raw(
        "insert into target_account (account_id, target_id, seen_at)"
        " select a.id, t.id, $1 from account a cross join target t returning target_id",
        [now],
    )


def _part(text: str, picture_id: UUID) -> DraftPart:
    if text.startswith("+"):
        return DraftPart(text.removeprefix("+").removeprefix("picture"), picture_id)
    return DraftPart(text)
