"""Edits that nobody heard of are found by reading recent messages again, in few calls and without loss."""

from __future__ import annotations

from datetime import timedelta

import pytest
from bench import Bench, ProcessGone

from headgate.domain.streams.messages import Message
from headgate.storage.streams.listeners import note_listening
from headgate.storage.streams.rereads import ask_rereads
from headgate.testing import file_of
from headgate.testing.platform.errors import SimTimeout

DAY_S = 90_000.0
"""Longer than the time between two rereads of a stream that nobody listens to."""
GAP_S = 1200.0
"""Longer than a listener may be away without heads being asked for."""
KILL_POINTS = ("read.before_effect", "read.after_effect")


async def sign(bench: Bench) -> None:
    account = await bench.account()
    await bench.do(lambda tx: note_listening(tx, account.id, listening=True, now=bench.clock.now()))


async def heard(bench: Bench, count: int = 30, *, hours: float = 20.0) -> list[Message]:
    """Follow a stream of texts until its listener hears everything."""
    bench.world.fill("packs", count, hours=hours, shape="text")
    await bench.follow()
    await bench.catch_up()
    async with bench.listening():
        await bench.work()
    await sign(bench)
    return list(bench.world.messages("packs"))


def add_file(bench: Bench, message: Message, name: str = "late") -> None:
    bench.world.edit(
        "packs", message.key, text="now with a file", files=[file_of(f"{name}.zip", name.encode())]
    )


async def listen_again(bench: Bench) -> None:
    async with bench.listening():
        await bench.work()
        await sign(bench)


async def test_a_file_added_by_an_edit_while_nobody_listened_is_found_after_the_gap(bench: Bench) -> None:
    messages = await heard(bench, hours=100)
    before = (await bench.stream()).ranges
    add_file(bench, messages[-5])
    await bench.pass_time(GAP_S)
    reads = bench.calls("read")
    await listen_again(bench)
    assert await bench.column("titles", key="packs") == ["late"]
    assert bench.calls("read") == reads + 1
    assert (await bench.stream()).ranges == before


async def test_a_stream_without_a_listener_is_read_again_once_a_day(bench: Bench) -> None:
    bench.world.fill("packs", 30, hours=20, shape="text")
    await bench.follow()
    await bench.catch_up()
    for day, caught in enumerate((["late-0"], ["late-0", "late-1"])):
        recent = bench.world.post("packs", text="the file comes later")
        await bench.rest(3600)
        before = await bench.column("titles", key="packs")
        add_file(bench, recent, f"late-{day}")
        await bench.rest(3600)
        assert await bench.column("titles", key="packs") == before
        await bench.rest(DAY_S)
        assert await bench.column("titles", key="packs") == caught


async def test_streams_in_which_nothing_is_recent_are_not_read_again(bench: Bench) -> None:
    for number in range(20):
        bench.world.add_stream(f"quiet-{number}")
        bench.world.fill(f"quiet-{number}", 3, hours=400, shape="archive")
    await bench.follow()
    await bench.catch_up()
    await bench.pass_time(3 * DAY_S)
    await bench.work()
    reads = bench.calls("read")
    for _ in range(3):
        await bench.rest(DAY_S)
    assert bench.calls("read") == reads


async def test_no_more_is_read_again_than_the_window_holds(bench: Bench) -> None:
    await heard(bench, 2000, hours=1000)
    await bench.pass_time(GAP_S)
    reads = bench.calls("read")
    await listen_again(bench)
    # Two messages an hour: a page holds the window of two days.
    assert bench.calls("read") - reads <= 2


async def test_several_pages_are_read_again_where_much_is_recent(bench: Bench) -> None:
    messages = await heard(bench, 450, hours=40)
    add_file(bench, messages[5], "first")
    add_file(bench, messages[-5], "last")
    await bench.pass_time(GAP_S)
    reads = bench.calls("read")
    await listen_again(bench)
    assert await bench.column("titles", key="packs") == ["first", "last"]
    assert bench.calls("read") - reads <= 6


async def test_what_has_not_changed_is_not_written_again(bench: Bench) -> None:
    bench.world.fill("packs", 30, hours=20, shape="archive")
    await bench.follow()
    await bench.catch_up()
    before = await versions(bench)
    await bench.rest(DAY_S)
    assert await versions(bench) == before


async def versions(bench: Bench) -> list[str]:
    rows = await bench.rows("select id || ' ' || xmin as version from sighting order by id")
    items = await bench.rows("select id || ' ' || xmin as version from item order by id")
    return [row["version"] for row in rows + items]


async def test_short_gaps_are_gathered_into_one_reading(bench: Bench) -> None:
    messages = await heard(bench)
    add_file(bench, messages[10])
    reads = bench.calls("read")
    for _ in range(10):
        await bench.pass_time(60)
        await listen_again(bench)
    assert bench.calls("read") == reads
    await bench.pass_time(DAY_S)
    await bench.work()
    assert await bench.column("titles", key="packs") == ["late"]


async def test_while_a_listener_hears_everything_nothing_is_read_again(bench: Bench) -> None:
    await heard(bench)
    await bench.pass_time(GAP_S)
    await listen_again(bench)
    reads = bench.calls("read")
    for _ in range(4):
        await bench.pass_time(DAY_S / 2)
        await sign(bench)
        await bench.work()
    assert bench.calls("read") == reads


async def test_a_process_that_dies_while_reading_again_loses_nothing(bench: Bench) -> None:
    messages = await heard(bench, 250, hours=40)
    add_file(bench, messages[5], "first")
    add_file(bench, messages[-5], "last")
    await bench.pass_time(GAP_S)
    async with bench.listening():
        pass
    for point in KILL_POINTS * 2:
        bench.fail_next(point, ProcessGone())
        try:
            await bench.work()
        except ProcessGone:
            await bench.restart()
    bench.mend()
    await bench.work()
    assert await bench.column("titles", key="packs") == ["first", "last"]


@pytest.mark.parametrize("page", [1, 2], ids=["on the way", "on the last page"])
async def test_a_gap_during_a_reading_begins_it_anew(bench: Bench, page: int) -> None:
    messages = await heard(bench)
    await bench.pass_time(GAP_S)
    async with bench.listening():
        pass
    reads = bench.calls("read")

    async def edit_unheard() -> None:
        if bench.calls("read") < reads + page:
            bench.at_next("read.after_effect", edit_unheard)
            return
        add_file(bench, messages[10])
        account, now = await bench.account(), bench.clock.now()
        await bench.do(
            lambda tx: ask_rereads(
                tx, account.id, window_s=DAY_S, every_s=0, gap_began=now - timedelta(hours=1), now=now
            )
        )

    bench.at_next("read.after_effect", edit_unheard)
    await bench.work()
    assert await bench.column("titles", key="packs") == ["late"]
    # Two pages hold everything; they are read again from the first on.
    assert bench.calls("read") == reads + page + 2


async def test_a_message_that_is_not_there_any_more_was_deleted(bench: Bench) -> None:
    bench.world.fill("packs", 30, hours=20, shape="archive")
    await bench.follow()
    await bench.catch_up()
    gone = bench.world.messages("packs")[10]
    bench.world.delete("packs", gone.key)
    await bench.rest(DAY_S)
    assert set(await bench.column("deleted")) == {gone.key}


async def test_a_page_that_cannot_be_read_again_is_tried_later(bench: Bench) -> None:
    messages = await heard(bench)
    add_file(bench, messages[10])
    await bench.pass_time(GAP_S)
    async with bench.listening():
        pass
    bench.fail_next("read.before_effect", SimTimeout("read"))
    await bench.work()
    assert await bench.column("titles", key="packs") == []
    await bench.rest(600)
    assert await bench.column("titles", key="packs") == ["late"]


async def test_edits_are_found_through_every_lens(lensed: Bench) -> None:
    messages = await heard(lensed)
    add_file(lensed, messages[10])
    await lensed.pass_time(GAP_S)
    await listen_again(lensed)
    assert await lensed.column("titles", key="packs") == ["late"]
