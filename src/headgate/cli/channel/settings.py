"""`headgate channel settings`: what to keep of a channel and how often to check it, layer by layer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, cast
from uuid import UUID

import typer

from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.channels import get_channel, nearest
from headgate.cli.output import AsJson, print_json, print_table
from headgate.domain.errors import UserError
from headgate.domain.library.fetching import FetchRule
from headgate.domain.streams.channel_settings import ChannelSettings, merge_layers
from headgate.domain.words.file_words import fetch_text
from headgate.domain.words.frequency import FREQUENCY_SET, FrequencyChoice
from headgate.intake.channels import requests
from headgate.intake.channels.settings import SettingsLayer, change_settings, get_settings, list_effective
from headgate.storage.channels.channel_overview import NamedChannel
from headgate.storage.channels.intake_settings import list_layers
from headgate.storage.database import Tx

FrequencyOption = Annotated[
    FrequencyChoice | None,
    typer.Option(metavar="FREQUENCY", help="How often to check it: often, normal, rarely, or automatic."),
]


@dataclass(frozen=True)
class SettingsScope:
    """The layer that a command is about, and the channel that was named."""

    channel: NamedChannel | None
    kind: Literal["everything", "parent", "channel", "topic"]
    topic: str = ""

    @property
    def channel_id(self) -> UUID:
        """The channel whose row holds the layer."""
        if self.channel is None:
            raise UserError("Which channel?", remedy="Name one, or use --global.")
        if self.kind != "parent" or self.channel.kind == "parent":
            return self.channel.id
        if self.channel.parent_id is None:
            raise UserError(f"{self.channel.title} has no parent.")
        return self.channel.parent_id

    @property
    def layer(self) -> SettingsLayer:
        return SettingsLayer() if self.kind == "everything" else SettingsLayer(self.channel_id, self.topic)

    @property
    def title(self) -> str:
        if self.channel is None or self.kind == "everything":
            return "all channels"
        if self.kind == "topic":
            return f"the topic {self.topic} of {self.channel.title}"
        is_parent = self.kind == "parent" and self.channel.kind != "parent"
        return self.channel.parent_title if is_parent else self.channel.title


async def describe_downloads(tx: Tx, channel_ids: Sequence[UUID]) -> str:
    """Say what is downloaded from a new channel; nothing where there is none."""
    for found in await list_layers(tx, channel_ids):
        rule = FetchRule.of(merge_layers([ChannelSettings.read(layer)[0] for layer in found.layers]))
        return fetch_text(rule)
    return ""


def settings(
    channel: Annotated[
        str | None, typer.Argument(metavar="CHANNEL", help="Id, title, or the platform's key of a channel.")
    ] = None,
    *,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Set a value; lists as comma-separated values or JSON."
        ),
    ] = None,
    unsets: Annotated[
        list[str] | None, typer.Option("--unset", metavar="NAME", help="Inherit the value again.")
    ] = None,
    topic: Annotated[str, typer.Option(metavar="KEY", help="For this topic of the channel.")] = "",
    parent: Annotated[bool, typer.Option("--parent", help="For the channel's parent.")] = False,
    everything: Annotated[bool, typer.Option("--global", help="For all channels.")] = False,
    frequency: FrequencyOption = None,
    start_at: Annotated[
        int | None,
        typer.Option(min=0, metavar="POSITION", help="Oldest message to read; 0 is the beginning."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show or change settings. Unset values are inherited: topic, channel, parent, all channels.

    A change applies at once to new messages, and to everything already read, without reading it again.
    """
    changes = _parse(sets or [], unsets or [])
    if sum([bool(topic), parent, everything]) > 1:
        raise UserError("--topic, --parent and --global cannot be combined.", remedy="Use one of them.")

    async def work(context: CommandContext) -> None:
        now = context.clock.now()
        async with context.database.transaction() as tx:
            place = await _place(tx, channel, topic=topic, parent=parent, everything=everything)
            if changes:
                stored = await change_settings(tx, place.layer, changes, now=now)
            else:
                stored = await get_settings(tx, place.layer)
            if frequency is not None or start_at is not None:
                await _plan(tx, place, frequency=frequency, start_at=start_at, now=now)
            effective = await list_effective(tx, place.layer)
        document = {name: {"value": one.value, "from": one.origin} for name, one in effective.items()}
        if as_json:
            print_json({"of": place.kind, "set": stored, "effective": document})
        else:
            _print(place, document)

    with_database(work)


def _parse(sets: Sequence[str], unsets: Sequence[str]) -> dict[str, object]:
    """Return the new values by name; None for what is to be inherited."""
    changes: dict[str, object] = {}
    for entry in sets:
        name, sign, value = entry.partition("=")
        if not sign:
            raise UserError(f"{entry!r} sets nothing.", remedy="Write --set NAME=VALUE.")
        known = _known(name.strip())
        changes[known] = _value(known, value.strip())
    return changes | {_known(name): None for name in unsets}


def _known(name: str) -> str:
    if name not in ChannelSettings.model_fields:
        near = nearest(name, list(ChannelSettings.model_fields))
        meant = f"Did you mean {near}? " if near else ""
        raise UserError(
            f"There is no setting {name!r}.",
            remedy=meant,
            command="headgate channel settings --global",
        )
    return name


def _value(name: str, text: str) -> object:
    """Return what a person typed as the model takes it; numbers and switches are read by the model."""
    is_list = "tuple" in str(ChannelSettings.model_fields[name].annotation)
    if not is_list:
        return text
    if text.startswith("["):
        try:
            return json.loads(text)
        except ValueError as error:
            raise UserError(f"{name} is not a list in JSON: {error}.") from error
    return [part.strip() for part in text.split(",") if part.strip()]


async def _place(
    tx: Tx, reference: str | None, *, topic: str, parent: bool, everything: bool
) -> SettingsScope:
    if everything:
        return SettingsScope(None, "everything")
    if reference is None:
        raise UserError("Which channel?", remedy="Name one, or use --global for all.")
    named = await get_channel(tx, reference, with_parents=True)
    if topic:
        return SettingsScope(named, "topic", topic)
    return SettingsScope(named, "parent" if parent or named.kind == "parent" else "channel")


async def _plan(
    tx: Tx, place: SettingsScope, *, frequency: FrequencyChoice | None, start_at: int | None, now: datetime
) -> None:
    """Change how a channel is read; these settings are its own and never inherited."""
    if place.kind != "channel":
        raise UserError("--frequency and --start-at apply to one channel.", remedy="Name a single channel.")
    if frequency is not None:
        await requests.set_frequency(tx, place.channel_id, frequency, now=now)
        typer.echo(f"{place.title}: {FREQUENCY_SET[frequency]}", err=True)
    if start_at is not None:
        await requests.set_start(tx, place.channel_id, start_at, now=now)
        typer.echo(f"{place.title} is read from {start_at} on.", err=True)


def _print(place: SettingsScope, document: Mapping[str, Mapping[str, Any]]) -> None:
    typer.echo(typer.style(f"Settings of {place.title}", bold=True))
    fields = ChannelSettings.model_fields
    print_table(
        ["setting", "value", "from", "means"],
        [
            (name, _shown(entry["value"]), entry["from"], fields[name].description or "")
            for name, entry in document.items()
        ],
    )


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(part) for part in cast("list[object]", value)) or "none"
    return "" if value is None else str(value)
