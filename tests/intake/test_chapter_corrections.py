"""What follows when a source corrects itself: titles, the latest chapter, and how far somebody has read."""

from __future__ import annotations

from uuid import UUID

from listing_bench import ListingBench

from headgate.intake.channels.requests import remove_channel
from headgate.outflow.notifications.reading import count_unread, mark_read_up_to


async def mark(listed: ListingBench, series_id: UUID | None, number: str, *, user_id: UUID) -> None:
    """Let a user have read up to a chapter."""
    (chapter,) = [one for one in await listed.chapters(series_id) if one.number == number]
    now = listed.bench.clock.now()
    await listed.bench.do(lambda tx: mark_read_up_to(tx, chapter.id, user_id=user_id, now=now))


async def read_up_to(listed: ListingBench, series_id: UUID | None, *, user_id: UUID) -> str | None:
    """Return the number of the last chapter that a user has read."""
    assert series_id is not None
    found = await listed.bench.rows(
        "select chapter_id, place from reading where user_id = $1 and series_id = $2", user_id, series_id
    )
    for row in found:
        (chapter,) = [one for one in await listed.chapters(series_id) if one.id == row["chapter_id"]]
        assert chapter.place == row["place"]
        return chapter.number
    return None


async def unread(listed: ListingBench, series_id: UUID | None, *, user_id: UUID) -> int:
    assert series_id is not None
    return (await listed.bench.do(lambda tx: count_unread(tx, [series_id], user_id=user_id)))[series_id]


async def titles(listed: ListingBench, series_id: UUID | None) -> list[str]:
    return [chapter.title for chapter in await listed.chapters(series_id)]


async def test_the_latest_chapter_follows_a_corrected_number(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.publish("dex", "45")
    listed.publish("dex", "460", key="typo")
    await listed.check(dex)
    assert (await listed.series(dex.series_id)).latest_chapter == "460"
    listed.publish("dex", "46", key="typo")
    await listed.check(dex)
    assert await listed.numbers(dex.series_id) == ["45", "46"]
    assert (await listed.series(dex.series_id)).latest_chapter == "46"


async def test_the_latest_chapter_is_one_that_a_source_still_lists(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.publish("dex", "45", "460")
    await listed.check(dex)
    listed.withdraw("dex", "dex-460")
    listed.publish("dex", "46")
    with listed.answers(complete=True):
        await listed.check(dex)
    assert (await listed.series(dex.series_id)).latest_chapter == "46"
    # It is back: what exists now counts.
    listed.publish("dex", "460")
    await listed.check(dex)
    assert (await listed.series(dex.series_id)).latest_chapter == "460"


async def test_a_mark_follows_its_chapter_and_hides_nothing_that_came_later(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.publish("dex", "45")
    listed.publish("dex", "460", key="typo")
    await listed.check(dex)
    ada = await listed.follow(dex.series_id)
    await mark(listed, dex.series_id, "460", user_id=ada)
    await listed.pass_time(hours=1)
    listed.publish("dex", "47")
    await listed.check(dex)
    assert await unread(listed, dex.series_id, user_id=ada) == 0
    listed.publish("dex", "46", key="typo")
    await listed.check(dex)
    assert await read_up_to(listed, dex.series_id, user_id=ada) == "46"
    assert await unread(listed, dex.series_id, user_id=ada) == 1


async def test_a_mark_keeps_what_was_there_when_it_was_made(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.publish("dex", "45", "47", "48")
    listed.publish("dex", "460", key="typo")
    await listed.check(dex)
    ada = await listed.follow(dex.series_id)
    await mark(listed, dex.series_id, "460", user_id=ada)
    listed.publish("dex", "46", key="typo")
    await listed.check(dex)
    assert await read_up_to(listed, dex.series_id, user_id=ada) == "48"


async def test_a_mark_beyond_all_that_is_listed_goes_back(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.publish("dex", "45", "460")
    await listed.check(dex)
    ada = await listed.follow(dex.series_id)
    await mark(listed, dex.series_id, "460", user_id=ada)
    await listed.pass_time(hours=1)
    listed.withdraw("dex", "dex-460")
    listed.publish("dex", "46")
    with listed.answers(complete=True):
        await listed.check(dex)
    assert await read_up_to(listed, dex.series_id, user_id=ada) == "45"
    assert await unread(listed, dex.series_id, user_id=ada) == 1


async def test_a_mark_stays_when_old_chapters_are_taken_down(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.publish("dex", "1", "2", "3", "4")
    await listed.check(dex)
    ada = await listed.follow(dex.series_id)
    await mark(listed, dex.series_id, "3", user_id=ada)
    for number in "123":
        listed.withdraw("dex", f"dex-{number}")
    with listed.answers(complete=True):
        await listed.check(dex)
    assert await read_up_to(listed, dex.series_id, user_id=ada) == "3"
    assert await unread(listed, dex.series_id, user_id=ada) == 1


async def test_a_source_may_always_correct_its_own_title(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    listed.publish("dex", "45", title="Chapter 45: The Fool")
    await listed.check(dex)
    listed.publish("dex", "45", title="Chapter 45: The Flood", volume="6")
    await listed.check(dex)
    (chapter,) = await listed.chapters(dex.series_id)
    assert (chapter.title, chapter.volume) == ("The Flood", "6")
    listed.publish("dex", "45", title="Chapter 45", volume="7")
    await listed.check(dex)
    (chapter,) = await listed.chapters(dex.series_id)
    assert (chapter.title, chapter.volume) == ("", "7")


async def test_another_source_only_fills_what_is_missing(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    park = await listed.add("park", series_id=dex.series_id)
    listed.publish("dex", "45", title="Chapter 45: The Flood")
    listed.publish("dex", "46", title="Chapter 46")
    await listed.check(dex)
    listed.publish("park", "45", title="Chapter 45: Inundation", volume="6")
    listed.publish("park", "46", title="Chapter 46: Low Water")
    await listed.check(park)
    assert await titles(listed, dex.series_id) == ["The Flood", "Low Water"]
    assert [chapter.volume for chapter in await listed.chapters(dex.series_id)] == ["6", ""]
    # What it filled it may correct; the first source's word it may not touch.
    listed.publish("park", "45", title="Chapter 45: Deluge")
    listed.publish("park", "46", title="Chapter 46: Lock and Weir")
    await listed.check(park)
    assert await titles(listed, dex.series_id) == ["The Flood", "Lock and Weir"]


async def test_a_release_that_moves_brings_no_better_right_to_the_title(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    park = await listed.add("park", series_id=dex.series_id)
    listed.publish("park", "45", key="typo", title="Chapter 45: Deluge")
    await listed.check(park)
    await listed.pass_time(hours=1)
    listed.publish("dex", "46", title="Chapter 46: The Flood")
    await listed.check(dex)
    await listed.pass_time(hours=1)
    listed.publish("park", "46", key="typo", title="Chapter 46: Deluge")
    await listed.check(park)
    assert await titles(listed, dex.series_id) == ["The Flood"]


async def test_the_latest_chapter_follows_a_source_that_is_removed(listed: ListingBench) -> None:
    dex = await listed.add("dex")
    park = await listed.add("park", series_id=dex.series_id)
    listed.publish("dex", "45")
    listed.publish("park", "46")
    await listed.check(dex, park)
    now = listed.bench.clock.now()
    await listed.bench.do(lambda tx: remove_channel(tx, park.channel_id, now=now))
    assert (await listed.series(dex.series_id)).latest_chapter == "45"
