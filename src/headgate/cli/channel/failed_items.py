"""`headgate failed`: items that could not be read or stored, and retrying them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, get_args
from uuid import UUID

import typer

from headgate.cli.context import CommandContext, with_database
from headgate.cli.jobs.tables import MESSAGE_LENGTH
from headgate.cli.output import AsJson, Yes, confirm, print_json, print_table
from headgate.domain.errors import UserError
from headgate.domain.words.fields import plain_fields
from headgate.domain.words.states import state_text
from headgate.domain.words.times import relative
from headgate.intake.streams.misses import retry_misses
from headgate.storage.database import Tx
from headgate.storage.streams import misses
from headgate.storage.streams.misses import MissCount, MissSeen, State

app = typer.Typer(no_args_is_help=True, help="List and retry items that could not be read or stored.")

ChannelOption = Annotated[str | None, typer.Option("--channel", metavar="ID", help="Only this channel.")]
ItemIds = Annotated[
    list[str] | None, typer.Argument(metavar="ID…", help="Ids of failed items, whole or the last 12 digits.")
]

_STATES: tuple[State, ...] = get_args(State)
_LIST_COMMAND = "headgate failed list"


@app.command("list")
def list_all(
    *,
    channel: ChannelOption = None,
    state: Annotated[
        str | None, typer.Option("--state", metavar="open|abandoned", help="Only in this state.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum rows.")] = 20,
    below: Annotated[
        str | None, typer.Option("--below", metavar="ID", help="Only older than this one (next page).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List failed items, newest first, and how many each channel has."""
    channel_id, wanted, last = _uuid(channel, "channel"), _state(state), _uuid(below, "failed item")

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            counts = await misses.count_misses(tx, channel_id=channel_id)
            found = await misses.list_misses(tx, channel_id=channel_id, state=wanted, below=last, limit=limit)
        counts = [count for count in counts if wanted in {None, count.state}]
        if as_json:
            print_json(plain_fields({"counts": counts, "misses": found}))
        else:
            _print_items(counts, found, now=context.clock.now())

    with_database(look)


@app.command()
def retry(
    references: ItemIds = None,
    *,
    channel: ChannelOption = None,
    every: Annotated[bool, typer.Option("--all", help="All failed items of all channels.")] = False,
    yes: Yes = False,
) -> None:
    """Retry failed items now, including those that were given up."""
    if sum([bool(references), channel is not None, every]) != 1:
        raise UserError("Which failed items?", remedy="Give their ids, or --channel ID, or --all.")
    channel_id = _uuid(channel, "channel")

    async def try_again(context: CommandContext) -> None:
        if every:
            confirm("Retry all failed items of all channels?", yes=yes)
        async with context.database.transaction() as tx:
            chosen = None if references is None else [await _find(tx, one) for one in references]
            retried = await retry_misses(tx, chosen, channel_id=channel_id, now=context.clock.now())
            if chosen is not None and (unknown := set(chosen) - set(retried.ids)):
                raise UserError(f"There is no failed item {min(unknown)}.", command=_LIST_COMMAND)
        if retried.ids or not retried.left_out:
            typer.echo(_worded(len(retried.ids)))
        if retried.left_out:
            typer.echo(f"{retried.left_out:,} not retried: scanning is switched off for their channels.")

    with_database(try_again)


def _worded(count: int) -> str:
    if count == 0:
        return "There are no failed items."
    return "Retrying 1 failed item." if count == 1 else f"Retrying {count:,} failed items."


def _uuid(text: str | None, name: str) -> UUID | None:
    try:
        return None if text is None else UUID(text)
    except ValueError as error:
        raise UserError(f"{text!r} is not the id of a {name}.", command=_LIST_COMMAND) from error


def _state(text: str | None) -> State | None:
    for state in _STATES:
        if state == text:
            return state
    if text is not None:
        raise UserError(f"There is no state {text!r}.", remedy=f"Give --state {' or '.join(_STATES)}.")
    return None


async def _find(tx: Tx, reference: str) -> UUID:
    """Return the failed item with this id, or with an id that ends like this."""
    try:
        return UUID(reference)
    except ValueError:
        found = await misses.list_by_ending(tx, reference.lower())
    if len(found) != 1:
        problem = "Several failed items end" if found else "No failed item ends"
        raise UserError(f"{problem} with {reference!r}.", command=_LIST_COMMAND)
    return found[0]


def _print_items(counts: Sequence[MissCount], found: Sequence[MissSeen], *, now: datetime) -> None:
    if not counts:
        typer.echo("There are no failed items.")
        return
    print_table(
        ["channel", "title", "state", "failed items"],
        [(count.channel_id, count.channel_title, state_text(count.state), count.misses) for count in counts],
        title="Failed items by channel",
        numeric=["failed items"],
    )
    print_table(
        ["item", "channel", "message", "file", "why", "tries", "next try"],
        [
            (
                str(item.id)[-12:],
                item.channel_title,
                item.message_key,
                item.file_name,
                _reason(item),
                item.attempts,
                _next_try(item, now),
            )
            for item in found
        ],
        title="Failed items" if found else "",
        empty="There are no older ones.",
        numeric=["tries"],
    )


def _reason(item: MissSeen) -> str:
    line = " ".join(f"{item.error_class}: {item.error_message}".split())
    return line if len(line) <= MESSAGE_LENGTH else f"{line[: MESSAGE_LENGTH - 1]}…"


def _next_try(item: MissSeen, now: datetime) -> str:
    if item.state == "abandoned":
        return "given up"
    return "waiting" if item.due_at is None else relative(item.due_at, now)
