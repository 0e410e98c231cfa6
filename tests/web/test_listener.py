"""The shared LISTEN connection."""

from __future__ import annotations

import asyncio

import pytest

from headgate.kernel.clock import RealClock
from headgate.storage import events
from headgate.storage.database import Database
from headgate.storage.events import CHANNEL, Event
from headgate.storage.listen import Listener
from headgate.storage.queries import QueryFile

PATIENCE_S = 20

Q = QueryFile(
    "cut",
    """
-- name: cut_listeners
select count(pg_terminate_backend(pid)) from pg_stat_activity
where application_name = 'headgate listen' and datname = current_database()
""",
)


async def test_after_a_lost_connection_subscribers_look_for_themselves(database: Database) -> None:
    heard: asyncio.Queue[str | None] = asyncio.Queue()
    listener = Listener(database.url, RealClock())
    listener.subscribe(CHANNEL, heard.put_nowait)
    listener.start()
    async with asyncio.timeout(PATIENCE_S):
        assert await heard.get() is None
        async with database.transaction() as tx:
            assert await tx.value(Q["cut_listeners"]) == 1
        assert await heard.get() is None
        async with database.transaction() as tx:
            await events.publish(tx, Event("items"))
        assert await heard.get() == Event("items").dump()
    await listener.stop()


async def test_a_failing_subscriber_does_not_silence_the_others(database: Database) -> None:
    heard: asyncio.Queue[str | None] = asyncio.Queue()

    def fail(_payload: str | None) -> None:
        raise ValueError

    listener = Listener(database.url, RealClock())
    listener.subscribe(CHANNEL, fail)
    listener.subscribe(CHANNEL, heard.put_nowait)
    listener.start()
    async with asyncio.timeout(PATIENCE_S):
        assert await heard.get() is None
    await listener.stop()


async def test_subscribing_too_late_is_a_mistake(database: Database) -> None:
    listener = Listener(database.url, RealClock())
    listener.start()
    with pytest.raises(RuntimeError):
        listener.subscribe(CHANNEL, lambda _: None)
    await listener.stop()


def test_an_event_survives_its_way() -> None:
    assert Event.parse(Event("items").dump()) == Event("items")
