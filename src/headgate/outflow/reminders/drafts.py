"""Drafts of reminders: what a person writes down, and whether it can be kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import get_args
from uuid import UUID

from headgate.domain.errors import UserError
from headgate.domain.reminders.recurrence import Schedule, check_fires, check_future
from headgate.domain.reminders.templates import check_template, is_same_for_all
from headgate.domain.reminders.windows import Window
from headgate.storage.database import Tx
from headgate.storage.reminders.reminder_overview import FullReminder
from headgate.storage.reminders.reminders import AtClose, PlanCheck, PlanContent, check_plan

MAX_TITLE = 200
MAX_TEXT = 4096
MAX_PARTS = 20
MAX_TARGETS = 100_000
MAX_LISTS = 100


@dataclass(frozen=True)
class DraftPart:
    """One message: a text, or a file with an optional text."""

    text: str = ""
    media_id: UUID | None = None


@dataclass(frozen=True)
class Draft:
    """A reminder as a person writes it down."""

    title: str
    account_id: UUID | None
    parts: tuple[DraftPart, ...]
    schedule: Schedule
    window: Window
    """With the time zone of the whole reminder."""
    targets: tuple[UUID, ...] = ()
    lists: tuple[UUID, ...] = ()
    at_close: AtClose = "stop"

    @property
    def zone(self) -> str:
        return self.window.zone


@dataclass(frozen=True)
class CheckedDraft:
    """A draft that can be kept, with what its author should know."""

    content: PlanContent
    check: PlanCheck
    warnings: tuple[str, ...]


def draft_of(full: FullReminder) -> Draft:
    """Return a stored reminder as a draft, to be changed."""
    reminder = full.reminder
    return Draft(
        title=reminder.title,
        account_id=reminder.account_id,
        parts=tuple(DraftPart(part.text, part.media_id) for part in full.parts),
        schedule=reminder.schedule,
        window=reminder.window,
        targets=tuple(target.id for target in full.targets),
        lists=tuple(one.id for one in full.lists),
        at_close=reminder.at_close,
    )


def check_words(draft: Draft) -> PlanContent:
    """Raise `UserError` for whatever a draft says that cannot be; nothing is looked up."""
    title = check_title(draft.title)
    if draft.account_id is None:
        raise UserError("A reminder needs an account to send from.", remedy="Choose an account.")
    if not 1 <= len(draft.parts) <= MAX_PARTS:
        raise UserError(
            f"A reminder has 1 to {MAX_PARTS} messages; this one has {len(draft.parts)}.",
            remedy="Give it a text or a file to send.",
        )
    for number, part in enumerate(draft.parts, start=1):
        check_part(part, number)
    if len(draft.targets) > MAX_TARGETS or len(draft.lists) > MAX_LISTS:
        raise UserError(
            f"A reminder goes to at most {MAX_TARGETS:,} targets and {MAX_LISTS} lists.",
            remedy="Keep some of them together in a list.",
        )
    if draft.at_close not in get_args(AtClose):
        raise UserError(
            f"{draft.at_close!r} is not an option for the end of the window.",
            remedy="Choose stop, to skip the rest, or carry, to continue in the next window.",
        )
    check_fires(draft.schedule, draft.window)
    return PlanContent(
        title=title,
        account_id=draft.account_id,
        schedule=draft.schedule,
        window=draft.window,
        at_close=draft.at_close,
        texts=[part.text for part in draft.parts],
        media_ids=[part.media_id for part in draft.parts],
        target_ids=list(dict.fromkeys(draft.targets)),
        list_ids=list(dict.fromkeys(draft.lists)),
    )


def check_title(title: str) -> str:
    """Return a title as it is kept."""
    title = " ".join(title.split())
    if not title or len(title) > MAX_TITLE or not title.isprintable():
        raise UserError(
            f"A reminder needs a title of 1 to {MAX_TITLE} characters.", remedy="Give it another title."
        )
    return title


def check_part(part: DraftPart, number: int) -> None:
    """Raise `UserError` for a message that cannot be sent."""
    if not part.text.strip() and part.media_id is None:
        raise UserError(f"Message {number} is empty.", remedy="Give it a text or a file.")
    if len(part.text) > MAX_TEXT:
        raise UserError(
            f"The text of message {number} has {len(part.text):,} characters; at most {MAX_TEXT:,} can be"
            " sent.",
            remedy="Split it into two messages.",
        )
    if "\x00" in part.text:
        raise UserError(
            f"The text of message {number} has a character that cannot be sent.", remedy="Type it again."
        )
    check_template(part.text)


async def check_draft(
    tx: Tx, draft: Draft, *, now: datetime, known_schedule: tuple[Schedule, str] | None = None
) -> CheckedDraft:
    """Raise `UserError` if a draft cannot be kept; otherwise return it with its warnings.

    A schedule that the reminder has already, in its zone, may lie in the past: it has fired.
    """
    content = check_words(draft)
    if (draft.schedule, draft.zone) != known_schedule:
        check_future(draft.schedule, draft.zone, now=now)
    check = await check_plan(tx, content)
    if check is None:
        raise UserError("There is no such account.", command="headgate account list")
    _check_names(check)
    return CheckedDraft(content, check, tuple(_warnings(draft, check)))


def _check_names(check: PlanCheck) -> None:
    if check.strange_targets:
        raise UserError(
            f"{check.strange_targets:,} of the targets do not exist on {check.platform}, the platform"
            f" of {check.account_name}.",
            remedy="Refresh the groups of the account, then choose again.",
            command="headgate target refresh",
        )
    if check.strange_lists:
        raise UserError("One of the lists no longer exists.", remedy="Choose the lists again.")
    if check.strange_media:
        raise UserError("One of the files no longer exists.", remedy="Add it again.")
    if not check.total:
        raise UserError("A reminder needs a target.", remedy="Choose a target, or a list that is not empty.")


def _warnings(draft: Draft, check: PlanCheck) -> list[str]:
    warnings: list[str] = []
    if check.unseen:
        warnings.append(
            f"{check.account_name} does not see {check.unseen:,} of the {check.total:,} targets; what is sent"
            " there may fail."
        )
    if check.total > 1 and all(is_same_for_all(part.text) for part in draft.parts):
        warnings.append(
            "All messages are byte-identical, which platforms notice; {group} in a text makes each its own."
        )
    return warnings
