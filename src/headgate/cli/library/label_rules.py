"""`headgate label-rule`: the rules that read creators and tags."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headgate.catalogue import label_rules
from headgate.catalogue.label_rules import RuleSet
from headgate.catalogue.label_trials import MAX_TRIED, LabelledOtherwise, Trial, try_rule
from headgate.cli.context import CommandContext, with_database
from headgate.cli.output import AsJson, confirm, print_json, print_table, working
from headgate.domain.errors import UserError
from headgate.domain.library.label_rules import LabelField, LabelKind, Normalisation
from headgate.domain.words.label_words import FIELD_WORDS
from headgate.storage.labels.rules import StoredRule

app = typer.Typer(no_args_is_help=True, help="Edit and try the rules that read creators and tags.")

RuleArgument = Annotated[str, typer.Argument(metavar="RULE", help="Name, number or id of a rule.")]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A name for the rule.")]
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
LimitOption = Annotated[
    int, typer.Option("--items", min=1, max=1_000_000, help="How many of the newest items to try.")
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

    async def act(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            made = await label_rules.add_rule(tx, rule, position=position, ids=context.ids)
        _say(made, f"Added rule {made.position}, {made.name}. Items are labelled again.", as_json=as_json)

    with_database(act)


@app.command()
def edit(
    rule: RuleArgument,
    *,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="A new name.")] = None,
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

    async def act(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            known = _meant(await label_rules.list_rules(tx), rule)
            made = await label_rules.edit_rule(tx, known.id, typed, position=position)
        _say(made, f"Changed rule {made.position}, {made.name}. Items are labelled again.", as_json=as_json)

    with_database(act)


@app.command()
def remove(
    rule: RuleArgument,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove a rule; labels that only it found disappear."""

    async def act(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            known = _meant(await label_rules.list_rules(tx), rule)
        confirm(f"Remove the rule {known.name!r}?", yes=yes)
        async with context.database.transaction() as tx:
            removed = await label_rules.remove_rule(tx, known.id)
        _say(removed, f"Removed the rule {removed.name}. Items are labelled again.", as_json=as_json)

    with_database(act)


@app.command("try")
def try_one(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="Name of a rule; a new one if there is none.")],
    *,
    where: InOption = None,
    kind: KindOption = None,
    pattern: PatternOption = None,
    written: WrittenOption = None,
    position: PlaceOption = None,
    without: Annotated[bool, typer.Option("--without", help="Try what is lost without the rule.")] = False,
    items: LimitOption = MAX_TRIED,
    as_json: AsJson = False,
) -> None:
    """Show which items a rule would label differently; nothing is saved."""
    typed = _typed(None, where, kind, pattern, written)

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            known = _find(await label_rules.list_rules(tx), rule)
            if known is None and without:
                raise _unknown(rule)
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
    given = {
        "name": name,
        "field": where,
        "kind": kind,
        "pattern": pattern,
        "normalisation": written,
        "enabled": enabled,
    }
    return {key: value for key, value in given.items() if value is not None}


def _find(listed: RuleSet, reference: str) -> StoredRule | None:
    typed = reference.strip().casefold()
    by_name = [rule for rule in listed.rules if rule.name.casefold() == typed]
    by_other = [rule for rule in listed.rules if typed in {str(rule.id), str(rule.position)}]
    return next(iter(by_name or by_other), None)


def _meant(listed: RuleSet, reference: str) -> StoredRule:
    found = _find(listed, reference)
    if found is None:
        raise _unknown(reference)
    return found


def _unknown(reference: str) -> UserError:
    return UserError(f"There is no rule {reference!r}.", command="headgate label-rule list", field="rule")


def _say(rule: StoredRule, sentence: str, *, as_json: bool) -> None:
    if as_json:
        print_json(rule)
    else:
        typer.echo(sentence)


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
