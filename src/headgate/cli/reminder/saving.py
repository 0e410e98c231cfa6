"""`headgate reminder create` and `edit`: from options to a plan that is kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import typer

from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.reminders import ReminderArgument, get_reminder
from headgate.cli.output import print_json
from headgate.cli.reminder import tables as reminder_tables
from headgate.cli.reminder.options import PlanOptions, changed_draft, new_draft, takes_plan
from headgate.cli.reminder.outlook import preflight_of, say_outlook
from headgate.outflow.reminders import reminders
from headgate.outflow.reminders.drafts import Draft
from headgate.outflow.reminders.preflight import Outlook
from headgate.outflow.reminders.previews import Preview
from headgate.outflow.reminders.previews import preview as preview_of
from headgate.outflow.reminders.reminders import Saved
from headgate.storage.database import Tx
from headgate.storage.reminders.reminder_overview import FullReminder

Plan = Callable[[Tx, CommandContext], Awaitable[tuple[UUID | None, Draft]]]
"""Returns a draft, and the reminder that it is to replace."""


@takes_plan
def create(ctx: typer.Context, *, options: PlanOptions) -> None:
    """Create a reminder, and show when it is sent and what the groups will read.

    Messages are sent in the order of --text and --media.
    """
    parts = options.parts(ctx)

    async def plan(tx: Tx, context: CommandContext) -> tuple[UUID | None, Draft]:
        return None, await new_draft(tx, context, options, parts)

    _save(plan, dry_run=options.dry_run, as_json=options.as_json)


@takes_plan
def edit(ctx: typer.Context, reminder: ReminderArgument, *, options: PlanOptions) -> None:
    """Change the given parts of a reminder, and keep the rest.

    New messages replace all old ones; so do targets and lists. A run in progress does not change.
    """
    parts = options.parts(ctx)

    async def plan(tx: Tx, context: CommandContext) -> tuple[UUID | None, Draft]:
        known = await reminders.get(tx, (await get_reminder(tx, reminder)).id)
        return known.reminder.id, await changed_draft(tx, context, known, options, parts)

    _save(plan, dry_run=options.dry_run, as_json=options.as_json)


@dataclass(frozen=True)
class Kept:
    """A draft that was kept, and what will come of it."""

    full: FullReminder
    saved: Saved
    preview: Preview
    outlook: Outlook | None
    """Of its next fire, if it has one."""


class NothingKept(Exception):
    """Undoes the transaction of a dry run, and carries what would have been kept."""

    def __init__(self, kept: Kept) -> None:
        super().__init__()
        self.kept = kept


def _save(plan: Plan, *, dry_run: bool, as_json: bool) -> None:
    """Keep a draft, new or in place of a reminder's, and show what will come of it."""

    async def save(context: CommandContext) -> None:
        now = context.clock.now()
        try:
            async with context.database.transaction() as tx:
                kept = await _keep(tx, context, plan, now=now)
                _undo(kept, wanted=dry_run)
        except NothingKept as undone:
            kept = undone.kept
        if as_json:
            document = reminder_tables.as_document(kept.full, kept.preview)
            extra = {"preview": kept.preview, "warnings": kept.saved.warnings, "kept": not dry_run}
            print_json({**document, **extra, "forecast": kept.outlook})
            return
        reminder_tables.print_preview(kept.preview, zone=kept.full.reminder.zone, now=now)
        typer.echo()
        if kept.outlook is not None:
            say_outlook(kept.outlook)
        if dry_run:
            typer.echo("Nothing was kept.")
        else:
            reminder_tables.say_saved(kept.full.reminder, kept.saved, now=now)

    with_database(save)


async def _keep(tx: Tx, context: CommandContext, plan: Plan, *, now: datetime) -> Kept:
    known_id, draft = await plan(tx, context)
    if known_id is None:
        saved = await reminders.create(tx, draft, ids=context.ids, now=now)
    else:
        saved = await reminders.update(tx, known_id, draft, now=now)
    shown = await preview_of(tx, draft, now=now, known=True)
    outlook = await preflight_of(context).of_draft(tx, draft) if shown.next_sends else None
    return Kept(await reminders.get(tx, saved.id), saved, shown, outlook)


def _undo(kept: Kept, *, wanted: bool) -> None:
    if wanted:
        raise NothingKept(kept)
