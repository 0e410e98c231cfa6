"""Channels and how far they were read."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field

from headgate.domain.streams.channel_settings import ChannelSettings
from headgate.intake.channels.settings import (
    Origin,
    SettingsLayer,
    change_settings,
    get_settings,
    list_effective,
)
from headgate.storage.channels.channel_overview import FIRST, ChannelCursor, ChannelLine, list_channels
from headgate.storage.database import Tx
from headgate.web.cursors import cut_page, read_title_cursor, title_cursor
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)


class ChannelAnswer(BaseModel):
    """A channel; positions are strings, because JSON numbers lose digits of 64-bit ones.

    Nothing is missing between `complete_from` and `complete_to`, as of the last check for new messages.
    `covered_share` is empty while the length of the older history is unknown.
    """

    id: UUID
    platform: str
    kind: Literal["stream", "listing"]
    title: str
    start_position: str | None = Field(description="The oldest message to read.")
    newest_position: str | None = Field(description="The newest message on the platform.")
    covered_share: float | None
    complete_from: str | None
    complete_to: str | None
    complete_as_of: datetime | None
    message_count: int
    messages_read: int
    scanned_at: datetime | None
    due_at: datetime | None
    gone_at: datetime | None

    @classmethod
    def of(cls, line: ChannelLine) -> ChannelAnswer:
        progress = line.progress
        shown = {
            "start_position": _text(line.floor),
            "newest_position": _text(line.head),
            "covered_share": progress and progress.share,
            "complete_from": _text(progress and progress.complete_from),
            "complete_to": _text(progress and progress.complete_to),
            "complete_as_of": progress and progress.as_of,
            "messages_read": progress.messages_read if progress else 0,
        }
        return cls.model_validate(vars(line) | shown)


class ChannelsAnswer(BaseModel):
    """A page of channels by title; pass `next` as `after` to get the next page."""

    channels: list[ChannelAnswer]
    next: str | None


class SettingAnswer(BaseModel):
    """A setting as it applies, and which layer sets it."""

    value: Any
    origin: Origin


class ChannelSettingsAnswer(BaseModel):
    """What a channel sets itself, and what applies to it: unset values are inherited."""

    own: ChannelSettings
    effective: dict[str, SettingAnswer]


def _text(position: int | None) -> str | None:
    return None if position is None else str(position)


@routes.get("/channels", door=scope("read"), tags=["channels"])
async def list_all(
    site: CurrentSite, after: str = "", limit: Annotated[int, Query(ge=1, le=500)] = 100
) -> ChannelsAnswer:
    """List channels by title."""
    place = read_title_cursor(after, ChannelCursor) or FIRST
    async with site.transaction() as tx:
        found = await list_channels(tx, after=place, limit=limit + 1)
    lines, following = cut_page(found, limit, lambda line: title_cursor(line.title, line.id))
    return ChannelsAnswer(channels=[ChannelAnswer.of(line) for line in lines], next=following)


@routes.get("/channels/{channel_id}/settings", door=scope("read"), tags=["channels"])
async def show_settings(site: CurrentSite, channel_id: UUID) -> ChannelSettingsAnswer:
    """Return the settings of a channel: its own, and what applies."""
    async with site.transaction() as tx:
        return await _answer_settings(tx, channel_id)


@routes.patch("/channels/{channel_id}/settings", door=scope("admin"), tags=["channels"])
async def set_settings(
    site: CurrentSite, channel_id: UUID, changes: ChannelSettings
) -> ChannelSettingsAnswer:
    """Change settings of a channel; `null` lets one be inherited again, and what is left out stays."""
    named = {name: value for name, value in changes if name in changes.model_fields_set}
    async with site.transaction() as tx:
        await _answer_settings(tx, channel_id)
        await change_settings(tx, SettingsLayer(channel_id), named, now=site.parts.clock.now())
        return await _answer_settings(tx, channel_id)


async def _answer_settings(tx: Tx, channel_id: UUID) -> ChannelSettingsAnswer:
    layer = SettingsLayer(channel_id)
    effective = await list_effective(tx, layer)
    return ChannelSettingsAnswer(
        own=ChannelSettings.read(await get_settings(tx, layer))[0],
        effective={name: SettingAnswer(**vars(one)) for name, one in effective.items()},
    )
