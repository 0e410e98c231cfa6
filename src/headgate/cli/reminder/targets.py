"""`headgate target`: where accounts can write to, and lists of such places."""

from __future__ import annotations

from typing import Annotated

import typer

from headgate.cli.connectors import open_links
from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.channels import AccountArgument, get_account
from headgate.cli.lookup.targets import get_targets, platform_of
from headgate.cli.output import AsJson, Yes, confirm, print_json, print_table
from headgate.cli.phrases import count_of
from headgate.domain.errors import UserError, WorkError
from headgate.lanes.links import AccountRef
from headgate.outflow.reminders import targets
from headgate.storage.reminders.target_lists import list_lists, list_members
from headgate.storage.reminders.targets import search_targets

app = typer.Typer(no_args_is_help=True, help="Find groups to send to, and keep some together in lists.")

_ALL = 100_000

ListArgument = Annotated[str, typer.Argument(metavar="LIST", help="Name or id of a list.")]
TargetsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="TARGET…", help="Keys, titles or ids of targets.")
]
AccountOption = Annotated[
    str, typer.Option("--account", metavar="ACCOUNT", help="An account on the targets' platform.")
]
Limit = Annotated[int, typer.Option(min=1, max=_ALL, help="Maximum rows.")]


@app.command("list")
def list_targets(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORD…", help="Words that the title must contain.")
    ] = None,
    *,
    account: Annotated[
        str, typer.Option("--account", metavar="ACCOUNT", help="Only what this account can write to.")
    ] = "",
    limit: Limit = 100,
    as_json: AsJson = False,
) -> None:
    """List targets by title: all, or those whose title contains every word."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            account_id = (await get_account(tx, account)).id if account else None
            found = await search_targets(
                tx, words=" ".join(words or ()), account_id=account_id, limit=limit + 1
            )
        shown = found[:limit]
        if as_json:
            print_json(shown)
            return
        print_table(
            ["title", "key", "platform", "accounts"],
            [(one.title, one.key, one.platform, one.accounts) for one in shown],
            empty="No target is known by these words."
            if words
            else "No target is known yet: `headgate target refresh ACCOUNT` asks the platform.",
            numeric=["accounts"],
        )
        if len(found) > limit:
            typer.echo(f"… and more; --limit shows up to {_ALL:,}.")

    with_database(look)


@app.command()
def refresh(account: AccountArgument, *, as_json: AsJson = False) -> None:
    """Refresh the list of groups that an account can write to."""

    async def ask(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            known = await get_account(tx, account)
        reference = AccountRef(known.id, known.platform, known.name, known.established, known.sign_in)
        async with open_links(context) as links:
            try:
                done = await targets.refresh(
                    context.database, links, reference, ids=context.ids, now=context.clock.now()
                )
            except WorkError as error:
                raise UserError(
                    f"The targets of {known.name} cannot be listed: {error}.",
                    command="headgate account list",
                ) from error
        if as_json:
            print_json(done)
        else:
            seen = count_of(done.seen, "target")
            typer.echo(f"{known.name} can write to {seen}; {done.new:,} new, {done.gone:,} gone.")

    with_database(ask)


@app.command()
def lists(*, as_json: AsJson = False) -> None:
    """List the saved lists of targets."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            found = await list_lists(tx)
        if as_json:
            print_json(found)
            return
        print_table(
            ["list", "targets", "reminders"],
            [(one.name, f"{one.members:,}", one.reminders) for one in found],
            empty="No list is saved yet: `headgate target list-save NAME TARGET…` makes one.",
            numeric=["targets", "reminders"],
        )

    with_database(look)


@app.command("list-show")
def show_list(name: ListArgument, *, limit: Limit = 100, as_json: AsJson = False) -> None:
    """Show the targets of a list, in sending order."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            line = await targets.find_list(tx, name)
            members = await list_members(tx, line.id, limit=limit)
        if as_json:
            print_json({**vars(line), "members": members})
            return
        print_table(
            ["title", "key", "platform"],
            [(one.title, one.key, one.platform) for one in members],
            title=line.name,
            empty=f"{line.name} is empty.",
        )
        if line.members > len(members):
            typer.echo(f"… and {line.members - len(members):,} more; --limit shows up to {_ALL:,}.")

    with_database(look)


@app.command("list-save")
def save_list(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a new or existing list.")],
    references: TargetsArgument = None,
    *,
    account: AccountOption = "",
    as_json: AsJson = False,
) -> None:
    """Add targets to the end of a list; a new name creates the list."""

    async def save(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            chosen = []
            if references:
                chosen = await get_targets(tx, references, platform=await platform_of(tx, account))
            saved = await targets.save_list(tx, name, chosen, ids=context.ids, now=context.clock.now())
        line = saved.line
        if as_json:
            print_json({**vars(line), "added": saved.added})
        else:
            typer.echo(f"{line.name} has {count_of(line.members, 'target')}; {saved.added:,} new.")

    with_database(save)


@app.command("list-remove")
def remove_members(
    name: ListArgument,
    references: TargetsArgument = None,
    *,
    account: AccountOption = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Remove targets from a list; the list stays."""
    if not references:
        raise UserError("Which targets?", remedy="Name those to remove, or delete the list with list-delete.")

    async def remove(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            line = await targets.find_list(tx, name)
            chosen = await get_targets(tx, references, platform=await platform_of(tx, account))
        try:
            async with context.database.transaction() as tx:
                removed = await targets.remove_members(tx, line.id, chosen)
        except targets.Breaks as error:
            confirm(f"{error.message} Take them out all the same?", yes=yes)
            async with context.database.transaction() as tx:
                removed = await targets.remove_members(tx, line.id, chosen, confirmed=True)
        async with context.database.transaction() as tx:
            left = await targets.find_list(tx, str(line.id))
        if as_json:
            print_json({**vars(left), "removed": removed})
        else:
            typer.echo(f"{left.name} has {count_of(left.members, 'target')}; {removed:,} taken out.")

    with_database(remove)


@app.command("list-rename")
def rename_list(
    name: ListArgument,
    new_name: Annotated[str, typer.Argument(metavar="NEW", help="The new name.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Rename a list; its reminders keep sending to it."""

    async def rename(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            line = await targets.find_list(tx, name)
            await targets.rename_list(tx, line.id, new_name)
            renamed = await targets.find_list(tx, str(line.id))
        if as_json:
            print_json(renamed)
        else:
            typer.echo(f"{line.name} is called {renamed.name} now.")

    with_database(rename)


@app.command("list-delete")
def delete_list(name: ListArgument, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Delete a list; its members stay targets."""

    async def delete(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            line = await targets.find_list(tx, name)
        confirm(f"Delete the list {line.name} of {count_of(line.members, 'target')}?", yes=yes)
        async with context.database.transaction() as tx:
            await targets.delete_list(tx, line.id)
        if as_json:
            print_json(line)
        else:
            typer.echo(f"The list {line.name} is deleted.")

    with_database(delete)
