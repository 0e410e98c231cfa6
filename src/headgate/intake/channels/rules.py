"""Rules of channels, kept in memory for as long as no settings change.

Whoever writes sightings asks in its transaction, which keeps settings as they are until it commits. Whoever
only needs what was true seconds ago peeks; the database is asked no more often, unless a notice came.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from headgate.domain.streams.channel_settings import ChannelSettings
from headgate.domain.streams.rules import ChannelRules, TopicLayer, build_rules
from headgate.domain.streams.schedule_knobs import IntakeKnobs
from headgate.kernel.clock import Clock
from headgate.kernel.logs import get_logger
from headgate.storage.channels.intake_settings import Layers, hold_settings, list_layers
from headgate.storage.database import Database, Tx

log = get_logger("intake")

FRESH_S = 5.0
"""How long cached rules are trusted without a notice."""
MAX_KEPT = 50_000

OFF = ChannelRules(enabled=False)
"""The rules of a channel that is not there any more."""


@dataclass
class RulesCache:
    """The rules of all channels that this process asked for, under one version of all settings."""

    knobs: IntakeKnobs
    clock: Clock
    _version: int = 0
    _rules: dict[UUID, ChannelRules] = field(default_factory=dict[UUID, ChannelRules])
    _checked_at: float = float("-inf")

    async def get(self, tx: Tx, channel_id: UUID) -> ChannelRules:
        """Return a channel's rules, which hold until the transaction ends."""
        return (await self.get_many(tx, [channel_id]))[channel_id]

    async def get_many(self, tx: Tx, channel_ids: Sequence[UUID]) -> dict[UUID, ChannelRules]:
        """Return the rules of each channel; call it before anything else is locked."""
        version = await hold_settings(tx)
        if version != self._version or len(self._rules) > MAX_KEPT:
            self._version = version
            self._rules = {}
        self._checked_at = self.clock.monotonic()
        # Another task may begin a new dictionary while this one waits; what was read goes into the old one.
        rules = self._rules
        known = {channel_id: rules.get(channel_id) for channel_id in channel_ids}
        if missing := [channel_id for channel_id, found in known.items() if found is None]:
            rules |= {layers.channel_id: self._build(layers) for layers in await list_layers(tx, missing)}
            known |= {channel_id: rules.get(channel_id) for channel_id in missing}
        return {channel_id: found or OFF for channel_id, found in known.items()}

    async def peek_many(self, database: Database, channel_ids: Sequence[UUID]) -> dict[UUID, ChannelRules]:
        """Return the rules of each channel as they were seconds ago at most."""
        rules = self._rules
        fresh = self.clock.monotonic() - self._checked_at < FRESH_S
        if fresh and all(channel_id in rules for channel_id in channel_ids):
            return {channel_id: rules[channel_id] for channel_id in channel_ids}
        async with database.transaction() as tx:
            return await self.get_many(tx, channel_ids)

    def hear(self, payload: str | None) -> None:
        """Take note of a notice that settings have changed, or that notices may have been lost."""
        if payload != str(self._version):
            self._checked_at = float("-inf")

    def _build(self, stored: Layers) -> ChannelRules:
        return build_rules(
            list(_read(stored.channel_id, stored.layers)),
            enabled=stored.enabled,
            topics=[
                TopicLayer(key, enabled, *_read(stored.channel_id, [settings]))
                for key, enabled, settings in stored.topics
            ],
            knobs=self.knobs,
        )


def _read(channel_id: UUID, layers: Iterable[dict[str, Any]]) -> Iterable[ChannelSettings]:
    for layer in layers:
        settings, faults = ChannelSettings.read(layer)
        for fault in faults:
            log.warning("a stored setting is passed over", channel=str(channel_id), fault=fault)
        yield settings
