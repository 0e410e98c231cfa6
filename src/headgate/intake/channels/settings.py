"""Actions on settings: of all channels, of a parent, a channel or a topic. What is not set is inherited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from headgate.domain.errors import NotFound
from headgate.domain.streams.channel_settings import ChannelSettings
from headgate.storage.channels import intake_settings
from headgate.storage.channels.intake_settings import Stored
from headgate.storage.database import Tx

Origin = Literal["default", "all channels", "a parent", "the channel", "itself"]


@dataclass(frozen=True)
class SettingsLayer:
    """Whose settings are meant: a channel's or a parent's, a topic's in it, or without a channel all."""

    channel_id: UUID | None = None
    topic: str = ""


async def get_settings(tx: Tx, layer: SettingsLayer) -> Stored:
    """Return what is set on a layer itself."""
    if layer.channel_id is None:
        return await intake_settings.get_everything(tx)
    if layer.topic:
        found = await intake_settings.get_topic(tx, layer.channel_id, layer.topic)
        if found is None:
            raise _no_topic(layer.topic)
        return found.settings
    found = await intake_settings.get_channel(tx, layer.channel_id)
    return {} if found is None else found.settings


@dataclass(frozen=True)
class EffectiveSetting:
    """A setting as it applies to a layer, and which layer sets it."""

    value: Any
    origin: Origin


async def list_effective(tx: Tx, layer: SettingsLayer) -> dict[str, EffectiveSetting]:
    """Return each setting of a layer with its value and where that comes from."""
    stored = await get_settings(tx, layer)
    layers: list[tuple[Origin, Stored]] = []
    if layer.channel_id is None:
        layers.append(("all channels", stored))
    else:
        layers += await _list_above(tx, layer.channel_id, "the channel" if layer.topic else "itself")
    if layer.topic:
        layers.append(("itself", stored))
    return {name: _effective(name, layers) for name in ChannelSettings.model_fields}


async def list_inherited(tx: Tx, layer: SettingsLayer) -> dict[str, EffectiveSetting]:
    """Return what would apply to a channel if it set nothing itself."""
    if layer.channel_id is None:
        return {name: EffectiveSetting(None, "default") for name in ChannelSettings.model_fields}
    above = (await _list_above(tx, layer.channel_id, "itself"))[:-1]
    return {name: _effective(name, above) for name in ChannelSettings.model_fields}


async def _list_above(tx: Tx, channel_id: UUID, itself: Origin) -> list[tuple[Origin, Stored]]:
    """Return the layers of a channel, outermost first, its own included."""
    found = await intake_settings.list_layers(tx, [channel_id])
    if not found:
        raise NotFound("There is no such channel.", command="headgate channel list")
    parents: list[Origin] = ["a parent"] * (len(found[0].layers) - 2)
    origins: list[Origin] = ["all channels", *parents, itself]
    return list(zip(origins, found[0].layers, strict=True))


def _effective(name: str, layers: Sequence[tuple[Origin, Stored]]) -> EffectiveSetting:
    setting = EffectiveSetting(None, "default")
    for origin, layer in layers:
        if name in layer:
            setting = EffectiveSetting(layer[name], origin)
    return setting


async def change_settings(
    tx: Tx, layer: SettingsLayer, changes: Mapping[str, object], *, now: datetime
) -> Stored:
    """Change some settings of a layer, and return all of it; None lets a setting be inherited again.

    What was seen before is judged again. Settings are locked before streams, so this comes first in a
    transaction that changes both.
    """
    # A layer is read under the lock, so that two changes at once both stay.
    await intake_settings.lock_settings(tx)
    merged = {**await get_settings(tx, layer), **changes}
    set_now = {name: value for name, value in merged.items() if value is not None}
    stored = ChannelSettings.parse(set_now).dump()
    if layer.channel_id is None:
        await intake_settings.set_everything(tx, stored, now=now)
    elif layer.topic:
        await intake_settings.set_topic(tx, layer.channel_id, layer.topic, stored, now=now)
    else:
        await intake_settings.set_channel(tx, layer.channel_id, stored, now=now)
    return stored


async def switch_topic(tx: Tx, channel_id: UUID, topic: str, *, enabled: bool, now: datetime) -> None:
    """Switch a topic on or off; what was seen in it is judged again."""
    if await intake_settings.get_topic(tx, channel_id, topic) is None:
        raise _no_topic(topic)
    await intake_settings.switch_topic(tx, channel_id, topic, enabled=enabled, now=now)


def _no_topic(topic: str) -> NotFound:
    return NotFound(
        f"There is no topic {topic!r} in this channel.", command="headgate channel show", field="topic"
    )
