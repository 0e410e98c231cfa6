"""Streams of a platform without usable numbers: messages are known by key, and placed as they arrive."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from bench import Bench, build_bench

from headgate.domain.streams.messages import UNPLACED, LiveEvent, Message
from headgate.intake.streams.live import left_over, marks_before
from headgate.storage.channels.account_memory import list_memory
from headgate.storage.database import Database
from headgate.testing import PRESETS, file_of
from headgate.testing.platform.streams.reading import make_bookmark

PAGE = 5


@pytest.fixture
async def bench(database: Database, database_url: str) -> AsyncIterator[Bench]:
    bench = build_bench(
        database, database_url, PRESETS["matrix_like"].but(page_size=PAGE, late_order_chance=0.0)
    )
    yield bench
    await bench.close()


def post(bench: Bench, name: str) -> Message:
    return bench.world.post("packs", files=[file_of(f"{name}.zip", name.encode())])


def told(bench: Bench, message: Message) -> LiveEvent:
    """Return a message as a listener hears it, with the way back to what came before."""
    bookmark = make_bookmark(bench.world, bench.world.stream("packs"), message.position)
    unplaced = replace(message, position=UNPLACED)
    return LiveEvent("message", "packs", unplaced, key=message.key, bookmark=bookmark)


async def hear(bench: Bench, *messages: Message) -> None:
    """Hear messages in a connection of their own."""
    live = await bench.live()
    for message in messages:
        live.take(told(bench, message))
    await live.flush()


async def hear_first(bench: Bench) -> None:
    """Follow a channel with a message."""
    post(bench, "first")
    await bench.follow()
    await bench.work()


async def titles(bench: Bench) -> list[str]:
    return await bench.column("titles", key="packs")


async def places(bench: Bench) -> dict[str, int]:
    rows = await bench.rows("select key, position from placed_message order by position")
    return {row["key"]: row["position"] for row in rows}


async def is_complete(bench: Bench) -> bool:
    return (await bench.explain()).progress.complete


async def test_the_history_is_read_back_to_its_beginning(bench: Bench) -> None:
    posted = [post(bench, f"{n:02}") for n in range(2 * PAGE + 2)]
    await bench.follow()
    await bench.work()
    assert await titles(bench) == [f"{n:02}" for n in range(2 * PAGE + 2)]
    assert list(await places(bench)) == [message.key for message in posted]
    assert (await bench.stream()).total_messages_scanned == len(posted)
    assert await is_complete(bench)


async def test_what_is_heard_is_covered_and_costs_no_reading(bench: Bench) -> None:
    post(bench, "old")
    await bench.follow()
    await bench.work()
    live, reads = await bench.live(), bench.calls("read")
    for number, name in enumerate(["one", "two", "three"]):
        live.take(told(bench, post(bench, name)))
        await live.flush()
        if number == 0:
            await bench.rest(5)
    await bench.work()
    assert await titles(bench) == ["old", "one", "three", "two"]
    assert await is_complete(bench)
    # One look back before the first message of the connection: something might have been missed.
    assert bench.calls("read") == reads + 1


async def test_what_was_missed_before_a_connection_is_found(bench: Bench) -> None:
    post(bench, "old")
    await bench.follow()
    await bench.work()
    post(bench, "missed")
    await hear(bench, post(bench, "heard"))
    assert await titles(bench) == ["heard", "old"]
    assert not await is_complete(bench)
    await bench.rest(5)
    assert await titles(bench) == ["heard", "missed", "old"]
    assert await is_complete(bench)


async def test_a_gap_within_a_connection_is_read_back(bench: Bench) -> None:
    await hear_first(bench)
    live = await bench.live()
    live.take(told(bench, post(bench, "before")))
    missed = [post(bench, f"missed {n}") for n in range(2 * PAGE)]
    after = told(bench, post(bench, "after"))
    live.take(LiveEvent("gap", "packs", bookmark=after.bookmark))
    live.take(after)
    await live.flush()
    await bench.rest(5)
    assert set(await titles(bench)) >= {f"missed {n}" for n in range(len(missed))}
    assert await is_complete(bench)


async def test_a_gap_that_nothing_follows_is_read_back(bench: Bench) -> None:
    await hear_first(bench)
    live = await bench.live()
    missed = post(bench, "missed")
    end = make_bookmark(bench.world, bench.world.stream("packs"), missed.position + 1)
    live.take(LiveEvent("gap", "packs", bookmark=end))
    await live.flush()
    await bench.rest(5)
    assert "missed" in await titles(bench)
    assert await is_complete(bench)


async def test_what_was_heard_while_the_channel_was_off_is_found_later(bench: Bench) -> None:
    await hear_first(bench)
    live = await bench.live()
    live.take(told(bench, post(bench, "before")))
    await live.flush()
    await bench.switch(on=False)
    live.take(told(bench, post(bench, "while off")))
    await live.flush()
    await bench.switch(on=True)
    live.take(told(bench, post(bench, "after")))
    await live.flush()
    await bench.rest(5)
    assert set(await titles(bench)) >= {"before", "while off", "after"}
    assert await is_complete(bench)


async def test_a_late_message_among_known_ones_is_found(bench: Bench) -> None:
    """It reaches the server after newer ones, and the history shows it before them."""
    await hear_first(bench)
    known = [post(bench, f"known {n}") for n in range(PAGE)]
    post(bench, "late")
    posted = bench.world.stream("packs").posted
    row = posted.pop()
    row.position = known[1].position + 1
    posted.insert(posted.index(bench.world.row("packs", known[2].key)), row)
    await hear(bench, *known)
    await bench.rest(5)
    assert "late" not in await titles(bench)
    for n in range(PAGE - 2):
        post(bench, f"missed {n}")
    await hear(bench, post(bench, "newest"))
    await bench.rest(5)
    assert {"late", *(f"missed {n}" for n in range(PAGE - 2))} <= set(await titles(bench))


async def test_a_head_check_finds_what_nobody_heard(bench: Bench) -> None:
    await hear_first(bench)
    post(bench, "unheard")
    await bench.rest()
    assert await titles(bench) == ["first", "unheard"]
    assert await is_complete(bench)


async def test_a_head_that_is_told_again_opens_no_second_gap(bench: Bench) -> None:
    await hear_first(bench)
    post(bench, "unheard")
    bench.fail("read.began", ConnectionError("no answer"))
    heads, checks = set[int | None](), bench.calls("heads")
    for _ in range(3):
        await bench.ask()
        await bench.rest(60)
        heads.add((await bench.stream()).head)
    assert bench.calls("heads") >= checks + 3
    assert len(heads) == 1
    bench.mend()
    await bench.rest()
    assert "unheard" in await titles(bench)


async def test_a_late_message_does_not_hide_a_newer_one_that_is_still_to_be_read(bench: Bench) -> None:
    """Two gaps lie side by side, and the bookmark of the upper one leads into older history."""
    known = [post(bench, f"known {n}") for n in range(PAGE + 1)]
    await bench.follow()
    await bench.work()
    unheard = post(bench, "unheard")
    live = await bench.live()
    end = make_bookmark(bench.world, bench.world.stream("packs"), unheard.position + 1)
    live.take(LiveEvent("gap", "packs", bookmark=end))
    await live.flush()
    late = post(bench, "late")
    posted = bench.world.stream("packs").posted
    row = posted.pop()
    row.position = known[-1].position - 1
    posted.insert(posted.index(bench.world.row("packs", known[-1].key)), row)
    await hear(bench, replace(late, key=str(row.position), position=row.position))
    await bench.rest(5)
    assert {"unheard", "late"} <= set(await titles(bench))
    assert await is_complete(bench)


async def test_reading_everything_again_keeps_every_place(bench: Bench) -> None:
    for n in range(2 * PAGE + 1):
        post(bench, f"{n:02}")
    await bench.follow()
    await bench.work()
    await hear(bench, post(bench, "live"))
    await bench.rest(5)
    before, counted = await places(bench), (await bench.stream()).total_messages_scanned
    await bench.change("reset")
    await bench.ask()
    await bench.work()
    assert await places(bench) == before
    assert (await bench.stream()).total_messages_scanned == counted
    assert await is_complete(bench)


async def test_an_edit_changes_a_message_in_its_place(bench: Bench) -> None:
    message = post(bench, "before")
    await bench.follow()
    await bench.work()
    before = await places(bench)
    bench.world.edit("packs", message.key, files=[file_of("after.zip", b"new")])
    live = await bench.live()
    live.take(LiveEvent("edit", "packs", key=message.key))
    await live.flush()
    await bench.work()
    assert "after" in await titles(bench)
    assert await places(bench) == before


async def test_a_mark_is_stored_with_what_came_before_it(bench: Bench) -> None:
    await hear_first(bench)
    live = await bench.live()
    live.take(told(bench, post(bench, "one")))
    live.take(LiveEvent("mark", memory={"sync": "1", "gone": "x"}))
    live.take(LiveEvent("mark", memory={"sync": "2", "gone": ""}))
    await live.flush()
    account = await bench.account()
    assert await bench.do(lambda tx: list_memory(tx, account.id)) == {"sync": "2"}
    assert "one" in await titles(bench)


def test_a_mark_waits_for_events_that_could_not_be_stored() -> None:
    well, ill = LiveEvent("message", "well", key="1"), LiveEvent("message", "ill", key="2")
    first, second = LiveEvent("mark", memory={"sync": "1"}), LiveEvent("mark", memory={"sync": "2"})
    events = [well, first, ill, well, second]
    left = left_over(events, {"ill"})
    assert left == [ill, second]
    assert marks_before(events, left) == {"sync": "1"}
    assert marks_before(left, []) == {"sync": "2"}
