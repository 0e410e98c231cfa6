"""The options of `headgate reminder create` and `edit`, and what they mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_type_hints
from uuid import UUID

import typer

from headgate.cli.context import CommandContext
from headgate.cli.lookup.channels import get_account
from headgate.cli.lookup.targets import get_targets
from headgate.cli.output import AsJson
from headgate.cli.reminder.part_order import TypedPart, typed_parts
from headgate.domain.errors import UserError
from headgate.domain.reminders.recurrence import Schedule, daily, monthly, weekdays, weekly
from headgate.domain.reminders.windows import DAY_MINUTES, DEFAULT_END, DEFAULT_START, Window, parse_minute
from headgate.kernel.zone import machine_zone
from headgate.outflow.reminders.drafts import Draft, DraftPart, draft_of
from headgate.outflow.reminders.media import add_media, check_size
from headgate.outflow.reminders.targets import find_list
from headgate.storage.database import Tx
from headgate.storage.reminders.reminder_overview import FullReminder

T = TypeVar("T")
AT_NINE = "09:00"
ALL_DAY = "all-day"


@dataclass(frozen=True)
class PlanOptions:
    """The options of `create` and `edit`; None is what was left out."""

    title: Annotated[str | None, typer.Option("--title", help="Title of the reminder.")] = None
    account: Annotated[
        str | None, typer.Option("--account", metavar="ACCOUNT", help="Account to send from.")
    ] = None
    text: Annotated[
        list[str] | None,
        typer.Option("--text", help="Text of a message; may contain {group}, {date} and others. Repeatable."),
    ] = None
    media: Annotated[
        list[Path] | None,
        typer.Option(
            "--media",
            metavar="FILE",
            help="Picture or file to send as a message. Repeatable.",
        ),
    ] = None
    caption: Annotated[
        list[str] | None, typer.Option("--caption", help="Caption of the --media before it.")
    ] = None
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target", metavar="TARGET", help="Key, title or id of a group to send to. Repeatable."
        ),
    ] = None
    lists: Annotated[
        list[str] | None, typer.Option("--list", metavar="LIST", help="A saved list to send to. Repeatable.")
    ] = None
    zone: Annotated[
        str | None,
        typer.Option("--zone", help="Time zone, like Asia/Kuala_Lumpur; this machine's by default."),
    ] = None
    once: Annotated[
        str | None, typer.Option("--once", metavar="TIME", help='Send once, like "2026-12-01 09:00".')
    ] = None
    daily: Annotated[str | None, typer.Option("--daily", metavar="HH:MM", help="Send every day.")] = None
    weekdays: Annotated[
        str | None, typer.Option("--weekdays", metavar="HH:MM", help="Send from Monday to Friday.")
    ] = None
    weekly: Annotated[
        str | None, typer.Option("--weekly", metavar="DAYS@HH:MM", help="Send on days, like mon,thu@09:00.")
    ] = None
    monthly: Annotated[
        str | None,
        typer.Option(
            "--monthly", metavar="DAY@HH:MM", help="Send on a day of the month, like 15 or last@09:00."
        ),
    ] = None
    cron: Annotated[
        str | None, typer.Option("--cron", metavar="LINE", help='Send by a cron line, like "0 9 * * 1-5".')
    ] = None
    window: Annotated[
        str | None,
        typer.Option("--window", metavar="FROM-TO", help="When it may be sent: 06:00-18:00, or all-day."),
    ] = None
    at_close: Annotated[
        Literal["stop", "carry"] | None,
        typer.Option(help="When the window closes: skip the rest, or carry it into the next."),
    ] = None
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the result without saving it.")] = False
    as_json: AsJson = False

    def parts(self, ctx: typer.Context) -> list[TypedPart]:
        """Return the messages, in the order in which they were typed."""
        return typed_parts(ctx, texts=self.text or (), files=self.media or (), captions=self.caption or ())

    @property
    def schedule(self) -> Schedule | None:
        """The schedule that was typed; nothing if none was."""
        choices = {
            "--once": self.once,
            "--daily": self.daily,
            "--weekdays": self.weekdays,
            "--weekly": self.weekly,
            "--monthly": self.monthly,
            "--cron": self.cron,
        }
        chosen = {name: value for name, value in choices.items() if value is not None}
        if len(chosen) > 1:
            raise UserError(f"{' and '.join(chosen)} cannot be combined.", remedy="Use one of them.")
        for name, value in chosen.items():
            return _schedule_of(name, value)
        return None


def takes_plan(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take all options of a plan; it gets them as its argument `options`."""
    hints = get_type_hints(PlanOptions, include_extras=True)

    @wraps(command)
    def run(**given: Any) -> None:
        options = PlanOptions(**{name: given.pop(name) for name in hints})
        command(**given, options=options)

    own = [one for one in signature(command, eval_str=True).parameters.values() if one.name != "options"]
    shared = [
        Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
        for one in fields(PlanOptions)
    ]
    # Typer reads both.
    run.__dict__["__signature__"] = Signature([*own, *shared])
    run.__annotations__ = {one.name: one.annotation for one in [*own, *shared]}
    return run


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
        raise UserError(f"{text!r} is not a date and time.", remedy="Write it like 2026-12-01 09:00.")
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


async def new_draft(tx: Tx, context: CommandContext, typed: PlanOptions, parts: Sequence[TypedPart]) -> Draft:
    """Return what was typed as a draft; what is missing is named."""
    schedule = _needed(
        typed.schedule, "a schedule", "--once, --daily, --weekdays, --weekly, --monthly or --cron"
    )
    account = await get_account(tx, _needed(typed.account, "an account", "--account"))
    window = read_window(typed.window, zone=typed.zone or machine_zone())
    return Draft(
        title=_needed(typed.title, "a title", "--title"),
        account_id=account.id,
        parts=await _stored(tx, context, parts),
        schedule=schedule,
        window=window,
        targets=tuple(await get_targets(tx, typed.target or (), platform=account.platform)),
        lists=await _lists(tx, typed.lists or ()),
        at_close=typed.at_close or "stop",
    )


async def changed_draft(
    tx: Tx, context: CommandContext, known: FullReminder, typed: PlanOptions, parts: Sequence[TypedPart]
) -> Draft:
    """Return what a reminder plans, with what was typed in place of what it had."""
    draft, platform = draft_of(known), known.reminder.platform
    account_id = draft.account_id
    if typed.account is not None:
        account = await get_account(tx, typed.account)
        account_id, platform = account.id, account.platform
    window = read_window(typed.window, zone=typed.zone or draft.zone, known=draft.window)
    changed = replace(draft, account_id=account_id, window=window)
    if typed.title is not None:
        changed = replace(changed, title=typed.title)
    if parts:
        changed = replace(changed, parts=await _stored(tx, context, parts))
    if (schedule := typed.schedule) is not None:
        changed = replace(changed, schedule=schedule)
    if typed.at_close is not None:
        changed = replace(changed, at_close=typed.at_close)
    if typed.target or typed.lists:
        targets = await get_targets(tx, typed.target or (), platform=platform)
        changed = replace(changed, targets=tuple(targets), lists=await _lists(tx, typed.lists or ()))
    return changed


def _needed(value: T | None, what: str, options: str) -> T:
    if value is None:
        raise UserError(f"A new reminder needs {what}.", remedy=f"Give {options}.")
    return value


async def _lists(tx: Tx, names: Sequence[str]) -> tuple[UUID, ...]:
    return tuple([(await find_list(tx, name)).id for name in names])


async def _stored(tx: Tx, context: CommandContext, parts: Sequence[TypedPart]) -> tuple[DraftPart, ...]:
    stored: list[DraftPart] = []
    for part in parts:
        media_id = None
        if part.file is not None:
            media = await add_media(
                tx, _content(part.file), name=part.file.name, ids=context.ids, now=context.clock.now()
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
            remedy="Check its name and permissions.",
        ) from error
