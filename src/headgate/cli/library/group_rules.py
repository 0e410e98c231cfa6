"""`headgate library group rules`: rules that group items, off until someone switches them on."""

from __future__ import annotations

from typing import Annotated

import typer

from headgate.catalogue.groups import rules
from headgate.catalogue.groups.rule_trials import MAX_TRIED, GroupTrial, try_rule
from headgate.cli.context import CommandContext, with_database
from headgate.cli.library.rule_commands import (
    ItemsOption,
    NameArgument,
    NameOption,
    RuleArgument,
    TriedArgument,
    change_rule,
    given,
    pick_rule,
    remove_rule,
    unknown_rule,
)
from headgate.cli.output import AsJson, Yes, print_json, print_table, working
from headgate.cli.phrases import count_of
from headgate.domain.library.group_rules import GroupRuleKind
from headgate.domain.words.group_words import RULE_KIND_WORDS, rule_state
from headgate.storage.database import Tx
from headgate.storage.groups.rules import StoredGroupRule

app = typer.Typer(no_args_is_help=True, help="Rules that group items by themselves.")

COMMAND = "headgate library group rules"
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
    name: NameArgument,
    *,
    by: ByOption = None,
    pattern: PatternOption = None,
    as_json: AsJson = False,
) -> None:
    """Add a rule, which is off."""
    rule = rules.read_rule({"name": name, "kind": by, "pattern": pattern})

    async def act(tx: Tx, context: CommandContext) -> StoredGroupRule:
        return await rules.add_rule(tx, rule, ids=context.ids, now=context.clock.now())

    change_rule(act, "Added {}, which is off. Try it, then switch it on.", as_json=as_json)


@app.command()
def edit(
    rule: RuleArgument,
    *,
    name: NameOption = None,
    by: ByOption = None,
    pattern: PatternOption = None,
    as_json: AsJson = False,
) -> None:
    """Change a rule that is off."""
    typed = given(name=name, kind=by, pattern=pattern)

    async def act(tx: Tx, _context: CommandContext) -> StoredGroupRule:
        return await rules.edit_rule(tx, (await find_rule(tx, rule)).id, typed)

    change_rule(act, "Changed {}.", as_json=as_json)


@app.command("try")
def try_one(
    rule: TriedArgument,
    *,
    by: ByOption = None,
    pattern: PatternOption = None,
    items: ItemsOption = MAX_TRIED,
    as_json: AsJson = False,
) -> None:
    """Show which groups a rule would make of what is there; nothing is changed."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            known = pick_rule(await rules.list_rules(tx), rule)
            base = vars(known.rule) if known else {"name": rule}
            tried = rules.read_rule({**base, **given(kind=by, pattern=pattern)})
            with working("Trying the rule …"):
                trial = await try_rule(tx, tried, limit=items, clock=context.clock)
        if as_json:
            print_json(trial)
        else:
            _print(trial)

    with_database(look)


@app.command()
def on(rule: RuleArgument, *, as_json: AsJson = False) -> None:
    """Switch a rule on: what is there is grouped in the background, and what arrives at once."""

    async def act(tx: Tx, _context: CommandContext) -> StoredGroupRule:
        return await rules.switch_on(tx, (await find_rule(tx, rule)).id)

    change_rule(act, "{} is on. What is there is grouped in the background.", as_json=as_json)


@app.command()
def off(
    rule: RuleArgument,
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
    change_rule(act, "{} is off. " + (kept if dissolve else "Its groups stay."), as_json=as_json)


@app.command()
def remove(rule: RuleArgument, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove a rule; its groups stay."""
    remove_rule(
        lambda tx: find_rule(tx, rule), rules.remove_rule, yes=yes, as_json=as_json, effect="Its groups stay."
    )


async def find_rule(tx: Tx, reference: str) -> StoredGroupRule:
    """Return the rule that a person means."""
    if (found := pick_rule(await rules.list_rules(tx), reference)) is None:
        raise unknown_rule(reference, COMMAND)
    return found


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
