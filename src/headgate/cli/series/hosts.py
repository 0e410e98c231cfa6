"""`headgate hosts`: the sites of feeds and series, whether they answer, and their pace."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from headgate.cli.connectors import open_links
from headgate.cli.context import CommandContext, with_database
from headgate.cli.output import AsJson, print_json, print_table
from headgate.domain.breaker import Breaker, state_of
from headgate.domain.errors import UserError
from headgate.domain.words.fields import plain_fields
from headgate.domain.words.times import relative
from headgate.intake.listings.host_pace import get_host, set_host_pace
from headgate.storage.listings.listing_overview import HostState, list_hosts

app = typer.Typer(invoke_without_command=True, rich_markup_mode="rich")


@app.callback()
def hosts(
    ctx: typer.Context,
    *,
    troubled: Annotated[bool, typer.Option("--troubled", help="Only sites that fail.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the sites of feeds and series, and whether they answer.

    A site that keeps failing rests for 5 minutes, then 10, up to a day; then one try decides.
    """

    if ctx.invoked_subcommand is not None:
        return

    async def look(context: CommandContext) -> None:
        now = context.clock.now()
        async with context.database.transaction() as tx:
            found = [one for one in await list_hosts(tx) if one.troubled or not troubled]
        if as_json:
            print_json([{**plain_fields(one), "state": _breaker(one, now)} for one in found])
            return
        print_table(
            ["site", "platform", "state", "pace", "sources", "checked as a whole"],
            [
                (one.name, one.platform, _state(one, now), _pace(one), f"{one.listings:,}", _swept(one, now))
                for one in found
            ],
            empty="No site fails." if troubled else "No feeds or series yet.",
            numeric=["sources"],
        )
        for one in found:
            if one.failures:
                typer.echo(f"{one.name}: {one.error_message}")

    with_database(look)


@app.command("pace")
def pace(
    site: Annotated[str, typer.Argument(metavar="SITE", help="Name, or platform/name.")],
    per_minute: Annotated[str, typer.Argument(metavar="N|default", help="Maximum requests a minute.")],
    as_json: AsJson = False,
) -> None:
    """Set the maximum requests a minute for a site, or go back to the default."""
    wish = _typed_pace(per_minute)

    async def change(context: CommandContext) -> None:
        async with open_links(context) as links, context.database.transaction() as tx:
            host = await get_host(tx, site)
            host = await set_host_pace(tx, links, host, per_minute=wish, clock=context.clock)
        if as_json:
            print_json({**plain_fields(host), "state": _breaker(host, context.clock.now())})
        else:
            typer.echo(f"{host.name}: {_pace(host)}.")

    with_database(change)


def _typed_pace(typed: str) -> float | None:
    text = typed.lower().removesuffix("/minute")
    if text == "default":
        return None
    try:
        return float(text)
    except ValueError:
        raise UserError(
            f"{typed!r} is not a pace.", remedy="Give a number of requests a minute, or `default`."
        ) from None


def _pace(one: HostState) -> str:
    if one.per_minute is None or one.rate is None:
        return "default"
    most = f"{one.per_minute:.4g} a minute" + (", chosen by a person" if one.pace_set else "")
    slowed = f"{one.rate:.4g} of {most}" if one.rate < one.per_minute else most
    return f"{slowed}; {one.paced:,} wait for it" if one.paced else slowed


def _breaker(one: HostState, now: datetime) -> str:
    return state_of(Breaker(one.failures, one.opened, one.open_until), now=now)


def _state(one: HostState, now: datetime) -> str:
    state = _breaker(one, now)
    if one.limited_until is not None and one.limited_until > now:
        return f"asked us to wait (a day at most), next try {relative(one.limited_until, now)}"
    if state == "open" and one.open_until is not None:
        return f"resting, next try {relative(one.open_until, now)}"
    if state == "closed":
        return f"failing ({one.failures} in a row)" if one.failures else "answers"
    return "the next try decides"


def _swept(one: HostState, now: datetime) -> str:
    if not one.swept:
        return "no"
    return "not yet" if one.swept_at is None else relative(one.swept_at, now)
