"""Sites that tell all their news at once: one call for all listings, and the listings as a safety net."""

from __future__ import annotations

import pytest
from listing_bench import ListingBench

from headgate.domain.listings.listings import Listed, Swept
from headgate.testing.platform.errors import SimTimeout
from headgate.testing.platform.link import SimulatedLink

LISTINGS = 60


async def settle(swept: ListingBench, count: int = LISTINGS) -> list[str]:
    """Follow listings, and look at each once."""
    keys = [f"series-{n}" for n in range(count)]
    for key in keys:
        await swept.add(key)
        swept.publish(key, "1")
    await swept.work()
    await swept.pass_time(minutes=6)
    await swept.work()
    return keys


async def test_one_call_tells_what_is_new_in_all_listings(swept: ListingBench) -> None:
    keys = await settle(swept)
    lists, sweeps = swept.calls(), swept.calls("sweep")
    assert lists == LISTINGS
    for key in keys[:20]:
        swept.publish(key, "2", "3")
    await swept.pass_time(minutes=6)
    await swept.work()
    assert (swept.calls(), swept.calls("sweep")) == (lists, sweeps + 1)
    numbers = await swept.texts("all_numbers")
    assert numbers.count("2") == numbers.count("3") == 20


async def test_a_sweep_that_goes_on_is_told_to_its_end(swept: ListingBench) -> None:
    keys = await settle(swept, 3)
    before = swept.calls("sweep")
    for n in range(2, 160):
        swept.publish(keys[n % 3], str(n))
        swept.bench.clock.advance(1)
    await swept.pass_time(minutes=6)
    await swept.work()
    assert swept.calls("sweep") == before + 2
    assert len(await swept.texts("all_numbers")) == 3 + 158


async def test_how_far_a_sweep_is_moves_only_together_with_its_news(swept: ListingBench) -> None:
    keys = await settle(swept, 2)
    for number, key in enumerate(keys, 2):
        swept.publish(key, str(number))
        await swept.pass_time(seconds=10)
    # Nothing can be written of what the site told.
    await swept.bench.rows("alter table chapter rename column seen_at to seen_away")
    await swept.pass_time(minutes=6)
    before = swept.calls("sweep")
    await swept.work()
    assert swept.calls("sweep") == before + 1
    await swept.bench.rows("alter table chapter rename column seen_away to seen_at")
    assert await swept.texts("all_numbers") == ["1", "1"]
    for _ in range(3):
        await swept.pass_time(minutes=1)
        await swept.work()
    assert sorted(await swept.texts("all_numbers")) == ["1", "1", "2", "3"]
    assert swept.calls() == 2, "the listings were looked at by themselves"


async def test_a_sweep_without_news_writes_only_how_far_it_is(swept: ListingBench) -> None:
    await settle(swept, 5)
    mark = await swept.mark()
    await swept.pass_time(minutes=6)
    await swept.work()
    assert await swept.written_since(mark) == {"host": 1}


async def test_what_came_during_an_outage_is_told_after_it(swept: ListingBench) -> None:
    keys = await settle(swept, 5)
    swept.bench.fail("sweep.began", SimTimeout("sweep"))
    for n in range(2, 62):
        await swept.pass_time(minutes=1)
        swept.publish(keys[n % 5], str(n))
        await swept.work()
    swept.bench.mend()
    for _ in range(60):
        await swept.pass_time(minutes=1)
        await swept.work()
    assert len(await swept.texts("all_numbers")) == 5 + 60


async def test_a_gap_has_every_listing_looked_at(
    swept: ListingBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await settle(swept, 5)
    plain = SimulatedLink.sweep

    async def forgetful(link: SimulatedLink, site: str, cursor: dict[str, str]) -> Swept:
        told = await plain(link, site, cursor)
        return Swept({}, told.cursor, gap=True)

    monkeypatch.setattr(SimulatedLink, "sweep", forgetful)
    swept.publish("series-3", "2")
    await swept.pass_time(minutes=6)
    await swept.step()
    monkeypatch.undo()
    before = swept.calls()
    for _ in range(14):
        await swept.pass_time(minutes=30)
        await swept.work()
    assert swept.calls() == before + 5
    assert (await swept.texts("all_numbers")).count("2") == 1


async def test_a_listing_is_looked_at_now_and_then_all_the_same(swept: ListingBench) -> None:
    await settle(swept, 5)
    before = swept.calls()
    for _ in range(12):
        await swept.pass_time(days=1)
        await swept.work()
    assert before + 5 <= swept.calls() <= before + 15


async def test_what_came_between_the_first_look_and_the_first_sweep_is_not_lost(swept: ListingBench) -> None:
    dex = await swept.add("dex")
    swept.bench.fail("sweep.began", SimTimeout("sweep"))
    await swept.work()
    swept.publish("dex", "2")
    swept.bench.mend()
    for _ in range(20):
        await swept.pass_time(minutes=1)
        await swept.work()
    assert await swept.numbers(dex.series_id) == ["2"]


async def test_a_poll_does_not_mark_as_removed_what_a_sweep_told_meanwhile(
    swept: ListingBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    dex = await swept.add("dex")
    swept.publish("dex", "1")
    await swept.work()
    await swept.pass_time(minutes=6)
    await swept.work()
    await swept.follow(dex.series_id)
    await swept.pass_time(minutes=1)

    def tell_whole(link: SimulatedLink, listing: str, cursor: dict[str, str]) -> Listed:
        return Listed(
            tuple(swept.bench.world.listings[listing].newest(swept.bench.clock.now())), {}, complete=True
        )

    monkeypatch.setattr(SimulatedLink, "_list", tell_whole)

    async def sweep_meanwhile() -> None:
        # Published after the poll's answer was made, and swept before that answer is stored.
        swept.publish("dex", "2")
        swept.bench.clock.advance(360)
        assert await swept.step()

    await swept.ask(dex)
    swept.bench.at_next("list.after_effect", sweep_meanwhile)
    await swept.work()
    assert await swept.numbers(dex.series_id) == ["1", "2"]
    assert [release.removed_at for release in await swept.releases(dex.series_id)] == [None, None]
    await swept.bench.work()
    assert await swept.texts("notified") == ["2"]
