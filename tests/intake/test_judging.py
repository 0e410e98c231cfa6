"""After a change of settings only what was judged otherwise is judged again, in the database alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from judging_bench import START, JudgingBench, Q, open_bench

from headgate.domain.streams.filters import Candidate
from headgate.intake.channels import judging
from headgate.storage.channels import intake_settings
from headgate.storage.channels.judging import show_items_of
from headgate.storage.database import Database

ZIP = Candidate(file_name="a.zip", size_bytes=10)
BIG = Candidate(file_name="b.zip", size_bytes=1000)
TXT = Candidate(file_name="c.txt", size_bytes=10)
LINK = Candidate(url="https://mega.nz/file/1")


@pytest.fixture
async def bench(database: Database, database_url: str) -> AsyncIterator[JudgingBench]:
    bench = await open_bench(database, database_url)
    yield bench
    await bench.connection.close()


async def test_relaxing_a_filter_finds_what_was_rejected_without_any_call(bench: JudgingBench) -> None:
    channel = await bench.add_channel()
    await bench.set(channel, extensions=["zip"], max_size_bytes=100)
    await bench.see(channel, ZIP, BIG, TXT)
    await bench.set(channel, extensions=["zip"])
    await bench.judge()
    assert await bench.column("verdicts", channel_id=channel) == [
        "a.zip kept",
        "b.zip kept",
        "c.txt extension",
    ]
    assert f"ingest:{channel}" in await bench.column("jobs")
    assert await bench.value("message_count", channel_id=channel) == 2
    assert await bench.column("judging_channels") == []


async def test_tightening_a_filter_hides_items_and_relaxing_it_shows_them_again(bench: JudgingBench) -> None:
    channel = await bench.add_channel()
    await bench.see(channel, ZIP, TXT)
    await bench.change("make_items", channel_id=channel, now=START)
    await bench.set(channel, excluded_extensions=["txt"])
    await bench.judge()
    assert await bench.column("shown", channel_id=channel) == ["a.zip"]
    assert await bench.column("hidden", channel_id=channel) == ["c.txt"]
    assert await bench.value("message_count", channel_id=channel) == 1
    await bench.set(channel)
    await bench.judge()
    assert await bench.column("shown", channel_id=channel) == ["a.zip", "c.txt"]
    assert await bench.value("message_count", channel_id=channel) == 2
    assert f"ingest:{channel}" not in await bench.column("jobs")


async def test_an_item_stays_shown_while_one_of_its_sightings_is_kept(bench: JudgingBench) -> None:
    channel = await bench.add_channel()
    await bench.see(channel, Candidate(file_name="same.zip", author="ada"), message="1")
    await bench.see(channel, Candidate(file_name="same.zip", author="ben"), message="2")
    await bench.change("make_items", channel_id=channel, now=START)
    await bench.set(channel, excluded_authors=["ben"])
    await bench.judge()
    assert await bench.column("shown", channel_id=channel) == ["same.zip"]
    await bench.set(channel, excluded_authors=["ben", "ada"])
    await bench.judge()
    assert await bench.column("hidden", channel_id=channel) == ["same.zip"]


async def test_a_message_counts_once_however_many_of_its_files_are_kept(bench: JudgingBench) -> None:
    channel = await bench.add_channel()
    await bench.see(channel, ZIP, TXT, BIG, message="1")
    assert await bench.value("message_count", channel_id=channel) == 1
    for extensions, count in (["zip"], 1), (["rar"], 0), ([], 1):
        await bench.set(channel, extensions=extensions)
        await bench.judge()
        assert await bench.value("message_count", channel_id=channel) == count


async def test_only_sightings_whose_hash_differs_are_written(bench: JudgingBench) -> None:
    channel = await bench.add_channel()
    await bench.change("add_topic", channel_id=channel, key="t1", now=START)
    await bench.see(channel, ZIP)
    await bench.see(channel, TXT, topic="t1")
    last = await bench.value("newest_writer")
    await bench.set(channel, often_s=120)
    await bench.judge()
    assert await bench.value("written", channel_id=channel, after=last) == 0
    await bench.set(channel, topic="t1", extensions=["zip"])
    await bench.judge()
    assert await bench.value("written", channel_id=channel, after=last) == 1
    assert await bench.column("verdicts", channel_id=channel) == ["a.zip kept", "c.txt extension"]


async def test_a_disabled_topic_is_kept_as_rejected_and_comes_back(bench: JudgingBench) -> None:
    channel = await bench.add_channel()
    await bench.change("add_topic", channel_id=channel, key="t1", now=START)
    await bench.see(channel, ZIP)
    await bench.see(channel, BIG, topic="t1")
    await bench.change("make_items", channel_id=channel, now=START)
    for enabled, expected in ((False, ["a.zip"]), (True, ["a.zip", "b.zip"])):
        async with bench.database.transaction() as tx:
            assert await intake_settings.switch_topic(tx, channel, "t1", enabled=enabled, now=START)
        await bench.judge()
        assert await bench.column("shown", channel_id=channel) == expected
    assert len(set(await bench.column("hashes", channel_id=channel))) == 2


async def test_a_new_lens_makes_the_stream_due_and_a_narrower_one_does_not(bench: JudgingBench) -> None:
    channel = await bench.add_channel()
    due_at = await bench.value("due_at", channel_id=channel)
    await bench.set(channel, extensions=["zip"], fetch="none")
    await bench.judge()
    assert await bench.column("lenses", channel_id=channel) == ["documents"]
    assert await bench.value("due_at", channel_id=channel) == due_at
    await bench.set(channel, link_patterns=["mega.nz/*"])
    await bench.judge()
    assert await bench.column("lenses", channel_id=channel) == ["everything"]
    assert await bench.value("due_at", channel_id=channel) == START


async def test_links_that_were_seen_are_judged_like_files(bench: JudgingBench) -> None:
    channel = await bench.add_channel()
    await bench.see(channel, LINK)
    assert await bench.column("verdicts", channel_id=channel) == [" link_pattern"]
    await bench.set(channel, link_patterns=["mega.nz/*"])
    await bench.judge()
    assert await bench.column("verdicts", channel_id=channel) == [" kept"]


async def test_a_large_channel_is_judged_in_batches_with_progress_and_goes_on_after_a_crash(
    bench: JudgingBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "BATCH", 10)
    channel = await bench.add_channel()
    await bench.see(channel, *(Candidate(file_name=f"{n}.{'zip' if n % 2 else 'txt'}") for n in range(35)))
    await bench.set(channel, extensions=["zip"])
    await bench.tick()
    assert await bench.step()
    assert await bench.step()
    judged, changed = str(await bench.value("judging", channel_id=channel)).split("/")
    assert (judged, 0 < int(changed) < 20) == ("20", True)
    # The worker dies, and the queue forgets its job: the row alone knows that work is left.
    assert await bench.stepper.claim() is not None
    await bench.change("lose_jobs")
    assert await bench.judge() == 2
    assert await bench.column("judging_channels") == []
    assert len(await bench.column("hashes", channel_id=channel)) == 1
    assert await bench.value("message_count", channel_id=channel) == 17


async def test_settings_that_change_again_meanwhile_are_followed(
    bench: JudgingBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "BATCH", 10)
    channel = await bench.add_channel()
    await bench.see(channel, *(Candidate(file_name=f"{n}.zip") for n in range(25)))
    await bench.set(channel, extensions=["rar"])
    await bench.tick()
    assert await bench.step()
    await bench.set(channel, extensions=["zip"])
    assert await bench.value("judging", channel_id=channel) == "0/0"
    await bench.judge()
    verdicts = await bench.column("verdicts", channel_id=channel)
    assert [verdict.endswith("kept") for verdict in verdicts] == [True] * 25
    assert await bench.value("message_count", channel_id=channel) == 25


async def test_accepting_under_old_settings_leaves_nothing_behind(bench: JudgingBench) -> None:
    channel = await bench.add_channel()
    accepted, changed = asyncio.Event(), asyncio.Event()

    async def change() -> None:
        await accepted.wait()
        await bench.set(channel, extensions=["rar"])
        changed.set()

    changing = asyncio.create_task(change())
    async with bench.database.transaction() as tx:
        await bench.accept(tx, channel, [ZIP])
        accepted.set()
        await bench.until_somebody_waits()
        assert not changed.is_set()
    await changing
    await bench.judge()
    assert await bench.column("verdicts", channel_id=channel) == ["a.zip extension"]


async def test_accepting_while_settings_change_waits_and_judges_by_the_new_ones(bench: JudgingBench) -> None:
    channel = await bench.add_channel()
    await bench.see(channel, ZIP)
    begun = asyncio.Event()

    async def accept() -> None:
        await begun.wait()
        await bench.see(channel, TXT)

    accepting = asyncio.create_task(accept())
    async with bench.database.transaction() as tx:
        await intake_settings.set_channel(tx, channel, {"extensions": ["zip"]}, now=START)
        begun.set()
        await bench.until_somebody_waits()
        assert not accepting.done()
    await accepting
    assert await bench.column("verdicts", channel_id=channel) == ["a.zip kept", "c.txt extension"]


async def test_an_item_that_is_made_while_its_sighting_is_rejected_is_hidden(bench: JudgingBench) -> None:
    channel = await bench.add_channel()
    await bench.see(channel, ZIP)
    await bench.set(channel, extensions=["rar"])
    async with bench.database.transaction() as ingesting:
        await ingesting.column(Q["take"], channel_id=channel)
        judging_it = asyncio.create_task(bench.judge())
        await bench.until_somebody_waits()
        await ingesting.execute(Q["make_items"], channel_id=channel, now=START)
    assert await judging_it == 1
    assert await bench.column("hidden", channel_id=channel) == ["a.zip"]


async def test_an_item_that_gets_a_kept_sighting_while_its_other_is_rejected_is_shown(
    bench: JudgingBench,
) -> None:
    channel = await bench.add_channel()
    await bench.see(channel, Candidate(file_name="same.zip", author="ada"), message="1")
    await bench.change("make_items", channel_id=channel, now=START)
    await bench.change("add_topic", channel_id=channel, key="t1", now=START)
    await bench.set(channel, topic="t1", excluded_authors=[])
    await bench.see(channel, Candidate(file_name="same.zip", author="ben"), message="2", topic="t1")
    (ben,) = await bench.column("waiting_sightings", channel_id=channel)
    await bench.set(channel, excluded_authors=["ada"])
    async with bench.database.transaction() as ingesting:
        await ingesting.execute(Q["link"], channel_id=channel)
        await show_items_of(ingesting, [ben])
        judging_it = asyncio.create_task(bench.judge())
        await bench.until_somebody_waits()
    assert await judging_it == 1
    assert await bench.column("shown", channel_id=channel) == ["same.zip"]


async def test_listings_have_no_stream_and_are_judged_all_the_same(bench: JudgingBench) -> None:
    channel = await bench.add_channel(kind="listing")
    await bench.see(channel, ZIP)
    await bench.set(channel, extensions=["rar"])
    await bench.judge()
    assert await bench.column("verdicts", channel_id=channel) == ["a.zip extension"]


async def test_a_channel_that_was_removed_meanwhile_ends_the_job(bench: JudgingBench) -> None:
    channel = await bench.add_channel()
    await bench.see(channel, ZIP)
    await bench.set(channel, extensions=["rar"])
    await bench.tick()
    await bench.change("remove", channel_id=channel)
    assert await bench.step()
    assert await bench.column("jobs") == []


async def test_judging_that_gave_up_waits_for_a_while_or_for_a_person(bench: JudgingBench) -> None:
    channel = await bench.add_channel()
    await bench.set(channel, extensions=["rar"])
    rows = judging.JudgingRows()
    async with bench.database.transaction() as tx:
        await rows.postpone(tx, channel, until=START + timedelta(minutes=30), now=START)
    assert await bench.judge() == 0
    async with bench.database.transaction() as tx:
        await rows.reopen(tx, channel, now=START)
    assert await bench.judge() == 1
