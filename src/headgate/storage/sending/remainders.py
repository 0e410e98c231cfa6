"""The rest of a run, as a run of another account."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.reminders.run_results import RunState
from headgate.domain.reminders.windows import Window
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries
from headgate.storage.reminders.reminders import AtClose
from headgate.storage.sending.run_making import Trigger

Q = load_queries(__name__)


@dataclass(frozen=True)
class OldRun:
    """A run whose rest is to be sent by somebody else."""

    id: UUID
    reminder_id: UUID | None
    account_id: UUID | None
    account_name: str
    title: str
    zone: str
    window_start: int
    window_end: int
    at_close: AtClose
    state: RunState
    trigger: Trigger
    platform: str
    """Empty if neither its account nor a target of it is left."""

    @property
    def window(self) -> Window:
        return Window(self.window_start, self.window_end, self.zone)


async def lock_family(tx: Tx, run_id: UUID) -> list[UUID]:
    """Lock a run with all that it is the remainder of, and all remainders; returns their ids."""
    return await tx.column(Q["lock_family"], run_id=run_id)


async def get_old_run(tx: Tx, run_id: UUID) -> OldRun | None:
    return await tx.one(OldRun, Q["get_run"], run_id=run_id)


async def fill_with_rest(
    tx: Tx, *, old_id: UUID, new_id: UUID, account_id: UUID, family: list[UUID], include_uncertain: bool
) -> int:
    """Give a new run what an old one has not delivered; returns to how many targets."""
    await tx.execute(Q["lock_parts"], run_id=old_id)
    total = await tx.value(
        Q["insert_rest"], old_id=old_id, new_id=new_id, family=family, include_uncertain=include_uncertain
    )
    await tx.execute(Q["insert_rest_parts"], old_id=old_id, new_id=new_id, account_id=account_id)
    return total


async def pass_on(tx: Tx, *, old_id: UUID, new_id: UUID, error: str, now: datetime) -> bool:
    """Skip in the old run what the new one does; true if the old run must be looked at for it."""
    return await tx.execute(Q["pass_on"], old_id=old_id, new_id=new_id, error=error, now=now) == 1
