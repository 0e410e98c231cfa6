"""From what a person types to the channel or account that is meant."""

from __future__ import annotations

import difflib
from typing import Annotated

import typer

from headgate.domain.errors import UserError
from headgate.storage.channels.channel_overview import NamedChannel, find_channels, list_names
from headgate.storage.channels.channels import Account, list_accounts
from headgate.storage.database import Tx

ChannelArgument = Annotated[
    str, typer.Argument(metavar="CHANNEL", help="Id, title, or the platform's key of a channel.")
]
AccountArgument = Annotated[
    str, typer.Argument(metavar="ACCOUNT", help="Name, platform/name, or id of an account.")
]


async def get_channel(
    tx: Tx, reference: str, *, with_parents: bool = False, with_listings: bool = False
) -> NamedChannel:
    """Return the channel that is meant, or say which could be."""
    found = await find_channels(tx, reference)
    if len(found) > 1:
        # A key is a name of its own; a title may be shared.
        found = [one for one in found if one.key == reference] or found
    if not found:
        raise await _unknown_channel(tx, reference)
    if len(found) > 1:
        listed = "; ".join(f"{one.id} ({one.platform}, {one.key})" for one in found[:5])
        raise UserError(
            f"{len(found)} channels are called {reference!r}.", remedy=f"Use the id of one: {listed}."
        )
    (channel,) = found
    wanted = {"stream", *(["parent"] if with_parents else []), *(["listing"] if with_listings else [])}
    if channel.kind == "listing" and channel.kind not in wanted:
        raise UserError(
            f"{channel.title} is a feed or series and has no messages of its own.",
            command="headgate explain",
        )
    if channel.kind not in wanted:
        raise UserError(
            f"{channel.title} is a {channel.kind} and has no messages of its own.",
            command="headgate channel list",
        )
    return channel


async def _unknown_channel(tx: Tx, reference: str) -> UserError:
    near = nearest(reference, await list_names(tx))
    meant = f"Did you mean {near}? " if near else ""
    return UserError(f"There is no channel {reference!r}.", remedy=meant, command="headgate channel list")


def nearest(reference: str, names: list[str]) -> str:
    """Return the names that are most like what was typed, worded as a choice; empty if none is."""
    by_lower = {name.lower(): name for name in names}
    typed = reference.lower()
    close = difflib.get_close_matches(typed, list(by_lower), n=3, cutoff=0.6)
    beginning = [name for name in sorted(by_lower) if typed and typed in name][:3]
    chosen = list(dict.fromkeys([*close, *beginning]))[:3]
    return " or ".join(repr(by_lower[name]) for name in chosen)


async def get_account(tx: Tx, reference: str) -> Account:
    """Return the account that is meant, or say which could be."""
    accounts = await list_accounts(tx)
    found = [
        account
        for account in accounts
        if reference in {str(account.id), account.name, f"{account.platform}/{account.name}"}
    ]
    if len(found) == 1:
        return found[0]
    if found:
        listed = " or ".join(f"{account.platform}/{account.name}" for account in found)
        raise UserError(f"{len(found)} accounts are called {reference!r}.", remedy=f"Use {listed}.")
    near = nearest(reference, [account.name for account in accounts])
    meant = f"Did you mean {near}? " if near else ""
    raise UserError(f"There is no account {reference!r}.", remedy=meant, command="headgate account list")
