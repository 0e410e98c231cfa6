"""The judgement: what the world holds and saw, against what was caught.

Each check returns sentences about what is wrong; none of them trusts what our own tables claim to have read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headgate.domain.messages import Message
from headgate.storage.database import Connection
from headgate.testing.world import World

WINDOW_S = 60.0


async def check_world(world: World, director: Connection) -> list[str]:
    """Return everything that is lost, doubled, over the pace, or not at rest."""
    caught = await _rows(director, _CAUGHT)
    failures = [*_check_caught(world, caught), *_check_items(caught), *_check_pace(world)]
    failures += [*_check_counters(world, await _rows(director, _COUNTERS))]
    return [*failures, *(str(row["left"]) for row in await _rows(director, _UNREST))]


_CAUGHT = """
select c.key as stream, s.message_key, s.attachment_key, s.content_id, s.item_id
from sighting s join channel c on c.id = s.channel_id where s.verdict = 'kept'
"""
_COUNTERS = """
select c.key as stream, s.total_messages_scanned as messages, s.message_count as with_items, s.head,
       upper(range_merge(v.ranges)) as covered_end
from stream s join channel c on c.id = s.channel_id join coverage v on v.channel_id = s.channel_id
"""
_UNREST = """
select format('a job is left: %s', dedupe_key) as left from pgqueuer where status = 'picked'
union all
select format('the dead letter %s:%s is open: %s', kind, key, message) from dead_letter where state = 'open'
"""


async def _rows(director: Connection, sql: str) -> list[dict[str, Any]]:
    cursor = await director.execute(sql.encode())
    names = [column.name for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in await cursor.fetchall()]


def _seen(world: World, stream: str) -> list[Message]:
    """Return what a stream holds, with the positions and keys that our account sees."""
    (account,) = world.accounts
    return [world.seen_by(account, message) for message in world.messages(stream)]


def _check_caught(world: World, caught: list[dict[str, Any]]) -> Iterator[str]:
    found = {(row["stream"], row["message_key"], row["attachment_key"]): row["item_id"] for row in caught}
    if len(found) < len(caught):
        yield f"{len(caught) - len(found)} sightings are doubled"
    for stream in world.streams:
        for message in _seen(world, stream):
            for attachment in message.attachments:
                place = (stream, message.key, attachment.key)
                if place not in found:
                    yield f"lost: {attachment.file_name} of message {message.key} in {stream}"
                elif found[place] is None:
                    yield f"no item yet: {attachment.file_name} of message {message.key} in {stream}"


def _check_items(caught: list[dict[str, Any]]) -> Iterator[str]:
    items: dict[tuple[str, str], set[str]] = {}
    for row in caught:
        if row["item_id"] is not None:
            name = row["content_id"] or f"{row['message_key']}/{row['attachment_key']}"
            items.setdefault((row["stream"], name), set()).add(str(row["item_id"]))
    for (stream, name), ids in items.items():
        if len(ids) > 1:
            yield f"doubled: {name} in {stream} is {len(ids)} items"


def _check_pace(world: World) -> Iterator[str]:
    """No account called more often, in any minute, than its lane's rate and burst together."""
    for kind, lane in world.profile.lanes.items():
        for account in world.accounts:
            times = sorted(call.began_s for call in world.log.calls(kind, account=account))
            allowed = lane.per_minute * WINDOW_S / 60 + lane.burst
            start = 0
            for end, moment in enumerate(times):
                while times[start] <= moment - WINDOW_S:
                    start += 1
                made = end - start + 1
                if made > allowed:
                    yield f"{account} made {made} {kind} calls within a minute; {allowed:g} are allowed"
                    break


def _check_counters(world: World, rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        posted = sum(1 for _ in world.stream(row["stream"]).newest_first(now_ms=world.now_ms))
        if row["messages"] > posted:
            yield f"{row['stream']} counts {row['messages']} messages, but there are {posted}"
        if row["with_items"] > row["messages"]:
            yield f"{row['stream']} counts more messages with items than messages"
        if row["covered_end"] is not None and row["covered_end"] > (row["head"] or 0) + 1:
            yield f"{row['stream']} is covered beyond the newest message that was heard of"
