"""The options of `headgate reminder create` and `edit`, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, TypeVar
from uuid import UUID

import typer

from headgate.cli.context import Desk
from headgate.cli.lookup.channels import get_account
from headgate.cli.lookup.targets import get_targets
from headgate.cli.reminder.part_order import TypedPart
from headgate.domain.errors import UserError
from headgate.domain.reminders.recurrence import Schedule, daily, monthly, weekdays, weekly
from headgate.domain.reminders.windows import DAY_MINUTES, DEFAULT_END, DEFAULT_START, Window, parse_minute
from headgate.kernel.zone import machine_zone
from headgate.outflow.reminders.drafts import Draft, DraftPart
from headgate.outflow.reminders.media import add_media, check_size
from headgate.outflow.reminders.targets import find_list
from headgate.storage.database import Tx

T = TypeVar("T")
AT_NINE = "09:00"
ALL_DAY = "all-day"

TitleOption = Annotated[str | None, typer.Option("--title", help="What the reminder is called.")]
AccountOption = Annotated[
    str | None, typer.Option("--account", metavar="ACCOUNT", help="The account that sends.")
]
TextOption = Annotated[
    list[str] | None,
    typer.Option("--text", help="A message; {group}, {date} and others stand for what they say. Repeatable."),
]
MediaOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--media",
        metavar="FILE",
        help="A picture or file as a message; the order of all is kept. Repeatable.",
    ),
]
CaptionOption = Annotated[
    list[str] | None, typer.Option("--caption", help="The text of the --media before it.")
]
TargetOption = Annotated[
    list[str] | None,
    typer.Option("--target", metavar="TARGET", help="Key, title or id of a group to send to. Repeatable."),
]
ListOption = Annotated[
    list[str] | None, typer.Option("--list", metavar="LIST", help="A saved list to send to. Repeatable.")
]
ZoneOption = Annotated[
    str | None, typer.Option("--zone", help="Time zone, like Asia/Kuala_Lumpur; this machine's by default.")
]
OnceOption = Annotated[
    str | None, typer.Option("--once", metavar="TIME", help='Fire once, like "2026-12-01 09:00".')
]
DailyOption = Annotated[str | None, typer.Option("--daily", metavar="HH:MM", help="Fire every day.")]
WeekdaysOption = Annotated[
    str | None, typer.Option("--weekdays", metavar="HH:MM", help="Fire from Monday to Friday.")
]
WeeklyOption = Annotated[
    str | None, typer.Option("--weekly", metavar="DAYS@HH:MM", help="Fire on days, like mon,thu@09:00.")
]
MonthlyOption = Annotated[
    str | None,
    typer.Option("--monthly", metavar="DAY@HH:MM", help="Fire on a day of the month, like 15 or last@09:00."),
]
CronOption = Annotated[
    str | None, typer.Option("--cron", metavar="LINE", help='Fire by a cron line, like "0 9 * * 1-5".')
]
WindowOption = Annotated[
    str | None,
    typer.Option("--window", metavar="FROM-TO", help="When it may be sent: 06:00-18:00, or all-day."),
]
AtCloseOption = Annotated[
    Literal["stop", "carry"] | None,
    typer.Option(help="When the window closes: skip the rest, or go on in the next one."),
]


@dataclass(frozen=True)
class Typed:
    """What was typed; None is what was left out."""

    title: str | None
    account: str | None
    parts: Sequence[TypedPart]
    targets: Sequence[str]
    lists: Sequence[str]
    zone: str | None
    window: str | None
    at_close: Literal["stop", "carry"] | None
    schedule: Schedule | None


def read_schedule(
    *,
    once: str | None,
    every_day: str | None,
    on_weekdays: str | None,
    on_days: str | None,
    on_day_of_month: str | None,
    cron: str | None,
) -> Schedule | None:
    """Return the schedule that was typed; nothing if none was."""
    choices = {
        "--once": once,
        "--daily": every_day,
        "--weekdays": on_weekdays,
        "--weekly": on_days,
        "--monthly": on_day_of_month,
        "--cron": cron,
    }
    chosen = {name: value for name, value in choices.items() if value is not None}
    if len(chosen) > 1:
        raise UserError(f"{' and '.join(chosen)} exclude each other.", remedy="Give one of them.")
    for name, value in chosen.items():
        return _schedule_of(name, value)
    return None


def _schedule_of(name: str, value: str) -> Schedule:
    if name == "--once":
        return Schedule(_wall_time(value))
    if name == "--cron":
        return Schedule(cron=value.strip())
    if name == "--daily":
        return daily(value)
    if name == "--weekdays":
        return weekdays(value)
    when, _, at = value.partition("@")
    if name == "--weekly":
        return weekly([day for day in when.split(",") if day.strip()], at or AT_NINE)
    return monthly("last" if when.strip().lower() == "last" else _day(when), at or AT_NINE)


def _wall_time(text: str) -> datetime:
    try:
        wall = datetime.fromisoformat(text.strip())
    except ValueError:
        wall = None
    if wall is None or wall.tzinfo is not None:
        raise UserError(f"{text!r} is not a time on the wall.", remedy="Write it like 2026-12-01 09:00.")
    return wall


def _day(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UserError(
            f"{text!r} is not a day of the month.", remedy="Write it like 15@09:00 or last@09:00."
        ) from None


def read_window(text: str | None, *, zone: str, known: Window | None = None) -> Window:
    """Return the window that was typed, or the known one, in a zone."""
    if text is None:
        start, end = (known.start, known.end) if known else (DEFAULT_START, DEFAULT_END)
        return Window(start, end, zone)
    if text.strip().lower() == ALL_DAY:
        return Window(0, DAY_MINUTES, zone)
    start, dash, end = text.replace("–", "-").partition("-")
    if not dash:
        raise UserError(f"{text!r} is not a window.", remedy=f"Write it like 06:00-18:00, or {ALL_DAY}.")
    return Window(parse_minute(start), parse_minute(end), zone)


async def new_draft(tx: Tx, desk: Desk, typed: Typed) -> Draft:
    """Return what was typed as a draft; what is missing is named."""
    schedule = _needed(typed.schedule, "when", "--once, --daily, --weekdays, --weekly, --monthly or --cron")
    account = await get_account(tx, _needed(typed.account, "which account", "--account"))
    window = read_window(typed.window, zone=typed.zone or machine_zone())
    return Draft(
        title=_needed(typed.title, "what it is called", "--title"),
        account_id=account.id,
        parts=await _stored(tx, desk, typed.parts),
        schedule=schedule,
        window=window,
        targets=tuple(await get_targets(tx, typed.targets, platform=account.platform)),
        lists=await _lists(tx, typed.lists),
        at_close=typed.at_close or "stop",
    )


async def changed_draft(tx: Tx, desk: Desk, draft: Draft, typed: Typed, *, platform: str) -> Draft:
    """Return a draft with what was typed in place of what it had."""
    account_id = draft.account_id
    if typed.account is not None:
        account = await get_account(tx, typed.account)
        account_id, platform = account.id, account.platform
    window = read_window(typed.window, zone=typed.zone or draft.zone, known=draft.window)
    changed = replace(draft, account_id=account_id, window=window)
    if typed.title is not None:
        changed = replace(changed, title=typed.title)
    if typed.parts:
        changed = replace(changed, parts=await _stored(tx, desk, typed.parts))
    if typed.schedule is not None:
        changed = replace(changed, schedule=typed.schedule)
    if typed.at_close is not None:
        changed = replace(changed, at_close=typed.at_close)
    if typed.targets or typed.lists:
        targets = await get_targets(tx, typed.targets, platform=platform)
        changed = replace(changed, targets=tuple(targets), lists=await _lists(tx, typed.lists))
    return changed


def _needed(value: T | None, what: str, options: str) -> T:
    if value is None:
        raise UserError(f"A new reminder must say {what}.", remedy=f"Give {options}.")
    return value


async def _lists(tx: Tx, names: Sequence[str]) -> tuple[UUID, ...]:
    return tuple([(await find_list(tx, name)).id for name in names])


async def _stored(tx: Tx, desk: Desk, parts: Sequence[TypedPart]) -> tuple[DraftPart, ...]:
    stored: list[DraftPart] = []
    for part in parts:
        media_id = None
        if part.file is not None:
            media = await add_media(
                tx, _content(part.file), name=part.file.name, ids=desk.ids, now=desk.clock.now()
            )
            media_id = media.id
        stored.append(DraftPart(part.text, media_id))
    return tuple(stored)


def _content(file: Path) -> bytes:
    try:
        check_size(file.name, file.stat().st_size)
        return file.read_bytes()
    except OSError as error:
        raise UserError(
            f"{file} cannot be read: {error.strerror or error}.",
            remedy="Look at its name and its permissions.",
        ) from error
