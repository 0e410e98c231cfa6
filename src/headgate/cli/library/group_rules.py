"""`headgate library group rules`: rules that group items, off until someone switches them on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from headgate.catalogue.groups import rules
from headgate.catalogue.groups.rule_trials import MAX_TRIED, GroupTrial, try_rule
from headgate.cli.context import CommandContext, with_database
from headgate.cli.output import AsJson, Yes, confirm, print_json, print_table, working
from headgate.cli.phrases import count_of
from headgate.domain.errors import UserError
from headgate.domain.library.group_rules import GroupRuleKind
from headgate.domain.words.group_words import RULE_KIND_WORDS, rule_state
from headgate.storage.database import Tx
from headgate.storage.groups.rules import StoredGroupRule

app = typer.Typer(no_args_is_help=True, help="Rules that group items by themselves.")

Rule = Annotated[str, typer.Argument(metavar="RULE", help="Name or id of a rule.")]
ByOption = Annotated[
    GroupRuleKind | None,
    typer.Option("--by", help="What groups: title (same creator and title pattern) or replies."),
]
PatternOption = Annotated[
    str | None,
    typer.Option(
        "--pattern",
        metavar="REGEX",
        help="A regular expression (RE2) for titles; a group named `name`, or the only group, is shared.",
    ),
]


@app.command("list")
def list_rules(*, as_json: AsJson = False) -> None:
    """List the rules; earlier ones go first."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            found = await rules.list_rules(tx)
        if as_json:
            print_json(found)
            return
        print_table(
            ("Rule", "Groups by", "Pattern", "Groups", "State"),
            [
                (
                    one.name,
                    RULE_KIND_WORDS[one.kind],
                    one.pattern,
                    one.groups,
                    rule_state(enabled=one.enabled, doing=one.doing),
                )
                for one in found
            ],
            numeric=("Groups",),
            empty="There are no rules. `headgate library group rules add` adds one.",
        )

    with_database(look)


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for the rule.")],
    *,
    by: ByOption = None,
    pattern: PatternOption = None,
    as_json: AsJson = False,
) -> None:
    """Add a rule, which is off."""
    rule = rules.read_rule({"name": name, "kind": by, "pattern": pattern})

    async def act(tx: Tx, context: CommandContext) -> StoredGroupRule:
        return await rules.add_rule(tx, rule, ids=context.ids, now=context.clock.now())

    _change(act, "Added {}, which is off. Try it, then switch it on.", as_json=as_json)


@app.command()
def edit(
    rule: Rule,
    *,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="A new name.")] = None,
    by: ByOption = None,
    pattern: PatternOption = None,
    as_json: AsJson = False,
) -> None:
    """Change a rule that is off."""
    given = {"name": name, "kind": by, "pattern": pattern}
    typed = {key: value for key, value in given.items() if value is not None}

    async def act(tx: Tx, _context: CommandContext) -> StoredGroupRule:
        return await rules.edit_rule(tx, (await find_rule(tx, rule)).id, typed)

    _change(act, "Changed {}.", as_json=as_json)


@app.command("try")
def try_one(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="Name of a rule; a new one if there is none.")],
    *,
    by: ByOption = None,
    pattern: PatternOption = None,
    items: Annotated[
        int, typer.Option("--items", min=1, max=1_000_000, help="How many of the newest items to try.")
    ] = MAX_TRIED,
    as_json: AsJson = False,
) -> None:
    """Show which groups a rule would make of what is there; nothing is changed."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            known = next((one for one in await rules.list_rules(tx) if _is(one, rule)), None)
            base = vars(known.rule) if known else {"name": rule}
            given = {"kind": by, "pattern": pattern}
            typed = {key: value for key, value in given.items() if value is not None}
            with working("Trying the rule …"):
                trial = await try_rule(
                    tx, rules.read_rule({**base, **typed}), limit=items, clock=context.clock
                )
        if as_json:
            print_json(trial)
        else:
            _print(trial)

    with_database(look)


@app.command()
def on(rule: Rule, *, as_json: AsJson = False) -> None:
    """Switch a rule on: what is there is grouped in the background, and what arrives at once."""

    async def act(tx: Tx, _context: CommandContext) -> StoredGroupRule:
        return await rules.switch_on(tx, (await find_rule(tx, rule)).id)

    _change(act, "{} is on. What is there is grouped in the background.", as_json=as_json)


@app.command()
def off(
    rule: Rule,
    *,
    dissolve: Annotated[
        bool, typer.Option("--dissolve/--keep", help="Dissolve its groups that no one has changed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Switch a rule off; its groups stay, or dissolve if you want that."""

    async def act(tx: Tx, _context: CommandContext) -> StoredGroupRule:
        return await rules.switch_off(tx, (await find_rule(tx, rule)).id, dissolve=dissolve)

    kept = "Its groups are dissolved, apart from those that someone has changed."
    _change(act, "{} is off. " + (kept if dissolve else "Its groups stay."), as_json=as_json)


@app.command()
def remove(rule: Rule, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove a rule; its groups stay."""

    async def look(context: CommandContext) -> StoredGroupRule:
        async with context.database.transaction() as tx:
            return await find_rule(tx, rule)

    known = with_database(look)
    confirm(f"Remove the rule {known.name!r}? Its groups stay.", yes=yes)

    async def act(tx: Tx, _context: CommandContext) -> StoredGroupRule:
        return await rules.remove_rule(tx, known.id)

    _change(act, "Removed {}.", as_json=as_json)


async def find_rule(tx: Tx, reference: str) -> StoredGroupRule:
    """Return the rule that a person means."""
    for one in await rules.list_rules(tx):
        if _is(one, reference):
            return one
    raise UserError(
        f"There is no rule {reference!r}.", command="headgate library group rules list", field="rule"
    )


def _is(rule: StoredGroupRule, reference: str) -> bool:
    return reference.strip().casefold() in {rule.name.casefold(), str(rule.id)}


def _change(
    act: Callable[[Tx, CommandContext], Awaitable[StoredGroupRule]], sentence: str, *, as_json: bool
) -> None:
    async def run(context: CommandContext) -> StoredGroupRule:
        async with context.database.transaction() as tx:
            return await act(tx, context)

    changed = with_database(run)
    if as_json:
        print_json(changed)
    else:
        typer.echo(sentence.format(changed.name))


def _print(trial: GroupTrial) -> None:
    older = " Only the newest were tried; --items tries more." if trial.has_older else ""
    typer.echo(
        f"{count_of(trial.groups, 'group')} of {count_of(trial.items, 'item')} would be made; "
        f"{count_of(trial.tried, 'item')} in no group tried.{older}"
    )
    if trial.examples:
        print_table(
            ("Group", "Channel", "Items", "First"),
            [(one.name, one.channel, one.items, ", ".join(one.titles)) for one in trial.examples],
            numeric=("Items",),
        )
