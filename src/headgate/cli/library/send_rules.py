"""`headgate library sends rules`: rules that send things on, off until someone switches them on."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headgate.cli.context import CommandContext, with_database
from headgate.cli.library.rule_commands import (
    ItemsOption,
    NameArgument,
    NameOption,
    RuleArgument,
    change_rule,
    given,
    pick_rule,
    remove_rule,
    unknown_rule,
)
from headgate.cli.lookup.channels import get_account
from headgate.cli.lookup.targets import get_targets, platform_of
from headgate.cli.output import AsJson, Yes, print_json, print_table, working
from headgate.cli.phrases import count_of
from headgate.outflow.library_sends import rules
from headgate.outflow.library_sends.rules import MAX_TRIED, SendTrial
from headgate.storage.database import Tx
from headgate.storage.library_sends.rules import NewSendRule, StoredSendRule

app = typer.Typer(no_args_is_help=True, help="Rules that send things on by themselves.")

COMMAND = "headgate library sends rules"
QUERY_HELP = "Filters, as in the library's address: type=zip&tag=x."


@app.command("list")
def list_rules(*, as_json: AsJson = False) -> None:
    """List the rules, and what became of what they sent."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            found = await rules.list_rules(tx)
        if as_json:
            print_json(found)
            return
        print_table(
            ("Rule", "Sends", "To", "Sent", "Confirmed", "Not found", "State"),
            [
                (
                    one.name,
                    one.query,
                    one.target_title,
                    f"{one.sent} of {one.asked}",
                    one.verified,
                    one.missing or "",
                    "on" if one.enabled else "off",
                )
                for one in found
            ],
            numeric=("Sent", "Confirmed", "Not found"),
            empty="There are no rules. `headgate library sends rules add` adds one.",
        )

    with_database(look)


@app.command()
def add(
    name: NameArgument,
    query: Annotated[str, typer.Argument(metavar="QUERY", help=QUERY_HELP)],
    *,
    to: Annotated[str, typer.Option("--to", metavar="TARGET", help="Title, key or id of a target.")],
    account: Annotated[
        str, typer.Option("--account", metavar="ACCOUNT", help="Account that sends; else one that can.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Add a rule, which is off."""

    async def act(tx: Tx, context: CommandContext) -> StoredSendRule:
        rule = NewSendRule(name, query, **await _where(tx, to, account))
        return await rules.add_rule(tx, rule, ids=context.ids, now=context.clock.now())

    change_rule(act, "Added {}, which is off. Try it, then switch it on.", as_json=as_json)


@app.command()
def edit(
    rule: RuleArgument,
    *,
    name: NameOption = None,
    query: Annotated[str | None, typer.Option("--query", metavar="QUERY", help=QUERY_HELP)] = None,
    to: Annotated[
        str, typer.Option("--to", metavar="TARGET", help="Another target, by title, key or id.")
    ] = "",
    account: Annotated[
        str,
        typer.Option("--account", metavar="ACCOUNT", help="Another account; with --to alone, any that can."),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Change a rule that is off; what it has asked for is still sent."""

    async def act(tx: Tx, _context: CommandContext) -> StoredSendRule:
        known = await find_rule(tx, rule)
        where = await _where(tx, to or str(known.target_id), account) if to or account else {}
        return await rules.edit_rule(tx, known.id, {**given(name=name, query=query), **where})

    change_rule(act, "Changed {}.", as_json=as_json)


@app.command("try")
def try_one(
    rule: RuleArgument,
    *,
    items: ItemsOption = MAX_TRIED,
    as_json: AsJson = False,
) -> None:
    """Show how many things a rule would send of what is there; nothing is sent."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            known = await find_rule(tx, rule)
            with working("Trying the rule …"):
                trial = await rules.try_rule(tx, known.rule, rule_id=known.id, limit=items)
        if as_json:
            print_json(trial)
        else:
            _print(trial)

    with_database(look)


@app.command()
def on(
    rule: RuleArgument,
    *,
    backfill: Annotated[
        bool, typer.Option("--backfill", help="Send what is there, too; else only what arrives.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Switch a rule on: what arrives from now on is sent."""

    async def act(tx: Tx, context: CommandContext) -> StoredSendRule:
        known = await find_rule(tx, rule)
        return await rules.switch_on(tx, known.id, backfill=backfill, now=context.clock.now())

    also = "What is there is sent, too." if backfill else "What arrives from now on is sent."
    change_rule(act, "{} is on. " + also, as_json=as_json)


@app.command()
def off(rule: RuleArgument, *, as_json: AsJson = False) -> None:
    """Switch a rule off; what it has asked for is still sent."""

    async def act(tx: Tx, _context: CommandContext) -> StoredSendRule:
        return await rules.switch_off(tx, (await find_rule(tx, rule)).id)

    change_rule(act, "{} is off.", as_json=as_json)


@app.command()
def remove(rule: RuleArgument, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove a rule; what it sent stays where it is."""
    remove_rule(lambda tx: find_rule(tx, rule), rules.remove_rule, yes=yes, as_json=as_json)


async def find_rule(tx: Tx, reference: str) -> StoredSendRule:
    """Return the rule that a person means."""
    if (found := pick_rule(await rules.list_rules(tx), reference)) is None:
        raise unknown_rule(reference, COMMAND)
    return found


async def _where(tx: Tx, target: str, account: str) -> dict[str, Any]:
    """Return where a rule sends, and by which account, as people name them."""
    (target_id,) = await get_targets(tx, [target], platform=await platform_of(tx, account))
    account_id = (await get_account(tx, account)).id if account else None
    return {"target_id": target_id, "account_id": account_id}


def _print(trial: SendTrial) -> None:
    older = " Only the newest were tried; --items tries more." if trial.has_older else ""
    typer.echo(
        f"{count_of(trial.would_send, 'item')} would be sent with --backfill; "
        f"{trial.matched} of {trial.tried} match.{older} Without it, only what arrives is sent."
    )
    for title in trial.examples:
        typer.echo(f"  {title}")
