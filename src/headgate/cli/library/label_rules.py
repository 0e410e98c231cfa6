"""`headgate label-rule`: the rules that read creators and tags."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headgate.catalogue import label_rules
from headgate.catalogue.label_rules import RuleSet
from headgate.catalogue.label_trials import MAX_TRIED, LabelledOtherwise, Trial, try_rule
from headgate.cli.context import CommandContext, with_database
from headgate.cli.library.rule_commands import (
    ItemsOption,
    NameArgument,
    NameOption,
    TriedArgument,
    change_rule,
    given,
    pick_rule,
    remove_rule,
    unknown_rule,
)
from headgate.cli.output import AsJson, Yes, print_json, print_table, working
from headgate.domain.library.label_rules import LabelField, LabelKind, Normalisation
from headgate.domain.words.label_words import FIELD_WORDS
from headgate.storage.database import Tx
from headgate.storage.labels.rules import StoredRule

app = typer.Typer(no_args_is_help=True, help="Edit and try the rules that read creators and tags.")

COMMAND = "headgate label-rule"
RuleArgument = Annotated[str, typer.Argument(metavar="RULE", help="Name, number or id of a rule.")]
InOption = Annotated[
    LabelField | None,
    typer.Option("--in", metavar="PLACE", help="Where to look: topic, caption, hashtag or file_name."),
]
KindOption = Annotated[LabelKind | None, typer.Option("--kind", help="What it finds: creator or tag.")]
PatternOption = Annotated[
    str | None,
    typer.Option(
        "--pattern",
        metavar="REGEX",
        help="A regular expression (RE2); a group named `label`, or the only group, is the label.",
    ),
]
WrittenOption = Annotated[
    Normalisation | None,
    typer.Option("--written", metavar="HOW", help="How the label is written: as_written, spaced or lower."),
]
PlaceOption = Annotated[
    int | None, typer.Option("--position", metavar="N", help="Place among the rules; earlier ones go first.")
]


@app.command("list")
def list_rules(*, as_json: AsJson = False) -> None:
    """List the rules in their order."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            found = await label_rules.list_rules(tx)
        if as_json:
            print_json(found)
            return
        print_table(
            ("#", "Rule", "Finds", "In", "Pattern", "State"),
            [
                (
                    rule.position,
                    rule.name,
                    rule.kind,
                    FIELD_WORDS[rule.field].lower(),
                    rule.pattern,
                    "on" if rule.enabled else "off",
                )
                for rule in found.rules
            ],
            numeric=("#",),
            empty="There are no rules.",
        )

    with_database(look)


@app.command()
def add(
    name: NameArgument,
    *,
    where: InOption = None,
    kind: KindOption = None,
    pattern: PatternOption = None,
    written: WrittenOption = None,
    position: PlaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Add a rule; all items are labelled again."""
    rule = label_rules.read_rule(_typed(name, where, kind, pattern, written))

    async def act(tx: Tx, context: CommandContext) -> StoredRule:
        return await label_rules.add_rule(tx, rule, position=position, ids=context.ids)

    change_rule(act, "Added rule {1.position}, {0}. Items are labelled again.", as_json=as_json)


@app.command()
def edit(
    rule: RuleArgument,
    *,
    name: NameOption = None,
    where: InOption = None,
    kind: KindOption = None,
    pattern: PatternOption = None,
    written: WrittenOption = None,
    position: PlaceOption = None,
    enabled: Annotated[bool | None, typer.Option("--on/--off", help="Turn the rule on or off.")] = None,
    as_json: AsJson = False,
) -> None:
    """Change a rule, move it, or turn it on or off; all items are labelled again."""
    typed = _typed(name, where, kind, pattern, written, enabled=enabled)

    async def act(tx: Tx, _context: CommandContext) -> StoredRule:
        known = await _meant(tx, rule)
        return await label_rules.edit_rule(tx, known.id, typed, position=position)

    change_rule(act, "Changed rule {1.position}, {0}. Items are labelled again.", as_json=as_json)


@app.command()
def remove(rule: RuleArgument, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove a rule; labels that only it found disappear."""
    remove_rule(
        lambda tx: _meant(tx, rule),
        label_rules.remove_rule,
        yes=yes,
        as_json=as_json,
        effect="Labels that only it found disappear.",
    )


@app.command("try")
def try_one(
    rule: TriedArgument,
    *,
    where: InOption = None,
    kind: KindOption = None,
    pattern: PatternOption = None,
    written: WrittenOption = None,
    position: PlaceOption = None,
    without: Annotated[bool, typer.Option("--without", help="Try what is lost without the rule.")] = False,
    items: ItemsOption = MAX_TRIED,
    as_json: AsJson = False,
) -> None:
    """Show which items a rule would label differently; nothing is saved."""
    typed = _typed(None, where, kind, pattern, written)

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            known = _find(await label_rules.list_rules(tx), rule)
            if known is None and without:
                raise unknown_rule(rule, COMMAND)
            base = vars(known.rule) if known else {"name": rule}
            tried = None if without else label_rules.read_rule({**base, **typed})
            with working("Trying the rule …"):
                trial = await try_rule(
                    tx,
                    tried,
                    replacing=known.id if known else None,
                    position=position,
                    limit=items,
                    clock=context.clock,
                )
        if as_json:
            print_json(trial)
        else:
            _print(trial)

    with_database(look)


def _typed(
    name: str | None,
    where: LabelField | None,
    kind: LabelKind | None,
    pattern: str | None,
    written: Normalisation | None,
    *,
    enabled: bool | None = None,
) -> dict[str, Any]:
    """Return what was named; the rest stays."""
    labelled = given(field=where, kind=kind, normalisation=written)
    return {**given(name=name, pattern=pattern, enabled=enabled), **labelled}


def _find(listed: RuleSet, reference: str) -> StoredRule | None:
    numbered = (rule for rule in listed.rules if str(rule.position) == reference.strip())
    return pick_rule(listed.rules, reference) or next(numbered, None)


async def _meant(tx: Tx, reference: str) -> StoredRule:
    found = _find(await label_rules.list_rules(tx), reference)
    if found is None:
        raise unknown_rule(reference, COMMAND)
    return found


def _print(trial: Trial) -> None:
    older = " Only the newest were tried; --items tries more." if trial.has_older else ""
    typer.echo(
        f"{trial.changed} of {trial.tried} items would change; "
        f"the rule finds something in {trial.matched}.{older}"
    )
    print_table(
        ("Label", "Kind", "Gained", "Lost"),
        [(one.name, one.kind, one.gained or "", one.lost or "") for one in trial.counts],
        numeric=("Gained", "Lost"),
    )
    if trial.examples:
        print_table(
            ("Item", "Change", "Found in"),
            [(one.title, _change_text(one), one.text) for one in trial.examples],
            title="Examples",
        )


def _change_text(one: LabelledOtherwise) -> str:
    creator = (
        [f"creator {one.creator_before or 'none'} → {one.creator_after or 'none'}"]
        if one.creator_before != one.creator_after
        else []
    )
    return ", ".join(
        [*creator, *(f"+{tag}" for tag in one.added_tags), *(f"-{tag}" for tag in one.removed_tags)]
    )
