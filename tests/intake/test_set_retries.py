"""Trying again for a set finds a volume that the platform has now, although its place counts as read."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from bench import DEFAULT_PROFILE, Bench, build_bench

from headgate.intake.channels.requests import NEAR_MESSAGES, NEAR_MESSAGES_ALONE, retry_set
from headgate.storage.database import Database
from headgate.testing import PRESETS, file_of
from headgate.testing.content.content import SimFile
from headgate.testing.platform.streams.rows import Row

HIDDEN_MS = 10**15
PAGE = DEFAULT_PROFILE.page_size


def volume(number: int) -> SimFile:
    return file_of(f"pack.part{number}.rar", f"volume {number}".encode().ljust(100, b"."))


def post(bench: Bench, number: int) -> Row:
    return bench.world.row("packs", bench.world.post("packs", files=[volume(number)]).key)


async def missing(bench: Bench) -> list[str]:
    (row,) = await bench.rows(
        "select s.missing from item_set s join item i on i.id = s.item_id where i.title = 'pack'"
    )
    return row["missing"]


async def retry(bench: Bench) -> None:
    (row,) = await bench.rows("select id from item where title = 'pack'")
    await bench.do(lambda tx: retry_set(tx, row["id"], ids=bench.parts.ids, now=bench.clock.now()))
    await bench.catch_up()


async def follow_with_a_hidden_volume(bench: Bench, *, around: int) -> Row:
    """Read a set whose middle volume no page shows, among other messages; returns that volume's message."""
    bench.world.fill("packs", around)
    post(bench, 1)
    row = post(bench, 2)
    visible_ms, row.visible_ms = row.visible_ms, HIDDEN_MS
    post(bench, 3)
    bench.clock.advance(49 * 3600)
    bench.world.fill("packs", around)
    await bench.follow()
    await bench.catch_up()
    assert await missing(bench) == ["pack.part2.rar"]
    row.visible_ms = visible_ms
    return row


async def test_a_volume_that_appeared_in_what_was_read_is_found(bench: Bench) -> None:
    await follow_with_a_hidden_volume(bench, around=5)
    await bench.ask()
    await bench.catch_up()
    assert await missing(bench) == ["pack.part2.rar"]
    await retry(bench)
    assert await missing(bench) == []
    assert (await bench.explain()).holes == []


async def test_only_messages_near_the_set_are_read_again(bench: Bench) -> None:
    await follow_with_a_hidden_volume(bench, around=20 * NEAR_MESSAGES)
    before = bench.calls("read")
    scanned = (await bench.stream()).total_messages_scanned
    await retry(bench)
    assert await missing(bench) == []
    # Twice what is near, since messages take different numbers of positions.
    assert bench.calls("read") - before <= 2 * (2 * NEAR_MESSAGES // PAGE + 1)
    assert (await bench.stream()).total_messages_scanned == scanned


async def test_a_kill_after_the_wish_loses_nothing(bench: Bench) -> None:
    await follow_with_a_hidden_volume(bench, around=5)
    (row,) = await bench.rows("select id from item where title = 'pack'")
    await bench.do(lambda tx: retry_set(tx, row["id"], ids=bench.parts.ids, now=bench.clock.now()))
    await bench.restart()
    await bench.catch_up()
    assert await missing(bench) == []


@pytest.fixture
async def allotting(database: Database, database_url: str) -> AsyncIterator[Bench]:
    """A platform without usable numbers, where a page cannot be asked for by its place."""
    bench = build_bench(database, database_url, PRESETS["matrix_like"])
    yield bench
    await bench.close()


async def test_known_messages_are_asked_for_one_by_one_where_pages_have_no_place(allotting: Bench) -> None:
    bench = allotting
    first, last = (bench.world.post("packs", files=[volume(number)]) for number in (1, 3))
    other = bench.world.post("packs", files=[file_of("notes.pdf", b"notes")])
    bench.clock.advance(49 * 3600)
    bench.world.fill("packs", 500)
    await bench.follow()
    await bench.catch_up()
    assert await missing(bench) == ["pack.part2.rar"]
    reads, ranges = bench.calls("read"), (await bench.stream()).ranges
    await retry(bench)
    asked = {call.place for call in bench.world.log.calls("message")}
    assert {f"packs/{message.key}" for message in (first, last, other)} <= asked
    assert len(asked) <= 2 * 2 * NEAR_MESSAGES_ALONE
    assert bench.calls("read") == reads
    assert (await bench.stream()).ranges == ranges
