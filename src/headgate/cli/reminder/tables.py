"""Reminders as tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import typer

from headgate.cli.output import print_table
from headgate.cli.phrases import count_of, moment, print_facts, print_heading
from headgate.domain.reminders.recurrence import describe
from headgate.domain.reminders.windows import Window
from headgate.domain.wall_time import find_zone
from headgate.domain.words.states import AT_CLOSE, state_text
from headgate.domain.words.times import relative
from headgate.outflow.reminders.previews import Preview
from headgate.outflow.reminders.reminders import Saved
from headgate.storage.reminders.reminder_overview import FullReminder, ReminderLine, ReminderPart
from headgate.storage.reminders.reminders import Reminder

MAX_TARGETS = 20


def as_line(line: ReminderLine) -> dict[str, Any]:
    """Return a reminder of a list as JSON shows it."""
    return {
        **vars(line),
        "trouble": line.trouble,
        "schedule": describe(line.schedule),
        "window": line.window.text,
    }


def as_document(full: FullReminder, preview: Preview | None) -> dict[str, Any]:
    """Return a reminder with all that belongs to it as JSON shows it."""
    reminder = full.reminder
    return {
        **vars(reminder),
        "schedule": describe(reminder.schedule),
        "window": reminder.window.text,
        "parts": list(full.parts),
        "targets": list(full.targets),
        "lists": list(full.lists),
        "groups": full.groups,
        "next_sends": [] if preview is None else list(preview.next_sends),
    }


def print_reminders(lines: Sequence[ReminderLine], *, now: datetime) -> None:
    print_table(
        ["reminder", "account", "schedule", "targets", "state", "next send", "last run"],
        [
            (
                line.title,
                line.account_name or "none",
                f"{describe(line.schedule)} ({line.zone})",
                f"{line.targets:,}",
                state_text(line.state),
                line.trouble or ("" if line.due_at is None else relative(line.due_at, now)),
                _last_run(line, now),
            )
            for line in lines
        ],
        empty="There is no reminder yet: `headgate reminder create --help` says how to make one.",
        numeric=["targets"],
    )


def _last_run(line: ReminderLine, now: datetime) -> str:
    if line.last_run_at is None or line.last_run_state is None:
        return ""
    return f"{state_text(line.last_run_state)}, {relative(line.last_run_at, now)}"


def print_reminder(full: FullReminder, *, now: datetime) -> None:
    """Print what a reminder is."""
    reminder = full.reminder
    typer.echo(typer.style(reminder.title, bold=True))
    typer.echo()
    print_facts(
        [
            ("id", str(reminder.id)),
            ("state", state_text(reminder.state)),
            ("account", reminder.account_name or "none: the one that sent it was removed"),
            ("schedule", f"{describe(reminder.schedule)} ({reminder.zone})"),
            ("next send", moment(reminder.due_at, now, never="none")),
            ("delivery window", window_in_words(reminder.window)),
            ("when it closes", AT_CLOSE[reminder.at_close]),
            *((f"message {part.number}", _part_in_words(part)) for part in full.parts),
            *(("list", f"{one.name} ({count_of(one.members, 'target')})") for one in full.lists),
        ]
    )
    _print_targets(full)


def window_in_words(window: Window) -> str:
    return "the whole day" if window.is_whole_day else f"{window.text} ({window.zone})"


def _part_in_words(part: ReminderPart) -> str:
    if part.media_id is None:
        return part.text
    file = f"[{part.media_name}, {part.size_bytes / 1e6:.1f} MB]"
    return f"{file} {part.text}".strip()


def _print_targets(full: FullReminder) -> None:
    if not full.targets:
        return
    typer.echo()
    print_table(
        ["target", "key", "seen by the account"],
        [(target.title, target.key, target.seen) for target in full.targets[:MAX_TARGETS]],
    )
    if len(full.targets) > MAX_TARGETS:
        typer.echo(f"… and {len(full.targets) - MAX_TARGETS:,} more; --json has them all.")


def print_preview(preview: Preview, *, zone: str, now: datetime) -> None:
    """Print when a reminder is sent next, and what its first groups will read."""
    print_heading(f"{preview.schedule} ({zone})")
    place = find_zone(zone)
    for send in preview.next_sends:
        typer.echo(f"  {send.astimezone(place):%a %Y-%m-%d %H:%M}  {relative(send, now)}")
    if not preview.next_sends:
        typer.echo("  It is not sent any more.")
    for group in preview.groups:
        print_heading(f"To {group.group}")
        for message in group.messages:
            shown = f"[{message.file}] {message.text}" if message.file else message.text
            typer.echo("  " + "\n  ".join(shown.strip().splitlines()))
    if preview.total > len(preview.groups):
        more = preview.total - len(preview.groups)
        typer.echo(f"\n… and to {count_of(more, 'more group', 'more groups')}.")
    say_warnings(preview.warnings)


def say_warnings(warnings: Sequence[str]) -> None:
    for warning in warnings:
        typer.echo(f"Note: {warning}", err=True)


def say_saved(reminder: Reminder, saved: Saved, *, now: datetime) -> None:
    """Say that a reminder was kept, and when it fires."""
    fires = "is not sent any more" if saved.due_at is None else f"is sent {relative(saved.due_at, now)}"
    if reminder.state == "paused":
        fires = "is paused"
    typer.echo(f"{reminder.title} is saved: it goes to {count_of(saved.targets, 'group')} and {fires}.")
