"""What is wrong in the form of a reminder, field by field, and what would become of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar, cast

from headgate.domain.errors import UserError
from headgate.domain.reminders.recurrence import Schedule, check_fires, check_future, describe, next_fires
from headgate.domain.reminders.windows import Window, parse_minute
from headgate.domain.wall_time import find_zone
from headgate.outflow.reminders.drafts import Draft, DraftPart, check_part, check_title
from headgate.outflow.reminders.preflight import Outlook, Preflight
from headgate.outflow.reminders.previews import FIRES, Preview, preview
from headgate.storage.database import Tx
from headgate.storage.reminders.reminders import AtClose
from headgate.web.pages.reminders.reminder_form import ReminderInput

Made = TypeVar("Made")
_UNTITLED = "Untitled"


@dataclass
class Problems:
    """What is wrong, by the field beside which it is said."""

    by_field: dict[str, str] = field(default_factory=dict[str, str])

    def attempt(self, name: str, make: Callable[[], Made]) -> Made | None:
        """Return what is made, or note why it could not be; the first reason of a field stays."""
        try:
            return make()
        except UserError as error:
            self.by_field.setdefault(name, str(error))
        except (OverflowError, ValueError):
            self.by_field.setdefault(name, "There is no such time.")
        return None


@dataclass(frozen=True)
class Judged:
    """A form that was read: its draft as far as there is one, and what is wrong."""

    draft: Draft | None
    """Empty if a field is wrong that the rest needs; the title is none of those."""
    schedule: Schedule | None
    problems: dict[str, str]


@dataclass(frozen=True)
class Ahead:
    """What would become of a form if it were saved."""

    schedule: str = ""
    fires: Sequence[datetime] = ()
    preview: Preview | None = None
    outlook: Outlook | None = None
    missing: Sequence[str] = ()


def judge(typed: ReminderInput, *, now: datetime, known: tuple[Schedule, str] | None = None) -> Judged:
    """Hold a form against the rules; a schedule that is known already may lie in the past."""
    problems = Problems()
    if not typed.title.strip():
        problems.by_field["title"] = "Give it a title."
    title = problems.attempt("title", lambda: check_title(typed.title))
    if typed.account_id is None:
        problems.by_field["account"] = "Choose the account that sends."
    parts = tuple(DraftPart(part.text, part.media_id) for part in typed.parts)
    for number, part in enumerate(parts, start=1):
        problems.attempt(f"part-{number}", lambda part=part, number=number: check_part(part, number))
    if not typed.chosen and not typed.lists:
        problems.by_field["targets"] = "Choose a group or a list to send to."
    problems.attempt("zone", lambda: find_zone(typed.zone))
    window = None if "zone" in problems.by_field else problems.attempt("window", lambda: _window(typed))
    schedule = problems.attempt("schedule", typed.when.schedule)
    if schedule is not None and window is not None:
        problems.attempt("schedule", lambda: check_fires(schedule, window))
        if (schedule, typed.zone) != known:
            problems.attempt("schedule", lambda: check_future(schedule, typed.zone, now=now))
    draft = None
    if schedule is not None and window is not None and not problems.by_field.keys() - {"title"}:
        draft = Draft(
            title=title or _UNTITLED,
            account_id=typed.account_id,
            parts=parts,
            schedule=schedule,
            window=window,
            targets=typed.chosen,
            lists=typed.lists,
            at_close=cast("AtClose", typed.window.at_close),
        )
    return Judged(draft, schedule, problems.by_field)


def _window(typed: ReminderInput) -> Window:
    start, end = typed.window.ends
    return Window(parse_minute(start), parse_minute(end), typed.zone)


async def preview_form(tx: Tx, preflight: Preflight, typed: ReminderInput, judged: Judged) -> Ahead:
    """Return when a form would fire, what would be sent, and how far that would come."""
    now = preflight.clock.now()
    shown = Ahead(missing=list(judged.problems.values()))
    if judged.schedule is not None and not judged.problems.keys() & {"zone", "schedule"}:
        fires = next_fires(judged.schedule, typed.zone, after=now, count=FIRES)
        shown = replace(shown, schedule=describe(judged.schedule), fires=fires)
    if judged.draft is None:
        return shown
    try:
        seen = await preview(tx, judged.draft, now=now, known=True)
        return replace(shown, preview=seen, outlook=await preflight.of_draft(tx, judged.draft))
    except UserError as error:
        return replace(shown, missing=[*shown.missing, str(error)])
