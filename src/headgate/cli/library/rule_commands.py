"""What commands about rules of any kind share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, Any, Protocol, TypeVar
from uuid import UUID

import typer

from headgate.cli.context import CommandContext, with_database
from headgate.cli.output import confirm, print_json
from headgate.domain.errors import UserError
from headgate.storage.database import Tx


class NamedRule(Protocol):
    """A stored rule of any kind."""

    @property
    def id(self) -> UUID: ...

    @property
    def name(self) -> str: ...


Found = TypeVar("Found", bound=NamedRule)

RuleArgument = Annotated[str, typer.Argument(metavar="RULE", help="Name or id of a rule.")]
TriedArgument = Annotated[
    str, typer.Argument(metavar="RULE", help="Name of a rule; a new one if there is none.")
]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A name for the rule.")]
NameOption = Annotated[str | None, typer.Option("--name", metavar="NAME", help="A new name.")]
ItemsOption = Annotated[
    int, typer.Option("--items", min=1, max=1_000_000, help="How many of the newest items to try.")
]


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were used; the rest of a rule stays."""
    return {name: value for name, value in options.items() if value is not None}


def pick_rule(found: Iterable[Found], reference: str) -> Found | None:
    """Return the rule that a person means by its name, else by its id."""
    typed = reference.strip().casefold()
    listed = list(found)
    by_name = [rule for rule in listed if rule.name.casefold() == typed]
    return next(iter(by_name or [rule for rule in listed if str(rule.id) == typed]), None)


def unknown_rule(reference: str, command: str) -> UserError:
    return UserError(f"There is no rule {reference!r}.", command=f"{command} list", field="rule")


def change_rule(
    act: Callable[[Tx, CommandContext], Awaitable[Found]], sentence: str, *, as_json: bool
) -> None:
    """Change a rule, and say so; in the sentence, `{0}` is its name and `{1}` the rule."""

    async def run(context: CommandContext) -> Found:
        async with context.database.transaction() as tx:
            return await act(tx, context)

    changed = with_database(run)
    if as_json:
        print_json(changed)
    else:
        typer.echo(sentence.format(changed.name, changed))


def remove_rule(
    find: Callable[[Tx], Awaitable[Found]],
    remove: Callable[[Tx, UUID], Awaitable[Found]],
    *,
    yes: bool,
    as_json: bool,
    effect: str = "",
) -> None:
    """Remove a rule after a question that says what follows."""

    async def look(context: CommandContext) -> Found:
        async with context.database.transaction() as tx:
            return await find(tx)

    known = with_database(look)
    confirm(f"Remove the rule {known.name!r}?{effect and f' {effect}'}", yes=yes)

    async def act(tx: Tx, _context: CommandContext) -> Found:
        return await remove(tx, known.id)

    change_rule(act, "Removed {}.", as_json=as_json)
