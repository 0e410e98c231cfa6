"""Previews: when a reminder is sent next, and what its first groups will read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from headgate.domain.reminders.recurrence import describe, next_fires
from headgate.domain.reminders.templates import Values, fill
from headgate.outflow.reminders.drafts import Draft, check_draft
from headgate.storage.database import Tx
from headgate.storage.reminders.media import list_media
from headgate.storage.reminders.reminder_overview import list_first_titles

FIRES = 5
GROUPS = 3


@dataclass(frozen=True)
class PreviewedMessage:
    """One message as a group will see it."""

    text: str
    file: str
    """Name of the file that goes with it; empty for a plain text."""


@dataclass(frozen=True)
class PreviewedGroup:
    """All messages of one group."""

    group: str
    messages: tuple[PreviewedMessage, ...]


@dataclass(frozen=True)
class Preview:
    """The preview of a draft."""

    schedule: str
    next_sends: tuple[datetime, ...]
    total: int
    groups: tuple[PreviewedGroup, ...]
    warnings: tuple[str, ...]


async def preview(tx: Tx, draft: Draft, *, now: datetime, known: bool = False) -> Preview:
    """Check a draft and show what would come of it; `known` is one that is kept already."""
    schedule = (draft.schedule, draft.zone) if known else None
    checked = await check_draft(tx, draft, now=now, known_schedule=schedule)
    fires = next_fires(draft.schedule, draft.zone, after=now, count=FIRES)
    titles = await list_first_titles(tx, target_ids=draft.targets, list_ids=draft.lists, limit=GROUPS)
    wanted = [part.media_id for part in draft.parts if part.media_id is not None]
    names = {media.id: media.name for media in await list_media(tx, wanted)}
    groups: list[PreviewedGroup] = []
    for number, title in enumerate(titles, start=1):
        values = Values.at(
            fires[0] if fires else now,
            zone=draft.zone,
            group=title,
            account=checked.check.account_name,
            number=number,
            total=checked.check.total,
        )
        messages = (
            PreviewedMessage(fill(part.text, values), names[part.media_id] if part.media_id else "")
            for part in draft.parts
        )
        groups.append(PreviewedGroup(title, tuple(messages)))
    return Preview(
        describe(draft.schedule), tuple(fires), checked.check.total, tuple(groups), checked.warnings
    )
