"""From what a person types to the run that is meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import typer

from headgate.cli.lookup.channels import nearest
from headgate.domain.errors import UserError
from headgate.storage.database import Tx
from headgate.storage.reminders.reminder_overview import list_titles
from headgate.storage.sending.run_overview import NamedRun, RunLine, find_runs, find_runs_by_title, get_run

RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="Id of a run, its beginning or its last digits; or the title of a reminder, for its newest run.",
    ),
]
_DIGITS = re.compile(r"[0-9a-f-]{4,36}")


async def get_named_run(tx: Tx, reference: str) -> RunLine:
    """Return the run that is meant, or say which could be."""
    digits = reference.lower()
    found = await find_runs(tx, digits) if _DIGITS.fullmatch(digits) else []
    found = found or await find_runs_by_title(tx, reference)
    if len(found) > 1:
        raise _unclear(reference, found)
    run = await get_run(tx, found[0].id) if found else None
    if run is None:
        raise await _unknown(tx, reference)
    return run


def _unclear(reference: str, found: Sequence[NamedRun]) -> UserError:
    listed = "; ".join(f"{one.id} ({one.title}, {one.state})" for one in found[:5])
    return UserError(f"{reference!r} could be several runs.", remedy=f"Use the id of one: {listed}.")


async def _unknown(tx: Tx, reference: str) -> UserError:
    near = nearest(reference, await list_titles(tx))
    meant = f"Did you mean {near}? " if near else ""
    return UserError(f"There is no run {reference!r}.", remedy=meant, command="headgate run list")
