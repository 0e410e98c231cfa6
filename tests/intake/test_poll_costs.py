"""What polls cost: how many statements each needs, and which entries of a changed feed are processed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from listing_bench import ListingBench
from psycopg import AsyncCursor

from headgate.jobs.job import Settlement
from headgate.storage.catalogue.sightings import Q as SIGHTINGS

FEEDS = 8
MAX_FIRST = 13
"""Statements of a first poll with posts, its share of what polls ask and write together included."""
MAX_UNCHANGED = 2


class Sent:
    """The statements that were sent, with their parameters."""

    def __init__(self) -> None:
        self.statements: list[tuple[str, Any]] = []
        self.of_runners: set[int] = set()
        """Connections of runners: what these claim and remove costs a worker less."""

    def stored_posts(self) -> list[str]:
        """Return the keys of posts that were handed to the database."""
        sql = SIGHTINGS["upsert_sightings"].sql
        return sorted(key for text, given in self.statements if text == sql for key in given["message_key"])


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sent]:
    sent = Sent()
    execute = AsyncCursor[Any].execute

    async def note(cursor: AsyncCursor[Any], query: Any, params: Any = None, **options: Any) -> Any:
        if id(cursor.connection) not in sent.of_runners:
            sent.statements.append((str(query), params))
        return await execute(cursor, query, params, **options)

    monkeypatch.setattr(AsyncCursor, "execute", note)
    yield sent


async def poll_all(listed: ListingBench, sent: Sent) -> float:
    """Poll all due feeds at once, and return how many statements each took."""
    claimed = await listed.claim_beside(FEEDS)
    assert len(claimed) == FEEDS
    sent.statements.clear()
    sent.of_runners = set(map(id, listed.connections))
    await listed.execute_beside(claimed)
    return len(sent.statements) / FEEDS


async def test_first_and_unchanged_polls_need_few_statements(listed: ListingBench, sent: Sent) -> None:
    for number in range(FEEDS):
        await listed.add(f"blog-{number}", host=f"host-{number}.example", is_series=False)
        listed.publish(f"blog-{number}", "1", "2", "3")
    assert await poll_all(listed, sent) <= MAX_FIRST
    await listed.pass_time(days=2)
    assert await poll_all(listed, sent) <= MAX_UNCHANGED


async def test_polls_that_end_together_end_alone_if_one_cannot(listed: ListingBench) -> None:
    for number in range(3):
        await listed.add(f"blog-{number}", host=f"host-{number}.example", is_series=False)
        listed.publish(f"blog-{number}", str(number))
    claimed = await listed.claim_beside(3)
    lost = claimed[0][1]
    await listed.execute("lose_job", job_id=lost.id)
    ended = await asyncio.gather(*(runner.execute(job) for runner, job in claimed))
    assert [settlement for _, settlement in ended] == [Settlement.LEAVE, Settlement.SWEEP, Settlement.SWEEP]
    assert len(await listed.texts("posts")) == 2


async def test_what_the_database_refuses_of_one_poll_holds_up_no_other(listed: ListingBench) -> None:
    for number, title in enumerate(("one", "refused", "three")):
        await listed.add(f"blog-{number}", host=f"host-{number}.example", is_series=False)
        listed.publish(f"blog-{number}", "", key="post", title=title)
    await listed.execute("refuse_titles")
    assert await listed.step_beside(3) == 3
    assert await listed.texts("posts") == ["one", "three"]
    assert [job.partition(":")[0] for job in await listed.texts("jobs")] == ["ingest"]


async def test_what_polls_say_together_goes_to_the_listing_that_said_it(
    listed: ListingBench,
) -> None:
    blogs = [
        await listed.add(f"blog-{number}", host=f"host-{number}.example", is_series=False)
        for number in range(3)
    ]
    listed.publish("blog-0", "1", "2")
    listed.publish("blog-2", "1")
    assert await listed.step_beside(3) == 3
    states = [await listed.state(blog) for blog in blogs]
    assert [state.changed_at is not None for state in states] == [True, False, True]
    assert all(state.succeeded_at for state in states)


async def test_of_a_changed_feed_only_new_and_changed_posts_are_processed(
    listed: ListingBench, sent: Sent
) -> None:
    blog = await listed.add("blog", is_series=False)
    listed.publish("blog", "1", "2", "3", "4")
    await listed.check(blog)
    sent.statements.clear()
    listed.publish("blog", "2", title="Another title")
    listed.publish("blog", "5")
    await listed.check(blog)
    assert sent.stored_posts() == ["blog-2", "blog-5"]
    assert len(await listed.texts("posts")) == 5


async def test_posts_that_a_series_wants_now_are_sorted_anew(listed: ListingBench) -> None:
    blog = await listed.add("blog", is_series=False)
    listed.publish("blog", "", key="one", title="Salt Road 1")
    await listed.check(blog)
    assert await listed.texts("all_numbers") == []
    added = await listed.add("blog", title="Salt Road", pattern="Salt Road {number}")
    await listed.check(added)
    assert await listed.texts("all_numbers") == ["1"]
