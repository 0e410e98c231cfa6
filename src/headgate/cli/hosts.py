"""`headgate hosts`: the sites that feeds and series come from, and which of them are left alone."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from headgate.cli.desk import Desk, at_desk
from headgate.cli.jobs_tables import relative
from headgate.cli.output import AsJson, print_json, print_table
from headgate.domain.breaker import Breaker, state_of
from headgate.storage.listing_overview import HostState, list_hosts


def hosts(
    *,
    troubled: Annotated[
        bool, typer.Option("--troubled", help="Only those that failed since they last answered.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the sites that feeds and series come from: which answer, and which are left alone for a while.

    A site that fails again and again is left alone for 5 minutes, then 10, up to a day; one try decides.
    """

    async def look(desk: Desk) -> None:
        now = desk.clock.now()
        async with desk.database.transaction() as tx:
            found = [one for one in await list_hosts(tx) if one.troubled or not troubled]
        if as_json:
            print_json([{**vars(one), "state": _breaker(one, now)} for one in found])
            return
        print_table(
            ["site", "platform", "state", "sources", "asked as a whole"],
            [
                (one.name, one.platform, _state(one, now), f"{one.listings:,}", _swept(one, now))
                for one in found
            ],
            empty="No site fails." if troubled else "No feed and no series is followed yet.",
            numeric=["sources"],
        )
        for one in found:
            if one.failures:
                typer.echo(f"{one.name}: {one.error_message}")

    at_desk(look)


def _breaker(one: HostState, now: datetime) -> str:
    return state_of(Breaker(one.failures, one.opened, one.open_until), now=now)


def _state(one: HostState, now: datetime) -> str:
    state = _breaker(one, now)
    if one.limited_until is not None and one.limited_until > now:
        return f"asked us to wait (a day at most), asked again {relative(one.limited_until, now)}"
    if state == "open" and one.open_until is not None:
        return f"left alone, tried again {relative(one.open_until, now)}"
    if state == "closed":
        return f"failing ({one.failures} in a row)" if one.failures else "answers"
    return "the next try decides"


def _swept(one: HostState, now: datetime) -> str:
    if not one.swept:
        return "no"
    return "not yet" if one.swept_at is None else relative(one.swept_at, now)
