"""Gives messages their places where the platform has no usable numbers (`domain.streams.placing`).

Everything here happens under the stream's lock, in the transaction that takes the messages in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from headgate.domain.streams.messages import UNPLACED, Head, LiveEvent, Message, Page, Span
from headgate.domain.streams.placing import next_head, place_events, place_page
from headgate.domain.text import is_key
from headgate.storage.database import Tx
from headgate.storage.streams import places
from headgate.storage.streams.places import Gap


async def place_heads(tx: Tx, heads: Mapping[UUID, Head]) -> dict[UUID, Head]:
    """Return heads with positions: above what is known, if the newest message is not."""
    news = await places.list_news(tx, {channel_id: head.key for channel_id, head in heads.items()})
    raised = {
        channel_id: replace(heads[channel_id], position=next_head(before))
        for channel_id, before in news.items()
    }
    gaps = [
        Gap(channel_id, head.position + 1, head.bookmark)
        for channel_id, head in raised.items()
        if head.position is not None
    ]
    await places.insert_gaps(tx, gaps)
    return {**heads, **raised}


async def place_on_page(tx: Tx, channel_id: UUID, page: Page, *, hole: Span) -> Page:
    """Return a page with positions, and with what it proves by them."""
    keys = list(dict.fromkeys([*(message.key for message in page.messages), *page.unreadable]))
    known = await places.list_places(tx, channel_id, keys)
    placed = place_page(hole, keys, known=known, exhausted=page.exhausted)
    await _keep(tx, channel_id, placed.new)
    found = {**known, **placed.new}
    messages = tuple(replace(message, position=found[message.key]) for message in page.messages)
    return replace(page, messages=messages, proven=placed.proven)


async def place_live(
    tx: Tx, channel_id: UUID, events: Sequence[LiveEvent], *, head: int | None, continuous: bool
) -> tuple[list[LiveEvent], int | None]:
    """Return events with positions, without changes of messages that were not read yet; and the new head."""
    known = await places.list_places(tx, channel_id, [key for event in events if (key := event.message_key)])
    placed = place_events(head, events, known=known, continuous=continuous)
    await _keep(tx, channel_id, placed.new)
    await places.insert_gaps(tx, [Gap(channel_id, end, bookmark) for end, bookmark in placed.gaps.items()])
    found = {**known, **placed.new}
    return [
        _at(event, found[event.message_key]) for event in events if event.message_key in found
    ], placed.head


async def place_known(tx: Tx, channel_id: UUID, message: Message) -> Message | None:
    """Return a message that was fetched by itself with its position; None if it was not read yet."""
    if message.position != UNPLACED:
        return message
    found = await places.list_places(tx, channel_id, [message.key])
    return replace(message, position=found[message.key]) if message.key in found else None


def _at(event: LiveEvent, position: int) -> LiveEvent:
    message = None if event.message is None else replace(event.message, position=position)
    proven = Span(position, position + 1) if event.kind == "message" else None
    return replace(event, message=message, proven=proven)


async def _keep(tx: Tx, channel_id: UUID, new: Mapping[str, int]) -> None:
    await places.insert_places(tx, channel_id, {key: new[key] for key in new if is_key(key)})
