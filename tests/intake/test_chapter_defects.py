"""Mistakes of the first design of chapter ingestion, each of which must not come back."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest
from bench import ProcessGone, build_bench
from listing_bench import ListingBench

from headgate.connectors.protocol import CallKind, LaneDefault
from headgate.intake.listings.sources import SourceAdded
from headgate.jobs.letters import replay
from headgate.storage.database import Database
from headgate.testing import PRESETS
from headgate.testing.platform.errors import SimTimeout

PACED: dict[CallKind, LaneDefault] = {"list": LaneDefault(per_minute=6, burst=5)}


async def test_the_insert_itself_says_what_is_new_and_the_news_come_with_it(listed: ListingBench) -> None:
    """1: newness was guessed from the clock, and the notification was queued elsewhere."""
    dex = await listed.add("dex")
    await listed.check(dex)
    await listed.follow(dex.series_id)
    await listed.pass_time(minutes=1)
    listed.publish("dex", "45")
    await listed.ask(dex)
    listed.bench.fail_next("list.after_effect", ProcessGone())
    with pytest.raises(ProcessGone):
        await listed.step()
    assert await listed.texts("news") == []
    await listed.restart()
    mark = await listed.mark()
    await listed.work()
    written = await listed.written_since(mark)
    assert (written["chapter"], written["release"], written["news"]) == (1, 1, 1)
    assert f"notify:{dex.channel_id}" in await listed.texts("jobs")


@pytest.mark.parametrize("asked", [True, False])
async def test_a_look_that_gave_up_does_not_block_the_next_one(listed: ListingBench, *, asked: bool) -> None:
    """2: a kept failed job blocked its own id for seven days."""
    dex = await listed.add("dex")
    listed.publish("dex", "45")
    await listed.execute("spoil_pattern", pattern="{nonsense}")
    await listed.let_retries_come()
    await listed.execute("spoil_pattern", pattern="")
    kept = "select key from dead_letter where state = 'open'"
    assert await listed.bench.rows(kept) == [{"key": str(dex.channel_id)}]
    # Nobody closes the letter: a person's wish does not wait for that, and neither does the schedule.
    if asked:
        await listed.ask(dex)
    else:
        await listed.pass_time(minutes=31)
    await listed.work()
    assert await listed.numbers(dex.series_id) == ["45"]


async def test_the_latest_chapter_never_goes_back(listed: ListingBench) -> None:
    """3: it was set even when lower, and a backfill made everything just released."""
    dex = await listed.add("dex")
    listed.publish("dex", "100")
    await listed.check(dex)
    newest = listed.bench.clock.now()
    await listed.pass_time(hours=1)
    listed.publish("dex", "7", published_at=newest - timedelta(days=300))
    await listed.check(dex)
    seen = await listed.series(dex.series_id)
    assert (seen.latest_chapter, seen.latest_published_at) == ("100", newest)
    assert [chapter.published_at for chapter in await listed.chapters(dex.series_id)] == [
        newest - timedelta(days=300),
        newest,
    ]


async def test_one_key_decides_which_chapter_it_is_and_where_it_stands(listed: ListingBench) -> None:
    """4: 45 was not 45.0, 45.1 was 45.10, the order was that of letters, and one-shots were all one."""
    dex = await listed.add("dex")
    park = await listed.add("park", series_id=dex.series_id)
    listed.publish("dex", "9", "10", "45", "45.1", "45.9", "45.10", "100")
    listed.publish("park", "009", "10.0", "045", "45,1", "45.10", "100.00")
    for source in ("dex", "park"):
        for key in ("a", "b"):
            listed.publish(source, "", key=key, title="A one-shot")
    await listed.check(dex, park)
    numbered = ["9", "10", "45", "45.1", "45.9", "45.10", "100"]
    assert await listed.numbers(dex.series_id) == [*numbered, "", "", "", ""]
    assert (await listed.series(dex.series_id)).latest_chapter == "100"
    sources = {number: set[str]() for number in numbered}
    for chapter, release in zip(
        await listed.chapters(dex.series_id), await listed.releases_by_chapter(dex.series_id), strict=True
    ):
        if chapter.number:
            sources[chapter.number] |= {one.channel_title for one in release}
    assert sources == {number: {"dex", "park"} for number in numbered} | {"45.9": {"dex"}}


async def test_languages_and_groups_are_releases_and_volumes_may_be_part_of_the_key(
    listed: ListingBench,
) -> None:
    """5: the key ignored language, group and volume."""
    dex = await listed.add("dex")
    listed.publish("dex", "1", key="en", language="en", volume="1")
    listed.publish("dex", "1", key="de", language="de", volume="1")
    listed.publish("dex", "1", key="other", language="en", group="Late Ferry")
    await listed.check(dex)
    assert await listed.numbers(dex.series_id) == ["1"]
    assert sorted((r.language, r.scan_group) for r in await listed.releases(dex.series_id)) == [
        ("de", "Tidewater"),
        ("en", "Late Ferry"),
        ("en", "Tidewater"),
    ]


async def test_each_source_is_news_of_its_own_and_a_chapter_is_there_once(listed: ListingBench) -> None:
    """6: separate events were judged by the shared chapter. Who is told what is the notifications' part."""
    dex = await listed.add("dex")
    park = await listed.add("park", series_id=dex.series_id)
    await listed.check(dex, park)
    await listed.follow(dex.series_id)
    await listed.pass_time(minutes=1)
    listed.publish("dex", "45")
    listed.publish("park", "45")
    await listed.check(dex, park)
    assert sorted(await listed.texts("news")) == ["45 dex-45", "45 park-45"]
    assert await listed.numbers(dex.series_id) == ["45"]


async def test_the_breaker_closes_again_counts_once_a_look_and_leaves_the_tier_alone(
    listed: ListingBench,
) -> None:
    """7: it never closed, each retry counted, and the first error meant a day in the cold."""
    dex = await listed.add("dex")
    listed.publish("dex", "45")
    await listed.check(dex)
    tier = (await listed.state(dex)).tier
    listed.bench.fail("list.began", SimTimeout("list"))
    for failures in range(1, 6):
        await listed.pass_time(hours=5)
        await listed.let_retries_come()
        assert (await listed.state(dex)).failures == failures
    state, host = await listed.state(dex), await listed.host()
    assert (state.tier, host.failures) == (tier, 5)
    assert state.open_until is not None
    assert host.open_until is not None
    calls = listed.calls()
    await listed.work()
    assert listed.calls() == calls
    listed.bench.mend()
    await listed.pass_time(minutes=6)
    await listed.work()
    state, host = await listed.state(dex), await listed.host()
    assert (state.failures, state.open_until, state.tier) == (0, None, tier)
    assert (host.failures, host.open_until) == (0, None)


async def test_two_sources_that_race_both_keep_their_link(listed: ListingBench) -> None:
    """8: a unique violation was final, and the loser's link was dropped."""
    dex = await listed.add("dex")
    await listed.add("park", series_id=dex.series_id)
    listed.publish("dex", *map(str, range(1, 40)))
    listed.publish("park", *map(str, range(20, 60)))
    assert await listed.step_beside(2) == 2
    assert len(await listed.numbers(dex.series_id)) == 59
    assert len(await listed.releases(dex.series_id)) == 39 + 40


async def test_two_schedulers_enqueue_a_look_once(listed: ListingBench) -> None:
    """9: ids held a timestamp and no row was claimed."""
    dex = await listed.add("dex")
    first, second = listed.bench.parts.tick(), listed.bench.parts.tick()
    now = listed.bench.clock.now()
    await asyncio.gather(first.tick(now), second.tick(now))
    assert await listed.texts("jobs") == [f"poll:{dex.channel_id}"]


async def test_each_host_is_paced_by_itself_whatever_the_number_of_its_listings(
    database: Database, database_url: str
) -> None:
    """10: there was no limit per host."""
    listed = ListingBench(build_bench(database, database_url, PRESETS["plain"], lanes=PACED))
    keys = [f"{host}-{n}" for host in ("near", "far") for n in range(12)]
    for key in keys:
        await listed.add(key, host=f"{key.partition('-')[0]}.example")
    began_s = listed.bench.clock.monotonic()
    for _ in range(20):
        await listed.pass_time(seconds=30)
        await listed.flow(listed.work())
    calls = list(listed.bench.world.log.calls("list"))
    assert {call.place for call in calls} == set(keys)
    for host in ("near", "far"):
        at_s = [call.began_s - began_s for call in calls if call.place.startswith(host)]
        # A burst of five, then a call each ten seconds.
        assert all(number <= 5 + seconds / 10 for number, seconds in enumerate(at_s)), (host, at_s)
    owners = await listed.bench.rows(
        "select owner from lane where kind = 'list' and starts_with(owner, 'host:') order by owner"
    )
    assert [row["owner"] for row in owners] == ["host:simulated/far.example", "host:simulated/near.example"]
    await listed.close()


async def test_following_a_long_series_is_no_news(listed: ListingBench) -> None:
    """11: following 500 chapters sent 500 notifications."""
    dex = await listed.add("dex")
    listed.publish("dex", *map(str, range(1, 501)))
    await listed.pass_time(minutes=1)
    await listed.follow(dex.series_id)
    await listed.check(dex)
    assert len(await listed.numbers(dex.series_id)) == 500
    assert await listed.texts("news") == []


async def test_titles_links_and_removals_follow_the_source(listed: ListingBench) -> None:
    """12: only new chapters were looked at, so nothing else was ever updated."""
    dex = await listed.add("dex")
    listed.publish("dex", "45", title="Chapter 45: The Fool", volume="5")
    listed.publish("dex", "46", "47")
    await listed.check(dex)
    listed.publish("dex", "45", title="Chapter 45: The Flood", url="https://example.org/new", volume="6")
    listed.withdraw("dex", "dex-46")
    mark = await listed.mark()
    with listed.answers(complete=True):
        await listed.check(dex)
    first, second, third = await listed.releases(dex.series_id)
    assert (first.title, first.url) == ("Chapter 45: The Flood", "https://example.org/new")
    assert [one.removed_at is not None for one in (first, second, third)] == [False, True, False]
    chapter = (await listed.chapters(dex.series_id))[0]
    assert (chapter.title, chapter.volume) == ("The Flood", "6")
    written = await listed.written_since(mark)
    assert (written["chapter"], written["release"]) == (1, 2)
    listed.publish("dex", "46")
    with listed.answers(complete=True):
        await listed.check(dex)
        assert [one.removed_at for one in await listed.releases(dex.series_id)] == [None] * 3
        # Unchanged, only when it was looked at is written.
        mark = await listed.mark()
        await listed.pass_time(hours=5)
        await listed.work()
    assert await listed.written_since(mark) == {"listing": 1}


async def test_giving_up_is_written_with_the_last_attempt_and_can_be_replayed(listed: ListingBench) -> None:
    """13: the dead letter was written by an event in the process, and lost with it."""
    dex = await listed.add("dex")
    listed.publish("dex", "45")
    await listed.execute("spoil_pattern", pattern="{nonsense}")
    for _ in range(2):
        await listed.work()
        await listed.pass_time(seconds=60)
    # The process dies while it writes the letter: the job must not be over without it.
    await listed.bench.rows("alter table dead_letter rename column stack to stack_away")
    with pytest.raises(Exception, match="stack"):
        await listed.step()
    await listed.bench.rows("alter table dead_letter rename column stack_away to stack")
    assert await listed.texts("jobs") == [f"poll:{dex.channel_id}"]
    await listed.restart()
    await listed.let_retries_come()
    (letter,) = await listed.bench.rows("select id, kind, attempts from dead_letter where state = 'open'")
    assert (letter["kind"], letter["attempts"]) == ("poll", 3)
    # It is put off, not parked: the letter holds it until then.
    due_at = (await listed.state(dex)).due_at
    assert due_at is not None
    assert due_at > listed.bench.clock.now()
    assert await listed.texts("jobs") == []
    await listed.execute("spoil_pattern", pattern="")
    now = listed.bench.clock.now()
    await listed.bench.do(lambda tx: replay(tx, listed.bench.parts.kinds, letter["id"], now=now))
    await listed.work()
    assert await listed.numbers(dex.series_id) == ["45"]


async def test_a_batch_is_one_set_in_one_order_with_all_effects(listed: ListingBench) -> None:
    """14: the batch variant looped, told nobody, and could deadlock."""
    dex = await listed.add("dex")
    park = await listed.add("park", series_id=dex.series_id)
    await listed.check(dex, park)
    await listed.follow(dex.series_id)
    await listed.pass_time(minutes=1)
    numbers = [str(n) for n in range(1, 200)]
    listed.publish("dex", *numbers)
    listed.publish("park", *reversed(numbers))
    await listed.ask(dex, park)
    assert await listed.step_beside(2) == 2
    assert len(await listed.numbers(dex.series_id)) == 199
    assert len(await listed.texts("news")) == 2 * 199


async def test_sources_that_list_the_same_series_in_another_order_do_not_deadlock(
    listed: ListingBench,
) -> None:
    """14: entries were taken one by one, in the order in which each source lists them."""
    sources: dict[str, SourceAdded] = {}
    series_ids: dict[str, UUID | None] = {}
    for site, titles in (("dex", ("Salt", "Reef")), ("park", ("Reef", "Salt"))):
        for place, title in enumerate(titles):
            sources[site] = await listed.add(
                site, title=title, series_id=series_ids.get(title), pattern=f"{title} {{number}}"
            )
            series_ids[title] = sources[site].series_id
            at = listed.bench.clock.now() - timedelta(minutes=len(titles) - place)
            listed.publish(site, "", key=f"{site}-{title}", title=f"{title} 7", published_at=at)
    claimed = {job.payload: (runner, job) for runner, job in await listed.claim_beside(2)}
    async with listed.bench.database.transaction() as tx:
        await tx.raw("select from series where id = $1 for no key update", (series_ids["Salt"],))
        polls: list[asyncio.Task[int]] = []
        # The first waits for Salt, the second too: in its own order it would have Reef by then.
        for site in ("dex", "park"):
            poll = claimed[str(sources[site].channel_id).encode()]
            polls.append(asyncio.create_task(listed.execute_beside([poll])))
            while len(await listed.texts("waiting_for_a_lock")) < len(polls):
                assert not polls[-1].done()
    assert await asyncio.gather(*polls) == [1, 1]
    for title in ("Salt", "Reef"):
        assert len(await listed.releases(series_ids[title])) == 2
