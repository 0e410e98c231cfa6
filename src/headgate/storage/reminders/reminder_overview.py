"""Reminders as people see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries
from headgate.storage.reminders.reminders import Reminder, ReminderState

Q = load_queries(__name__)


def trouble_of(reminder: Reminder, *, targets: int) -> str:
    """Return why a reminder can send nothing as it stands; empty if it can."""
    if reminder.state == "archived":
        return ""
    if reminder.account_id is None:
        return "Its account was removed. Choose another one."
    return "" if targets else "It has no targets. Add a group or a list."


@dataclass(frozen=True)
class ReminderLine(Reminder):
    """One reminder of a list, with what it has and how it did last."""

    parts: int
    targets: int
    """With those of its lists, each once."""
    last_run_id: UUID | None
    last_run_state: str | None
    last_run_at: datetime | None
    last_run_total: int
    last_run_sent: int

    @property
    def trouble(self) -> str:
        """Why it can send nothing as it stands; empty if it can."""
        return trouble_of(self, targets=self.targets)


@dataclass(frozen=True)
class ReminderPart:
    """One message of a reminder; without a file, its media fields are empty."""

    number: int
    text: str
    media_id: UUID | None
    media_name: str
    mime_type: str
    size_bytes: int


@dataclass(frozen=True)
class ChosenTarget:
    """A target that was chosen for a reminder, and whether its account sees it."""

    id: UUID
    key: str
    title: str
    seen: bool


@dataclass(frozen=True)
class ChosenList:
    """A list that a reminder sends to."""

    id: UUID
    name: str
    members: int


@dataclass(frozen=True)
class FullReminder:
    """A reminder with all that belongs to it."""

    reminder: Reminder
    parts: tuple[ReminderPart, ...]
    targets: tuple[ChosenTarget, ...]
    lists: tuple[ChosenList, ...]
    groups: int
    """How many it sends to, with those of its lists, each once."""


@dataclass(frozen=True)
class NamedReminder:
    """A reminder that a person named."""

    id: UUID
    title: str
    state: ReminderState


@dataclass(frozen=True)
class ReminderCursor:
    """A place in the order of reminders."""

    created_at: datetime
    id: UUID


async def list_reminders(
    tx: Tx, *, state: ReminderState | None = None, below: ReminderCursor | None = None, limit: int
) -> list[ReminderLine]:
    """Return reminders, newest first."""
    place = {"created_at": None, "id": None} if below is None else vars(below)
    return await tx.all(ReminderLine, Q["list_reminders"], state=state, limit=limit, **place)


async def get_reminder(tx: Tx, reminder_id: UUID) -> FullReminder | None:
    """Return a reminder with all that belongs to it."""
    reminder = await tx.one(Reminder, Q["get_reminder"], id=reminder_id)
    if reminder is None:
        return None
    return FullReminder(
        reminder,
        tuple(await tx.all(ReminderPart, Q["list_parts"], id=reminder_id)),
        tuple(await tx.all(ChosenTarget, Q["list_targets"], id=reminder_id)),
        tuple(await tx.all(ChosenList, Q["list_lists"], id=reminder_id)),
        await tx.value(Q["count_groups"], id=reminder_id),
    )


async def find_reminders(tx: Tx, reference: str) -> list[NamedReminder]:
    """Return the reminders that an id or a title names."""
    return await tx.all(NamedReminder, Q["find_reminders"], reference=reference)


async def list_titles(tx: Tx) -> list[str]:
    """Return titles, to guess what a person meant."""
    return await tx.column(Q["list_titles"])


async def list_first_titles(
    tx: Tx, *, target_ids: Sequence[UUID], list_ids: Sequence[UUID], limit: int
) -> list[str]:
    """Return the titles of the first targets of a plan."""
    return await tx.column(
        Q["list_first_titles"], target_ids=list(target_ids), list_ids=list(list_ids), limit=limit
    )
