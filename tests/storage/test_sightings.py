"""Sightings: stored once, and the count of messages that hold something kept follows them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from headgate.storage.catalogue.sightings import NewMessage, NewSighting, upsert_sightings
from headgate.storage.database import Database
from headgate.storage.queries import QueryFile

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CHANNEL = UUID(int=1)

Q = QueryFile(
    "sighting tests",
    """
-- name: add_channel
insert into channel (id, platform, key, kind, title, created_at)
values (%(id)s, 'simulated', 'packs', 'stream', 'Packs', %(now)s)

-- name: add_stream
insert into stream (channel_id) values (%(id)s)

-- name: message_count
select message_count from stream
""",
)


@pytest.fixture
async def channel(database: Database) -> Database:
    async with database.transaction() as tx:
        await tx.execute(Q["add_channel"], id=CHANNEL, now=NOW)
        await tx.execute(Q["add_stream"], id=CHANNEL)
    return database


def sighting(message: str, attachment: str = "a0", *, verdict: str = "kept") -> NewSighting:
    return NewSighting(
        id=uuid4(),
        message_key=message,
        attachment_key=attachment,
        position=int(message),
        topic="",
        url="",
        file_name=f"{attachment}.zip",
        size_bytes=1,
        mime_type="application/zip",
        content_id="",
        sent_at=NOW,
        version_at=NOW,
        verdict=verdict,
        settings_hash="",
    )


def message(key: str) -> NewMessage:
    return NewMessage(
        key=key,
        position=int(key),
        topic="",
        album="",
        author_key="",
        author="someone",
        from_bot=False,
        from_webhook=False,
        text="",
        reply_to="",
        sent_at=NOW,
        version_at=NOW,
    )


def later(seen: NewSighting, **changes: str) -> NewSighting:
    return seen._replace(version_at=seen.version_at + timedelta(seconds=1), **changes)


async def see(database: Database, *seen: NewSighting) -> tuple[int, int]:
    """Return how many were new and kept, and how many messages hold something kept afterwards."""
    async with database.transaction() as tx:
        new_kept = await upsert_sightings(
            tx,
            CHANNEL,
            seen,
            messages=[message(key) for key in {each.message_key for each in seen}],
            item_ids=[None] * len(seen),
            now=NOW,
            seen_at=NOW,
        )
        return new_kept, await tx.value(Q["message_count"])


async def test_a_message_counts_once_however_much_it_holds(channel: Database) -> None:
    assert await see(channel, sighting("1", "a0"), sighting("1", "a1"), sighting("2")) == (3, 2)
    assert await see(channel, sighting("1", "a2")) == (1, 2)


async def test_what_is_seen_again_is_neither_new_nor_counted(channel: Database) -> None:
    assert await see(channel, sighting("1")) == (1, 1)
    assert await see(channel, sighting("1"), sighting("2", verdict="too_large")) == (0, 1)


@pytest.mark.parametrize(
    ("turned", "count"),
    [
        (("a0",), 1),
        (("a0", "a1"), 0),
    ],
)
async def test_a_message_counts_until_nothing_of_it_is_kept(
    channel: Database, turned: Sequence[str], count: int
) -> None:
    both = {key: sighting("1", key) for key in ("a0", "a1")}
    await see(channel, *both.values())
    assert await see(channel, *(later(both[key], verdict="extension") for key in turned)) == (0, count)


async def test_what_becomes_kept_is_counted_but_is_not_new(channel: Database) -> None:
    rejected = sighting("1", verdict="extension")
    assert await see(channel, rejected) == (0, 0)
    assert await see(channel, later(rejected, verdict="kept")) == (0, 1)


async def test_an_older_form_changes_no_count(channel: Database) -> None:
    newer = later(sighting("1"))
    await see(channel, newer)
    assert await see(channel, sighting("1", verdict="extension")) == (0, 1)
