"""Known defects of programs that group and label what channels post, each as a test."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from label_bench import LabelBench, message


async def test_an_album_that_is_read_in_two_scans_has_one_caption(library: LabelBench) -> None:
    await library.accept(message(2, album="7"))
    await library.work()
    assert await library.tags(2) == ()
    await library.accept(message(1, "Creator: Tidewater\n#otters", album="7"))
    await library.work()
    assert (await library.creator(2), await library.tags(2)) == ("Tidewater", ("otters",))
    await library.accept(message(1, "#seals", album="7", edited=5))
    await library.work()
    assert (await library.creator(2), await library.tags(2)) == ("", ("seals",))


async def test_a_rescan_does_not_undo_what_a_person_removed(library: LabelBench) -> None:
    await library.accept(message(1, "Creator: Tidewater\n#otters"))
    await library.work()
    await library.say(1, creator="", remove=("otters",))
    for edited in (5, 10):
        await library.accept(message(1, f"Creator: Tidewater\n#otters {edited}", edited=edited))
        await library.work()
    assert (await library.creator(1), await library.tags(1)) == ("", ())


async def test_messages_of_one_key_in_two_channels_are_two(library: LabelBench) -> None:
    other = await library.add_channel("others")
    await library.accept(message(1, "#otters", album="7"))
    await library.accept(message(1, "#seals", album="7"), message(2, album="7"), channel_id=other)
    await library.work()
    assert await library.tags(1) == ("otters",)
    assert (await library.labels_of(2, other)).tag_names == ("seals",)


async def test_one_tag_that_two_jobs_make_at_once_is_one(library: LabelBench) -> None:
    other = await library.add_channel("others")
    await library.accept(message(1, "#otters"))
    await library.accept(message(1, "#Otters"), channel_id=other)
    first, second = await library.claim(), await library.claim()
    await asyncio.gather(library.execute(first), library.execute(second))
    await library.work()
    assert await library.tags(1) == (await library.labels_of(1, other)).tag_names == ("otters",)


async def test_the_first_message_names_the_creator_also_when_it_is_read_last(library: LabelBench) -> None:
    posted = [
        message(1, "Creator: Tidewater", album="7"),
        message(2, album="7"),
        message(3, "Creator: Somebody", album="7"),
    ]
    for each in reversed(posted):
        await library.accept(each)
        await library.work()
    assert {await library.creator(number) for number in (1, 2)} == {"Tidewater"}


async def test_a_tag_of_several_items_is_added_to_and_removed_from_each(library: LabelBench) -> None:
    await library.accept(message(1, "#otters"), message(2))
    await library.work()
    await library.say(1, 2, add=("resin",))
    assert [await library.tags(number) for number in (1, 2)] == [("otters", "resin"), ("resin",)]
    await library.say(1, 2, remove=("resin", "otters"))
    assert [await library.tags(number) for number in (1, 2)] == [(), ()]


async def test_a_favourite_that_is_posted_daily_is_labelled_by_its_first_posts(library: LabelBench) -> None:
    first = message(1, "#otters")
    again = [
        replace(message(number, f"#day{number}"), attachments=first.attachments) for number in range(2, 40)
    ]
    await library.accept(*reversed(again), first)
    await library.work()
    assert await library.tags(1) == tuple(sorted(["otters", *(f"day{number}" for number in range(2, 21))]))
