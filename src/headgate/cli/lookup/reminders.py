"""From what a person types to the reminder that is meant."""

from __future__ import annotations

from typing import Annotated

import typer

from headgate.cli.lookup.channels import nearest
from headgate.domain.errors import UserError
from headgate.storage.database import Tx
from headgate.storage.reminders.reminder_overview import NamedReminder, find_reminders, list_titles

ReminderArgument = Annotated[str, typer.Argument(metavar="REMINDER", help="Title or id of a reminder.")]


async def get_reminder(tx: Tx, reference: str) -> NamedReminder:
    """Return the reminder that is meant, or say which could be."""
    found = await find_reminders(tx, reference)
    if len(found) == 1:
        return found[0]
    if found:
        listed = "; ".join(f"{one.id} ({one.state})" for one in found[:5])
        raise UserError(
            f"{len(found)} reminders are called {reference!r}.", remedy=f"Use the id of one: {listed}."
        )
    near = nearest(reference, await list_titles(tx))
    meant = f"Did you mean {near}? " if near else ""
    raise UserError(f"There is no reminder {reference!r}.", remedy=meant, command="headgate reminder list")
