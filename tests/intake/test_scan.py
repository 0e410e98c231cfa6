"""Reading streams: everything once, whatever is repeated, interrupted or late."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bench import Bench

from headgate.domain.streams.messages import LiveEvent
from headgate.storage.channels.channels import list_accounts
from headgate.storage.jobs.dead_letters import list_dead_letters
from headgate.storage.jobs.engine import list_jobs
from headgate.testing import file_of

REST_S = 5 * 3600.0
"""Longer than any stream rests."""


async def test_a_stream_is_read_whole_page_by_page(bench: Bench) -> None:
    bench.world.fill("packs", 350)
    await bench.follow()
    await bench.work()
    assert await bench.column("sightings") == bench.places()
    # Three full pages, a short one, and one that proves that there is nothing older.
    assert bench.world.log.counts["read"] == 5
    stream = await bench.stream()
    assert stream.total_messages_scanned == 350
    messages = bench.world.messages("packs")
    assert stream.message_count == sum(bool(message.attachments) for message in messages)
    assert stream.head == messages[-1].position


async def test_a_page_and_how_its_scan_goes_on_are_written_together_or_not_at_all(bench: Bench) -> None:
    bench.world.fill("packs", 250)
    await bench.follow()
    while bench.calls("read") < 1:
        await bench.step()
    before, kept = await bench.explain(), await bench.column("sightings")
    # The last thing that a page writes fails: how far its scan is.
    await bench.rows("alter table scan rename column ranges to ranges_away")
    await bench.work()
    await bench.rows("alter table scan rename column ranges_away to ranges")
    after = await bench.explain()
    assert bench.calls("read") == 2
    assert (after.coverage, after.scans) == (before.coverage, before.scans)
    assert await bench.column("sightings") == kept
    await bench.restart()
    await bench.work()
    assert await bench.column("sightings") == bench.places()
    assert (await bench.stream()).total_messages_scanned == 250


async def test_reading_again_changes_nothing(bench: Bench) -> None:
    bench.world.fill("packs", 120)
    await bench.follow()
    await bench.work()
    before, items = await bench.stream(), await bench.column("titles", key="packs")
    await bench.change("reset")
    bench.clock.advance(REST_S)
    await bench.work()
    assert await bench.column("titles", key="packs") == items
    assert await bench.column("sightings") == bench.places()
    assert (await bench.stream()).head == before.head


async def test_an_idle_stream_costs_one_head_and_no_reading(bench: Bench) -> None:
    bench.world.fill("packs", 20)
    await bench.follow()
    await bench.work()
    bench.clock.advance(REST_S)
    reads = bench.world.log.counts["read"]
    await bench.work()
    assert bench.world.log.counts["read"] == reads


async def test_what_came_meanwhile_is_caught_up(bench: Bench) -> None:
    bench.world.fill("packs", 20)
    await bench.follow()
    await bench.work()
    for number in range(5):
        bench.world.post("packs", files=[file_of(f"late-{number}.zip", b"x")])
    bench.clock.advance(REST_S)
    await bench.work()
    assert await bench.column("sightings") == bench.places()


async def test_young_messages_are_stored_but_not_yet_proven(bench: Bench) -> None:
    bench.world.fill("packs", 10)
    await bench.follow()
    await bench.work()
    bench.clock.advance(REST_S)
    message = bench.world.post("packs", files=[file_of("young.zip", b"x")])
    bench.clock.advance(10)
    await bench.work()
    ranges = (await bench.stream()).ranges
    assert not ranges.endswith(f"{message.position + 1})}}")
    bench.clock.advance(60)
    await bench.work()
    assert (await bench.stream()).ranges.endswith(f"{message.position + 1})}}")


async def test_a_page_of_an_older_epoch_covers_nothing(bench: Bench) -> None:
    bench.world.fill("packs", 120)
    await bench.follow()

    async def reset_in_the_middle(name: str) -> None:
        if name == "read.after_effect":
            bench.world.on_point = None
            await bench.change("reset")

    bench.world.on_point = reset_in_the_middle
    await bench.work()
    # The page that was under way covers nothing: it is read again in the new epoch.
    assert (await bench.stream()).total_messages_scanned == 120
    assert bench.world.log.counts["read"] == 4
    assert await bench.column("sightings") == bench.places()


async def test_a_disabled_channel_is_not_read(bench: Bench) -> None:
    bench.world.fill("packs", 10)
    await bench.follow()
    await bench.change("disable", key="packs")
    await bench.work()
    assert bench.world.log.counts["read"] == 0
    assert await bench.column("sightings") == []


async def test_reposts_are_one_item_with_many_sightings(bench: Bench) -> None:
    first = bench.world.post("packs", files=[file_of("pack.zip", b"the same bytes")])
    bench.world.repost("packs", first.key)
    bench.clock.advance(120)
    await bench.follow()
    await bench.work()
    assert len(await bench.column("sightings")) == 2
    assert await bench.column("titles", key="packs") == ["pack"]


async def test_an_account_that_was_banned_says_so_and_its_streams_wait(bench: Bench) -> None:
    bench.world.fill("packs", 10)
    await bench.follow()
    bench.world.ban("reader")
    await bench.work()
    async with bench.database.transaction() as tx:
        (account,) = await list_accounts(tx)
        letters = await list_dead_letters(tx)
    assert account.state == "banned"
    assert account.state_reason
    assert letters == []
    # It stays due, and nobody looks at it until the account is back.
    assert (await bench.stream()).due_at is not None
    assert await bench.work() == 0


async def test_an_edit_that_replaces_the_file_is_another_item(bench: Bench) -> None:
    message = bench.world.post("packs", files=[file_of("first.zip", b"one")])
    bench.clock.advance(60)
    await bench.follow()
    await bench.work()
    (attachment,) = message.attachments
    changed = replace(attachment, file_name="second.zip", content_id="another")
    edited = replace(message, attachments=(changed,), edited_at=bench.clock.now())
    live = await bench.live()
    live.take(LiveEvent("edit", "packs", edited))
    await live.flush()
    await bench.work()
    assert await bench.column("titles", key="packs") == ["first", "second"]


async def test_a_page_read_before_an_edit_does_not_undo_it(bench: Bench) -> None:
    message = bench.world.post("packs", files=[file_of("first.zip", b"one")])
    await bench.follow()
    bench.clock.advance(5)
    (attachment,) = message.attachments
    edited = replace(
        message, attachments=(replace(attachment, file_name="second.zip"),), edited_at=bench.clock.now()
    )
    live = await bench.live()
    for event in (edited, message):
        live.take(LiveEvent("edit", "packs", event))
        await live.flush()
    await bench.work()
    assert await bench.column("titles", key="packs") == ["second"]


async def test_a_worker_without_the_connector_leaves_the_work_to_others(bench: Bench) -> None:
    bench.world.fill("packs", 10)
    await bench.follow()
    bench.parts.links.connectors = {}
    await bench.parts.links.close()
    await bench.work()
    async with bench.database.transaction() as tx:
        assert await list_dead_letters(tx) == []
        waiting = await list_jobs(tx, kind="check", limit=10)
    assert [(job.status, job.attempts) for job in waiting] == [("queued", 0)]


async def test_an_edit_counts_also_of_a_message_that_claims_to_come_from_the_future(bench: Bench) -> None:
    message = bench.world.post("packs", files=[file_of("first.zip", b"one")])
    ahead = replace(message, sent_at=bench.clock.now() + timedelta(hours=2))
    await bench.follow()
    (attachment,) = message.attachments
    changed = replace(attachment, file_name="second.zip", content_id="another")
    edited = replace(ahead, attachments=(changed,), edited_at=bench.clock.now())
    live = await bench.live()
    for event in (ahead, edited, ahead):
        live.take(LiveEvent("edit", "packs", event))
        await live.flush()
    async with bench.database.transaction() as tx:
        rows = await tx.raw("select file_name from sighting")
    assert [row["file_name"] for row in rows] == ["second.zip"]
