"""`headgate push`: the addresses that a user's notifications go out to."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated

import typer

from headgate.app.parts import build_push_addresses
from headgate.cli.context import CommandContext, with_database
from headgate.cli.errors import FAILED
from headgate.cli.lookup.channels import nearest
from headgate.cli.lookup.users import UserOption, get_user
from headgate.cli.output import AsJson, Yes, confirm, print_json, print_table, working
from headgate.cli.phrases import count_of
from headgate.domain.errors import UserError
from headgate.domain.words.states import state_text
from headgate.domain.words.times import relative
from headgate.outflow.notifications.push_addresses import PushAddresses
from headgate.storage.access.users import UserLine
from headgate.storage.database import Tx
from headgate.storage.notifications.push_addresses import PushAddress

app = typer.Typer(no_args_is_help=True, help="Push notifications to 100 and more services.")

_MAX = 10_000

AddressArgument = Annotated[str, typer.Argument(metavar="ADDRESS", help="Name or id of an address.")]


@app.command()
def add(
    url: Annotated[
        str | None,
        typer.Argument(
            metavar="URL",
            help="Apprise URL, like ntfy://ntfy.sh/topic; with `-` or none you are asked for it.",
        ),
    ] = None,
    *,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the address.")],
    user: UserOption = "",
    as_json: AsJson = False,
) -> None:
    """Add an address; it is stored encrypted and never shown again."""
    given = _url(url)

    async def insert(context: CommandContext) -> None:
        addresses = _addresses(context)
        async with context.database.transaction() as tx:
            who = await get_user(tx, user)
        address_id = await addresses.add(context.database, given, name=name, user_id=who.id)
        async with context.database.transaction() as tx:
            made = await addresses.get(tx, address_id, user_id=who.id)
        if as_json:
            print_json(made)
            return
        typer.echo(f"Notifications for {who.name} go out to {made.name}, {made.shown}.")
        typer.echo(f"`headgate push test {made.name!r}` tries it.")

    with_database(insert)


def _url(typed: str | None) -> str:
    """Return the address, from where it does not stay in the history of the shell if so wished."""
    if typed not in {None, "-"}:
        return str(typed)
    if sys.stdin.isatty():
        asked: str = typer.prompt("Address", hide_input=True, err=True)
        return asked
    return sys.stdin.readline().strip()


@app.command("list")
def list_all(*, user: UserOption = "", as_json: AsJson = False) -> None:
    """List a user's addresses and whether pushes arrive."""

    async def look(context: CommandContext) -> None:
        now = context.clock.now()
        async with context.database.transaction() as tx:
            who = await get_user(tx, user)
            found = await _addresses(context).list_all(tx, user_id=who.id)
        if as_json:
            print_json([{**vars(one), "state": _state(one, now)} for one in found])
            return
        print_table(
            ["address", "service", "state", "last sent", "waiting"],
            [
                (
                    one.name,
                    one.shown,
                    _state(one, now),
                    "never" if one.sent_at is None else relative(one.sent_at, now),
                    one.waiting,
                )
                for one in found
            ],
            empty=f"{who.name} has no address yet: `headgate push add URL --name NAME` adds one.",
            numeric=["waiting"],
        )
        for one in found:
            if _failed_last(one) and one.error:
                typer.echo(f"{one.name}: {one.error}")

    with_database(look)


def _state(one: PushAddress, now: datetime) -> str:
    if not one.enabled:
        return "off"
    if one.open_until is not None and one.open_until > now:
        return f"left alone, tried again {relative(one.open_until, now)}"
    if one.failures:
        return f"failing ({count_of(one.failures, 'time')})"
    if _failed_last(one):
        return "the last failed"
    return "works" if one.sent_at else "new"


def _failed_last(one: PushAddress) -> bool:
    return one.failed_at is not None and (one.sent_at is None or one.failed_at > one.sent_at)


@app.command()
def test(address: AddressArgument, *, user: UserOption = "", as_json: AsJson = False) -> None:
    """Send a test message to an address and show the result."""

    async def send(context: CommandContext) -> None:
        addresses = _addresses(context)
        async with context.database.transaction() as tx:
            who = await get_user(tx, user)
            meant = await _get(tx, addresses, address, who)
        with working(f"Pushing to {meant.name}…"):
            outcome = await addresses.test(context.database, meant.id, user_id=who.id)
        if as_json:
            print_json(outcome)
        elif outcome.state == "sent":
            typer.echo(f"{meant.name} has taken the test message.")
        if outcome.state != "sent":
            if not as_json:
                done = "may or may not have arrived" if outcome.state == "uncertain" else "did not arrive"
                typer.echo(f"The test message to {meant.name} {done}: {outcome.error}", err=True)
            raise typer.Exit(FAILED)

    with_database(send)


@app.command()
def enable(address: AddressArgument, *, user: UserOption = "", as_json: AsJson = False) -> None:
    """Push to an address again, from now on."""
    _switch(address, user, enabled=True, as_json=as_json)


@app.command()
def disable(address: AddressArgument, *, user: UserOption = "", as_json: AsJson = False) -> None:
    """Stop pushing to an address; missed notifications are not pushed later."""
    _switch(address, user, enabled=False, as_json=as_json)


def _switch(address: str, user: str, *, enabled: bool, as_json: bool) -> None:
    async def switch(tx: Tx, addresses: PushAddresses, meant: PushAddress) -> None:
        await addresses.enable(tx, meant.id, user_id=meant.user_id, enabled=enabled)

    meant = _change(address, user, switch)
    if as_json:
        print_json({"id": meant.id, "name": meant.name, "enabled": enabled})
    else:
        typer.echo(f"{meant.name} is {'on' if enabled else 'off'}.")


@app.command()
def remove(
    address: AddressArgument, *, user: UserOption = "", yes: Yes = False, as_json: AsJson = False
) -> None:
    """Remove an address with its history and waiting pushes."""

    async def delete(context: CommandContext) -> None:
        addresses = _addresses(context)
        async with context.database.transaction() as tx:
            who = await get_user(tx, user)
            meant = await _get(tx, addresses, address, who)
        confirm(f"Remove {meant.name}, {meant.shown}, with its history?", yes=yes)
        async with context.database.transaction() as tx:
            await addresses.remove(tx, meant.id, user_id=who.id)
        if as_json:
            print_json({"id": meant.id, "name": meant.name})
        else:
            typer.echo(f"{meant.name} is removed.")

    with_database(delete)


@app.command()
def history(
    address: AddressArgument,
    *,
    limit: Annotated[int, typer.Option(min=1, max=_MAX, help="Maximum rows.")] = 20,
    user: UserOption = "",
    as_json: AsJson = False,
) -> None:
    """Show the pushes to an address, newest first, and their results."""

    async def look(context: CommandContext) -> None:
        addresses = _addresses(context)
        async with context.database.transaction() as tx:
            who = await get_user(tx, user)
            meant = await _get(tx, addresses, address, who)
            found = await addresses.list_pushes(tx, meant.id, user_id=who.id, limit=limit)
        if as_json:
            print_json(found)
            return
        print_table(
            ["when", "state", "tries", "title", "tells of", "error"],
            [
                (
                    relative(one.made_at, context.clock.now()),
                    state_text(one.state),
                    one.attempts,
                    one.title,
                    one.notifications,
                    one.error,
                )
                for one in found
            ],
            empty=f"Nothing went out to {meant.name} yet.",
            numeric=["tries", "tells of"],
        )

    with_database(look)


@app.command()
def repeat(
    address: AddressArgument, *, user: UserOption = "", yes: Yes = False, as_json: AsJson = False
) -> None:
    """Resend the newest push that failed or may not have arrived."""

    async def send(context: CommandContext) -> None:
        addresses = _addresses(context)
        async with context.database.transaction() as tx:
            who = await get_user(tx, user)
            meant = await _get(tx, addresses, address, who)
            found = await addresses.list_pushes(tx, meant.id, user_id=who.id, limit=_MAX)
        again = next((one for one in found if one.state in {"failed", "uncertain"}), None)
        if again is None:
            raise UserError(
                f"No push to {meant.name} failed or is uncertain.",
                command="headgate push history",
            )
        if again.state == "uncertain":
            confirm(f"“{again.title}” may have arrived at {meant.name}. Send it again?", yes=yes)
        async with context.database.transaction() as tx:
            await addresses.repeat(tx, again.id, address_id=meant.id, user_id=who.id)
        if as_json:
            print_json({"id": again.id, "title": again.title})
        else:
            typer.echo(f"“{again.title}” goes out to {meant.name} again.")

    with_database(send)


def _change(
    address: str, user: str, change: Callable[[Tx, PushAddresses, PushAddress], Awaitable[None]]
) -> PushAddress:
    async def work(context: CommandContext) -> PushAddress:
        addresses = _addresses(context)
        async with context.database.transaction() as tx:
            who = await get_user(tx, user)
            meant = await _get(tx, addresses, address, who)
            await change(tx, addresses, meant)
        return meant

    return with_database(work)


def _addresses(context: CommandContext) -> PushAddresses:
    return build_push_addresses(context.settings, context.database, clock=context.clock, ids=context.ids)


async def _get(tx: Tx, addresses: PushAddresses, reference: str, who: UserLine) -> PushAddress:
    """Return the address that is meant, or say which there are."""
    known = await addresses.list_all(tx, user_id=who.id)
    typed = reference.lower()
    for one in known:
        if typed in {one.name.lower(), str(one.id), str(one.id)[-12:]}:
            return one
    near = nearest(reference, [one.name for one in known])
    meant = f"Did you mean {near}? " if near else ""
    raise UserError(f"{who.name} has no address {reference!r}.", remedy=meant, command="headgate push list")
