"""What will become of a plan or a run, said on the command line."""

from __future__ import annotations

import typer

from headgate.cli.connectors import plans_of
from headgate.cli.context import CommandContext
from headgate.cli.output import confirm
from headgate.cli.phrases import count_of
from headgate.outflow.reminders.preflight import Outlook, Preflight


def preflight_of(context: CommandContext) -> Preflight:
    """Return who looks ahead on this database."""
    slots = context.settings.outflow.fire_concurrency
    return Preflight(lambda platform: plans_of(context, platform), context.clock, slots=slots)


def say_outlook(outlook: Outlook) -> None:
    """Say what will happen, and what would help."""
    typer.echo(outlook.text)
    for sentence in outlook.advice:
        typer.echo(f"  {sentence}")


def confirm_outlook(outlook: Outlook, *, yes: bool) -> None:
    """Ask before a run that will not reach everybody."""
    if outlook.reaches_all:
        return
    rest = count_of(outlook.forecast.targets_unreached, "group")
    confirm(f"{rest} of {outlook.targets:,} will not be reached. Begin all the same?", yes=yes)
