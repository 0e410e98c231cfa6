"""Downloads: whole, once, and resumed after whatever ended them."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from bench import DEFAULT_PROFILE, ProcessGone
from fetch_bench import FetchBench, content_of, named, open_fetch_bench

from headgate.storage.database import Database
from headgate.testing.platform.errors import SimDisconnected, SimFlood, SimNotFound


@pytest.fixture
async def fetching(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[FetchBench]:
    async with open_fetch_bench(database, database_url, tmp_path) as bench:
        yield bench


def _downloads(bench: FetchBench) -> int:
    return bench.calls("download")


async def test_what_is_kept_is_stored_as_it_was_posted(fetching: FetchBench) -> None:
    files = [named("a.zip"), named("big.zip", 3_000_000), named("small.txt", 10)]
    await fetching.hear(fetching.world.post("packs", files=files))
    await fetching.work()
    assert await fetching.states() == ["a.zip stored", "big.zip stored", "small.txt stored"]
    assert await fetching.read_stored() == {content_of(file) for file in files}
    assert fetching.spools() == []
    await fetching.rest(200)
    assert await fetching.ask_column("lines") == [0]
    assert await fetching.ask_column("reserved") == [0]
    assert await fetching.ask_column("noted") == [3]
    assert _downloads(fetching) == 3


async def test_known_content_is_linked_without_a_download(fetching: FetchBench) -> None:
    fetching.world.add_stream("other")
    await fetching.follow()
    await fetching.hear(fetching.world.post("packs", files=[named("a.zip")]))
    await fetching.work()
    again = named("a.zip")
    await fetching.hear(fetching.world.post("other", files=[again]), stream="other")
    await fetching.work()
    assert await fetching.states() == ["a.zip stored", "a.zip stored"]
    assert _downloads(fetching) == 1


async def test_equal_content_without_a_name_is_stored_once(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    profile = DEFAULT_PROFILE.but(names_content=False)
    async with open_fetch_bench(database, database_url, tmp_path, profile) as fetching:
        for _ in range(2):
            await fetching.hear(fetching.world.post("packs", files=[named("a.zip")]))
        await fetching.work()
        assert await fetching.states() == ["a.zip stored", "a.zip stored"]
        assert len(await fetching.ask_column("blob_ids")) == 1
        assert len(list((tmp_path / "blobs").glob("*/*"))) == 1


async def test_a_download_goes_on_where_a_crash_ended_it(fetching: FetchBench) -> None:
    big = named("big.zip", 3_000_000)
    fetching.parts.files.spools.sync_every_bytes = 100_000
    await fetching.hear(fetching.world.post("packs", files=[big]))
    chunks = 0

    async def crash(point: str) -> None:
        nonlocal chunks
        chunks += point == "download.chunk"
        if chunks == 120:
            raise ProcessGone

    fetching.world.on_point = crash
    with pytest.raises(ProcessGone):
        await fetching.work()
    await fetching.die()
    spooled = sum(
        path.stat().st_size
        for path in (fetching.data_dir or Path()).glob("spool/*")
        if "state" not in path.name
    )
    assert spooled > 0
    await fetching.work()
    assert await fetching.states() == ["big.zip stored"]
    assert await fetching.read_stored() == {content_of(big)}
    assert fetching.spools() == []


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    "point", ["download.began", "download.before_effect", "download.after_effect", "download.chunk"]
)
async def test_a_crash_anywhere_loses_and_doubles_nothing(fetching: FetchBench, point: str) -> None:
    files = [named("a.zip"), named("b.zip"), named("big.zip", 2_000_000)]
    await fetching.hear(fetching.world.post("packs", files=files))
    fetching.fail_next(point, ProcessGone())
    with pytest.raises(ProcessGone):
        await fetching.work()
    await fetching.die()
    await fetching.work()
    assert await fetching.states() == ["a.zip stored", "b.zip stored", "big.zip stored"]
    assert await fetching.read_stored() == {content_of(file) for file in files}
    assert fetching.spools() == []


async def test_a_transient_error_is_retried_later_and_given_up_after_five(fetching: FetchBench) -> None:
    await fetching.hear(fetching.world.post("packs", files=[named("a.zip")]))
    fetching.fail("download.before_effect", SimDisconnected("download"))
    await fetching.work()
    assert await fetching.ask_column("attempts") == ["a.zip 1 0 Transient"]
    assert await fetching.work() == 0
    for _ in range(5):
        await fetching.rest(90_000)
    assert await fetching.states() == ["a.zip failed"]
    assert (await fetching.ask_column("attempts"))[0].startswith("a.zip 5")


async def test_bytes_that_came_forgive_the_failures_before(fetching: FetchBench) -> None:
    """A slow line that breaks now and then must not give a large file up."""
    fetching.parts.files.spools.sync_every_bytes = 50_000
    big = named("big.zip", 2_000_000)
    await fetching.hear(fetching.world.post("packs", files=[big]))
    chunks = 0

    async def cut(point: str) -> None:
        nonlocal chunks
        chunks += point == "download.chunk"
        if point == "download.chunk" and chunks % 15 == 0:
            raise SimDisconnected("download")

    fetching.world.on_point = cut
    for _ in range(15):
        await fetching.rest(120)
    assert await fetching.states() == ["big.zip stored"]
    assert await fetching.read_stored() == {content_of(big)}


async def test_a_rate_limit_costs_no_attempt_and_lets_the_slot_rest(fetching: FetchBench) -> None:
    await fetching.hear(fetching.world.post("packs", files=[named("a.zip"), named("b.zip")]))
    fetching.fail_next("download.before_effect", SimFlood(40.0))
    await fetching.work()
    assert await fetching.ask_column("taken") == [0]
    assert all(" 0 0 " in line for line in await fetching.ask_column("attempts"))
    # What only waits keeps no room from others.
    assert (await fetching.parts.files.room.measure()).promised_bytes == 0
    await fetching.rest(60)
    assert await fetching.states() == ["a.zip stored", "b.zip stored"]


async def test_a_file_is_gone_only_if_its_message_is(fetching: FetchBench) -> None:
    message = fetching.world.post("packs", files=[named("a.zip")])
    await fetching.hear(message)
    fetching.fail_next("download.before_effect", SimNotFound("not for you"))
    await fetching.work()
    assert await fetching.states() == ["a.zip wanted"]
    await fetching.rest(120)
    assert await fetching.states() == ["a.zip stored"]


async def test_a_file_that_seems_gone_waits_when_its_message_cannot_be_read(fetching: FetchBench) -> None:
    """The failure of the second call ended the job, and with it all files that it had taken."""
    await fetching.hear(fetching.world.post("packs", files=[named("a.zip"), named("b.zip")]))

    async def fail_twice() -> None:
        fetching.fail_next("message.before_effect", SimDisconnected("no answer"))
        raise SimNotFound("not for you")

    fetching.at_next("download.before_effect", fail_twice)
    await fetching.work()
    assert await fetching.states() == ["a.zip wanted", "b.zip stored"]
    assert "a.zip 1 0 Transient" in (await fetching.ask_column("attempts"))[0]
    await fetching.rest(120)
    assert await fetching.states() == ["a.zip stored", "b.zip stored"]


async def test_a_file_of_a_deleted_message_is_gone_and_wanted_again_when_it_is_back(
    fetching: FetchBench,
) -> None:
    message = fetching.world.post("packs", files=[named("a.zip")])
    await fetching.hear(message)
    fetching.world.delete("packs", message.key)
    await fetching.work()
    assert await fetching.states() == ["a.zip gone"]
    await fetching.rest(200)
    assert await fetching.ask_column("lines") == [0]


async def test_an_expired_link_is_renewed_by_reading_the_message_again(fetching: FetchBench) -> None:
    await fetching.hear(fetching.world.post("packs", files=[named("a.zip")]))
    fetching.fail("download.before_effect", SimDisconnected("download"))
    # Everything is read by now, so that no scan renews the link in passing.
    await fetching.catch_up()
    assert await fetching.states() == ["a.zip wanted"]
    fetching.mend()
    fetching.world.expire_links("packs")
    await fetching.rest(400)
    assert await fetching.states() == ["a.zip stored"]


async def test_an_exact_size_that_is_wrong_is_never_stored(fetching: FetchBench) -> None:
    row = fetching.world.post("packs", files=[named("a.zip", 1000)])
    await fetching.hear(row)
    await fetching.rows("update sighting set size_bytes = 1001")
    await fetching.rows("update item_file set size_bytes = 1001")
    await fetching.work()
    assert await fetching.states() == ["a.zip wanted"]
    assert await fetching.read_stored() == set()


async def test_a_claimed_size_may_be_wrong(database: Database, database_url: str, tmp_path: Path) -> None:
    profile = DEFAULT_PROFILE.but(exact_sizes=False)
    async with open_fetch_bench(database, database_url, tmp_path, profile) as fetching:
        await fetching.hear(fetching.world.post("packs", files=[named("a.zip", 1000)]))
        await fetching.rows("update item_file set size_bytes = 7")
        await fetching.work()
        assert await fetching.read_stored() == {content_of(named("a.zip", 1000))}


async def test_an_edit_in_the_middle_stores_the_new_file_alone(fetching: FetchBench) -> None:
    old, new = named("old.zip", 2_000_000), named("new.zip", 2_000_000)
    message = fetching.world.post("packs", files=[old])
    await fetching.hear(message)

    async def edit() -> None:
        fetching.clock.advance(1)
        fetching.world.edit("packs", message.key, files=[new])
        await fetching.hear(*fetching.world.messages("packs"))

    fetching.at_next("download.chunk", edit)
    await fetching.work()
    await fetching.rest(300)
    assert await fetching.states() == ["new.zip stored"]
    (line,) = await fetching.ask_column("hashes")
    assert line == f"new.zip {hashlib.sha256(content_of(new)).hexdigest()}"
    assert fetching.spools() == []


async def test_a_file_that_does_not_fit_waits_and_smaller_ones_pass(
    fetching: FetchBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A disk of which a tenth is kept free, and nobody else writes on it.
    disk = SimpleNamespace(total=10**12, used=0, free=10**11 + 10**9)

    def measure(_path: object) -> SimpleNamespace:
        return disk

    monkeypatch.setattr(shutil, "disk_usage", measure)
    big, small = named("big.zip", 3_000_000), named("small.zip", 1_500_000)
    await fetching.hear(fetching.world.post("packs", files=[big]))
    await fetching.hear(fetching.world.post("packs", files=[small]))
    room = fetching.parts.files.room
    left = (await room.measure()).left_bytes
    await room.reserve("elsewhere", left - 2_000_000)
    await fetching.work()
    assert await fetching.states() == ["big.zip wanted", "small.zip stored"]
    assert await fetching.ask_column("waiting") == ["big.zip room 3000000"]
    async with fetching.database.transaction() as tx:
        await room.release(tx, ["elsewhere"])
    await fetching.rest(120)
    assert await fetching.states() == ["big.zip stored", "small.zip stored"]


async def test_a_file_that_is_there_at_each_crash_is_given_up(fetching: FetchBench) -> None:
    await fetching.hear(fetching.world.post("packs", files=[named("a.zip")]))
    for _ in range(5):
        fetching.fail_next("download.began", ProcessGone())
        with pytest.raises(ProcessGone):
            await fetching.work()
        await fetching.die()
    await fetching.work()
    assert await fetching.states() == ["a.zip failed"]
    assert (await fetching.ask_column("attempts"))[0].endswith("Crashed")


async def test_two_workers_that_race_store_everything_once(fetching: FetchBench) -> None:
    files = [named(f"{number}.zip", 20_000) for number in range(120)]
    for start in range(0, 120, 10):
        await fetching.hear(fetching.world.post("packs", files=files[start : start + 10]))
    await fetching.tick()
    stepper = await fetching.stepper()
    jobs = [await stepper.claim(), await stepper.claim()]
    await asyncio.gather(*(stepper.execute(job) for job in jobs if job is not None))
    await fetching.rest(1)
    assert len(await fetching.read_stored()) == 120
    assert _downloads(fetching) == 120


async def test_nothing_is_fetched_from_a_channel_that_is_off(fetching: FetchBench) -> None:
    await fetching.hear(fetching.world.post("packs", files=[named("a.zip")]))
    await fetching.switch(on=False)
    await fetching.work()
    assert _downloads(fetching) == 0
    await fetching.switch(on=True)
    await fetching.rest(900)
    assert await fetching.states() == ["a.zip stored"]


async def test_another_account_goes_on_when_one_cannot(fetching: FetchBench) -> None:
    await fetching.follow("second")
    await fetching.hear(fetching.world.post("packs", files=[named("a.zip")]))
    fetching.world.ban("reader")
    await fetching.work()
    await fetching.rest(300)
    assert await fetching.states() == ["a.zip stored"]


async def test_a_channel_that_an_account_cannot_see_any_more_is_left_to_another(fetching: FetchBench) -> None:
    await fetching.follow("second")
    files = [named(f"{number}.zip") for number in range(4)]
    await fetching.hear(fetching.world.post("packs", files=files))
    fetching.world.kick("reader", "packs")
    # The first file tells; nothing more is asked with this account, and the other one goes on at once.
    await fetching.work()
    assert await fetching.states() == [f"{number}.zip stored" for number in range(4)]
    assert fetching.calls("download") == len(files) + 1
    (watch,) = await fetching.rows(
        "select w.error_class from watch w join account a on a.id = w.account_id"
        " where a.name = 'reader' and w.open_until is not null"
    )
    assert watch["error_class"] == "Gone"


async def test_a_platform_that_does_not_answer_costs_no_account_its_channel(fetching: FetchBench) -> None:
    await fetching.hear(fetching.world.post("packs", files=[named("a.zip")]))

    async def fail(point: str) -> None:
        if point == "download.before_effect":
            raise SimNotFound("not for you")
        if point in ("heads.before_effect", "message.before_effect"):
            raise SimDisconnected(point)

    fetching.world.on_point = fail
    await fetching.work()
    assert await fetching.rows("select 1 from watch where open_until is not null") == []
    fetching.mend()
    await fetching.rest(120)
    assert await fetching.states() == ["a.zip stored"]
