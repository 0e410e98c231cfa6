"""The filters of the library as options, for every command that takes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from headgate.cli.lookup.channels import get_channel
from headgate.domain.errors import UserError
from headgate.storage.database import Tx

Pairs = list[tuple[str, str]]


def _repeated(flag: str, metavar: str, help_text: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=help_text)


@dataclass(frozen=True, kw_only=True)
class FilterOptions:
    """What a person typed to filter the library."""

    channel: Annotated[
        list[str] | None, _repeated("--channel", "CHANNEL", "In this channel. Repeatable: any.")
    ] = None
    topic: Annotated[
        list[str] | None,
        _repeated("--topic", "CHANNEL/KEY", "In this topic of a channel. Repeatable: any."),
    ] = None
    creator: Annotated[
        list[str] | None, _repeated("--creator", "NAME", "By this creator. Repeatable: any.")
    ] = None
    tag: Annotated[
        list[str] | None, _repeated("--tag", "NAME", "With this tag. Repeatable: all of them.")
    ] = None
    of_type: Annotated[
        list[str] | None, _repeated("--type", "TYPE", "Of this type: zip, stl. Repeatable: any.")
    ] = None
    kind: Annotated[
        list[str] | None, _repeated("--kind", "KIND", "Of this kind: package, clip. Repeatable: any.")
    ] = None
    state: Annotated[
        list[str] | None,
        _repeated("--state", "STATE", "stored, waiting, partial, listed, dropped. Repeatable: any."),
    ] = None
    first_day: Annotated[
        str, typer.Option("--from", metavar="DAY", help="From this day on (UTC): 2026-01-31.")
    ] = ""
    last_day: Annotated[str, typer.Option("--to", metavar="DAY", help="Up to this day, included.")] = ""
    min_size: Annotated[
        str, typer.Option("--min-size", metavar="SIZE", help="At least so large: 500 kB, 2 GB.")
    ] = ""
    max_size: Annotated[str, typer.Option("--max-size", metavar="SIZE", help="At most so large.")] = ""
    ungrouped: Annotated[bool, typer.Option("--ungrouped", help="Only what is in no group.")] = False
    problems: Annotated[bool, typer.Option("--problems", help="Only what has a problem.")] = False

    async def pairs(self, tx: Tx) -> Pairs:
        """Return the filters as an address has them, channels and topics by their ids."""
        repeated = {
            "creator": self.creator,
            "tag": self.tag,
            "type": self.of_type,
            "kind": self.kind,
            "state": self.state,
        }
        return [
            *await self._places(tx),
            *((name, value) for name, values in repeated.items() for value in values or []),
            ("from", self.first_day),
            ("to", self.last_day),
            ("min_size", self.min_size),
            ("max_size", self.max_size),
            ("ungrouped", "1" if self.ungrouped else ""),
            ("problems", "1" if self.problems else ""),
        ]

    async def _places(self, tx: Tx) -> Pairs:
        found = [await get_channel(tx, reference, with_listings=True) for reference in self.channel or []]
        pairs = [("channel", str(channel.id)) for channel in found]
        for reference in self.topic or []:
            channel, slash, key = reference.rpartition("/")
            if not slash:
                raise UserError(f"{reference!r} is not a topic.", remedy="Write CHANNEL/KEY.", field="topic")
            pairs.append(("topic", f"{(await get_channel(tx, channel)).id}/{key}"))
        return pairs


def with_filters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of the filters; they reach it together, as `filters`."""
    options = signature(FilterOptions).parameters
    own = [one for one in signature(command).parameters.values() if one.name != "filters"]
    positional = [one for one in own if one.kind is not Parameter.KEYWORD_ONLY]
    named = [one for one in own if one.kind is Parameter.KEYWORD_ONLY]

    @wraps(command)
    def run(**typed: Any) -> None:
        filters = FilterOptions(**{name: typed.pop(name) for name in options})
        command(filters=filters, **typed)

    hints = {
        **get_type_hints(FilterOptions, include_extras=True),
        **get_type_hints(command, include_extras=True),
    }
    parameters = [one.replace(annotation=hints[one.name]) for one in (*positional, *options.values(), *named)]
    run.__signature__ = Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run
