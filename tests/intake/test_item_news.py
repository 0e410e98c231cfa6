"""Items that are caught are news for those who follow their channel, or search for what they are called."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from missing import STREAM, Missing

from headgate.outflow.notifications.follows import follow
from headgate.outflow.notifications.notify import Notifier
from headgate.storage.notifications.follows import Subject
from headgate.testing import file_of


@pytest.fixture
async def user(missing: Missing) -> UUID:
    missing.kinds.add(Notifier(missing.clock).kind())
    user_id = missing.ids.new()
    await run(
        missing,
        "insert into app_user (id, name, password_hash, role, created_at)"
        " values ($1, 'ada', '', 'member', $2)",
        user_id,
        missing.clock.now(),
    )
    return user_id


async def run(missing: Missing, sql: str, *arguments: Any) -> list[dict[str, Any]]:
    async with missing.database.transaction() as tx:
        return await tx.raw(sql, arguments)


async def wish(missing: Missing, user: UUID, subject: Subject) -> None:
    async with missing.database.transaction() as tx:
        await follow(tx, subject, user_id=user, ids=missing.ids, now=missing.clock.now())


async def catch(missing: Missing, *names: str) -> None:
    missing.clock.advance(1)
    await missing.accept(
        *(missing.world.post(STREAM, files=[file_of(f"{name}.7z", name.encode())]) for name in names)
    )
    await missing.work()


async def told(missing: Missing) -> list[tuple[str, str]]:
    rows = await run(missing, "select title, body from notification order by at, id")
    return [(row["title"], row["body"]) for row in rows]


async def test_items_of_a_followed_channel_are_told_once(missing: Missing, user: UUID) -> None:
    await wish(missing, user, Subject(channel_id=missing.channel_id))
    await catch(missing, "castle", "dragon")
    await catch(missing, "castle")
    assert await told(missing) == [(STREAM, "castle"), (STREAM, "dragon")]
    assert await run(missing, "select count(*) as left from news") == [{"left": 0}]
    (subject, *_) = await run(missing, "select subject, item_id from notification where body = 'castle'")
    assert subject["subject"] == f"item:{subject['item_id']}"


async def test_a_search_finds_items_by_their_words(missing: Missing, user: UUID) -> None:
    await wish(missing, user, Subject(search="red drag"))
    await catch(missing, "the_red_dragon", "red_castle", "dragonred")
    assert await told(missing) == [(STREAM, "the red dragon")]


async def test_what_was_sent_before_the_follow_is_not_news(missing: Missing, user: UUID) -> None:
    old = missing.world.post(STREAM, files=[file_of("old.7z", b"old")])
    missing.clock.advance(60)
    await wish(missing, user, Subject(channel_id=missing.channel_id))
    await missing.accept(old)
    await missing.work()
    assert await told(missing) == []
    assert await missing.column("titles") == ["old"]


async def test_nothing_is_written_where_nobody_follows(missing: Missing, user: UUID) -> None:
    await catch(missing, "castle")
    other = missing.ids.new()
    await run(
        missing,
        "insert into channel (id, platform, key, kind, title, created_at)"
        " values ($1, 'simulated', 'other', 'stream', 'other', $2)",
        other,
        missing.clock.now(),
    )
    await wish(missing, user, Subject(channel_id=other))
    await catch(missing, "dragon")
    jobs = await run(missing, "select count(*) as jobs from pgqueuer_log where entrypoint = 'notify'")
    assert (jobs, await told(missing)) == ([{"jobs": 0}], [])
    assert await run(missing, "select last_value, is_called from news_id_seq") == [
        {"last_value": 1, "is_called": False}
    ]
