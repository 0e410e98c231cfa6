"""`headgate library sends rules`: rules that send things on, off until someone switches them on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.channels import get_account
from headgate.cli.lookup.targets import get_targets, platform_of
from headgate.cli.output import AsJson, Yes, confirm, print_json, print_table, working
from headgate.cli.phrases import count_of
from headgate.domain.errors import UserError
from headgate.outflow.library_sends import rules
from headgate.outflow.library_sends.rules import MAX_TRIED, SendTrial
from headgate.storage.database import Tx
from headgate.storage.library_sends.rules import NewSendRule, StoredSendRule

app = typer.Typer(no_args_is_help=True, help="Rules that send things on by themselves.")

Rule = Annotated[str, typer.Argument(metavar="RULE", help="Name or id of a rule.")]


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
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for the rule.")],
    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", help="Filters, as in the library's address: type=zip&tag=x."),
    ],
    *,
    to: Annotated[str, typer.Option("--to", metavar="TARGET", help="Title, key or id of a target.")],
    account: Annotated[
        str, typer.Option("--account", metavar="ACCOUNT", help="Account that sends; else one that can.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Add a rule, which is off."""

    async def act(tx: Tx, context: CommandContext) -> StoredSendRule:
        (target_id,) = await get_targets(tx, [to], platform=await platform_of(tx, account))
        account_id = (await get_account(tx, account)).id if account else None
        rule = NewSendRule(name, query, target_id, account_id)
        return await rules.add_rule(tx, rule, ids=context.ids, now=context.clock.now())

    _change(act, "Added {}, which is off. Try it, then switch it on.", as_json=as_json)


@app.command("try")
def try_one(
    rule: Rule,
    *,
    items: Annotated[
        int, typer.Option("--items", min=1, max=1_000_000, help="How many of the newest items to try.")
    ] = MAX_TRIED,
    as_json: AsJson = False,
) -> None:
    """Show how many things a rule would send of what is there; nothing is sent."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            known = await find_rule(tx, rule)
            tried = NewSendRule(known.name, known.query, known.target_id, known.account_id)
            with working("Trying the rule …"):
                trial = await rules.try_rule(tx, tried, rule_id=known.id, limit=items)
        if as_json:
            print_json(trial)
        else:
            _print(trial)

    with_database(look)


@app.command()
def on(
    rule: Rule,
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
    _change(act, "{} is on. " + also, as_json=as_json)


@app.command()
def off(rule: Rule, *, as_json: AsJson = False) -> None:
    """Switch a rule off; what it has asked for is still sent."""

    async def act(tx: Tx, _context: CommandContext) -> StoredSendRule:
        return await rules.switch_off(tx, (await find_rule(tx, rule)).id)

    _change(act, "{} is off.", as_json=as_json)


@app.command()
def remove(rule: Rule, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove a rule; what it sent stays where it is."""

    async def look(context: CommandContext) -> StoredSendRule:
        async with context.database.transaction() as tx:
            return await find_rule(tx, rule)

    known = with_database(look)
    confirm(f"Remove the rule {known.name!r}?", yes=yes)

    async def act(tx: Tx, _context: CommandContext) -> StoredSendRule:
        return await rules.remove_rule(tx, known.id)

    _change(act, "Removed {}.", as_json=as_json)


async def find_rule(tx: Tx, reference: str) -> StoredSendRule:
    """Return the rule that a person means."""
    for one in await rules.list_rules(tx):
        if reference.strip().casefold() in {one.name.casefold(), str(one.id)}:
            return one
    raise UserError(
        f"There is no rule {reference!r}.", command="headgate library sends rules list", field="rule"
    )


def _change(
    act: Callable[[Tx, CommandContext], Awaitable[StoredSendRule]], sentence: str, *, as_json: bool
) -> None:
    async def run(context: CommandContext) -> StoredSendRule:
        async with context.database.transaction() as tx:
            return await act(tx, context)

    changed = with_database(run)
    if as_json:
        print_json(changed)
    else:
        typer.echo(sentence.format(changed.name))


def _print(trial: SendTrial) -> None:
    older = " Only the newest were tried; --items tries more." if trial.has_older else ""
    typer.echo(
        f"{count_of(trial.would_send, 'item')} would be sent with --backfill; "
        f"{trial.matched} of {trial.tried} match.{older} Without it, only what arrives is sent."
    )
    for title in trial.examples:
        typer.echo(f"  {title}")
