"""Reading and listening: whatever fails, repeats or comes in disorder, all of it is kept once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bench import REST_S, Bench, ProcessGone

from headgate.domain.streams.messages import Head, LiveEvent, Message, Span
from headgate.storage.channels.requests import ScanWish
from headgate.storage.jobs.dead_letters import list_dead_letters
from headgate.storage.streams import streams
from headgate.storage.streams.rechecks import ask_rechecks
from headgate.testing import file_of
from headgate.testing.platform.errors import SimFlood, SimLinkExpired, SimTimeout


def archive(bench: Bench, name: str, *, stream: str = "packs") -> Message:
    return bench.world.post(stream, files=[file_of(f"{name}.zip", name.encode())])


async def is_covered(bench: Bench, message: Message) -> bool:
    coverage = (await bench.explain()).coverage
    return any(message.position in span for lens in coverage for span in lens.spans)


async def test_a_gap_below_a_live_message_stays_a_hole_until_it_is_read(proving: Bench) -> None:
    first = archive(proving, "first")
    await proving.follow()
    await proving.catch_up()
    missed = archive(proving, "missed")
    heard = archive(proving, "heard")
    live = await proving.live()
    live.take(LiveEvent("message", "packs", heard, proven=Span(heard.position, heard.position + 1)))
    await live.flush()
    (hole,) = (await proving.explain()).holes
    assert hole.first_position > first.position
    assert hole.first_position <= missed.position <= hole.last_position < heard.position
    await proving.rest(60)
    assert await proving.column("sightings") == proving.places()
    assert (await proving.explain()).holes == []


async def test_a_message_that_fails_is_a_miss_and_leaves_no_hole(bench: Bench) -> None:
    failing, succeeding = archive(bench, "failing"), archive(bench, "succeeding")
    bench.world.garble("packs", failing.key)
    await bench.follow()
    await bench.catch_up()
    explained = await bench.explain()
    assert [miss.message_key for miss in explained.misses] == [failing.key]
    assert explained.holes == []
    assert await bench.column("sightings") == [f"{succeeding.key}/a0"]
    bench.world.garble("packs", failing.key, garbled=False)
    await bench.rest()
    assert await bench.column("sightings") == bench.places()
    assert (await bench.explain()).misses == []


async def test_a_page_that_was_not_read_is_a_hole_with_its_own_next_try(bench: Bench) -> None:
    bench.world.fill("packs", 250)
    await bench.follow()
    while bench.calls("read") < 1:
        await bench.step()
    bench.fail("read.before_effect", SimTimeout("read"))
    await bench.work()
    (hole,) = (await bench.explain()).holes
    assert (hole.attempts, hole.error_class, hole.error_message) == (1, "Transient", "no answer to read")
    assert hole.next_try_at is not None
    assert hole.next_try_at > bench.clock.now()
    bench.mend()
    await bench.rest(60)
    explained = await bench.explain()
    assert explained.holes == []
    assert [scan.status for scan in explained.scans] == ["SUCCEEDED"]
    assert await bench.column("sightings") == bench.places()


async def test_a_newer_page_that_fails_does_not_keep_older_ones_from_being_read(bench: Bench) -> None:
    bench.world.fill("packs", 50)
    await bench.follow()
    await bench.catch_up()
    old = bench.world.messages("packs")[10]
    await bench.rows("update coverage set ranges = ranges - int8multirange(int8range(0, $1))", old.position)
    newest = archive(bench, "newest")
    await bench.hear(newest)
    bench.fail_next("read.before_effect", SimTimeout("read"))
    await bench.rest(60)
    (hole,) = (await bench.explain()).holes
    assert (hole.last_position, hole.attempts) == (newest.position, 1)
    await bench.rest(60)
    assert (await bench.explain()).holes == []


async def test_holes_are_looked_for_at_every_look(bench: Bench) -> None:
    """Not at the start alone, and not at the tip alone: nothing is new here, and nobody was heard."""
    bench.world.fill("packs", 30)
    await bench.follow()
    await bench.catch_up()
    messages = bench.world.messages("packs")
    for first, after in ((10, 12), (20, 21)):
        await bench.rows(
            "update coverage set ranges = ranges - int8multirange(int8range($1, $2))",
            messages[first].position,
            messages[after].position,
        )
        reads = bench.calls("read")
        await bench.rest()
        assert (await bench.explain()).holes == []
        assert bench.calls("read") == reads + 1


async def test_a_reconnect_ends_the_proof_and_reads_nothing_by_itself(proving: Bench) -> None:
    archive(proving, "old")
    await proving.follow()
    await proving.catch_up()
    async with proving.listening():
        first = archive(proving, "first")
    missed = archive(proving, "missed")
    reads = proving.calls("read")
    async with proving.listening():
        second = archive(proving, "second")
    assert proving.calls("read") == reads
    covered = [span for lens in (await proving.explain()).coverage for span in lens.spans]
    assert any(second.position in span for span in covered)
    assert not any(missed.position in span for span in covered)
    assert first.position < missed.position < second.position
    await proving.rest(60)
    assert await proving.column("sightings") == proving.places()
    assert (await proving.explain()).holes == []


async def test_chat_without_files_leaves_no_gap(proving: Bench) -> None:
    archive(proving, "old")
    await proving.follow()
    await proving.catch_up()
    async with proving.listening():
        chat = [proving.world.post("packs", text=f"chat {number}") for number in range(5)]
    assert [await is_covered(proving, message) for message in chat] == [True] * 5
    # What lies between the last reading and the first event was proven by neither.
    await proving.rest(60)
    reads = proving.calls("read")
    await proving.restart()
    await proving.rest()
    assert proving.calls("read") == reads
    assert (await proving.explain()).holes == []
    stream = await proving.stream()
    assert (stream.total_messages_scanned, stream.message_count) == (6, 1)


async def test_live_and_read_messages_get_one_verdict(bench: Bench) -> None:
    bench.world.add_stream("heard")
    await bench.follow()
    for key in ("packs", "heard"):
        await bench.set(
            key, bots=False, webhooks=True, link_patterns=["https://clips.example/*"], extensions=["zip"]
        )
    posts: list[dict[str, object]] = [
        {"files": [file_of("kept.zip", b"a")]},
        {"files": [file_of("bot.zip", b"b")], "from_bot": True},
        {"files": [file_of("hook.zip", b"f")], "from_webhook": True},
        {"links": ["https://clips.example/3"], "from_webhook": True},
        {"files": [file_of("other.txt", b"c")]},
        {"links": ["https://clips.example/1", "https://elsewhere.example/2"]},
        {"text": "forwarded", "files": [file_of("snapshot.zip", b"d"), file_of("notes.txt", b"e")]},
    ]
    for post in posts:
        bench.world.post("packs", **post)  # pyright: ignore[reportArgumentType] - names of parameters
    heard = [
        bench.world.post("heard", **post)  # pyright: ignore[reportArgumentType] - names of parameters
        for post in posts
    ]
    await bench.hear(*heard, stream="heard")
    live = await bench.column("verdicts", key="heard")
    await bench.catch_up()
    assert live == await bench.column("verdicts", key="packs")
    assert len(live) == 9
    assert {line.rsplit(" ", 1)[1] for line in live} > {"kept", "bot"}
    assert {"hook.zip kept", "https://clips.example/3 kept", "snapshot.zip kept"} <= set(live)


async def test_what_a_webhook_sends_is_judged_live_and_in_pages_by_the_setting(bench: Bench) -> None:
    message = replace(archive(bench, "hooked"), from_webhook=True)
    await bench.follow()
    await bench.hear(message)
    assert await bench.column("verdicts", key="packs") == ["hooked.zip kept"]
    await bench.set(webhooks=False)
    await bench.work()
    assert await bench.column("verdicts", key="packs") == ["hooked.zip webhook"]


async def test_a_thread_inherits_the_switch_and_settings_of_its_parent(bench: Bench) -> None:
    bench.world.add_stream("thread", parent="packs")
    bench.world.post("thread", files=[file_of("kept.zip", b"a"), file_of("other.txt", b"b")])
    bench.world.add_stream("direct", title="A direct message, which has no parent")
    archive(bench, "direct", stream="direct")
    await bench.follow()
    await bench.set("packs", extensions=["zip"])
    await bench.catch_up()
    assert await bench.column("titles", key="direct") == ["direct"]
    assert await bench.column("titles", key="thread") == ["kept"]
    await bench.switch("packs", on=False)
    archive(bench, "unwanted", stream="thread")
    await bench.rest()
    assert await bench.column("titles", key="thread") == ["kept"]
    await bench.switch("packs", on=True)
    await bench.catch_up()
    assert await bench.column("titles", key="thread") == ["kept", "unwanted"]


@pytest.mark.parametrize("point", ["read.began", "read.before_effect", "read.after_effect"])
async def test_a_process_that_ends_while_reading_loses_nothing(bench: Bench, point: str) -> None:
    bench.world.fill("packs", 250)
    await bench.follow()
    while bench.calls("read") < 1:
        await bench.step()
    before = await bench.explain()
    bench.fail_next(point, ProcessGone())
    with pytest.raises(ProcessGone):
        await bench.work()
    during = await bench.explain()
    assert during.coverage == before.coverage
    assert during.scans == before.scans
    await bench.restart()
    await bench.work()
    after = await bench.explain()
    assert await bench.column("sightings") == bench.places()
    # It is the same scan that goes on, with no page counted twice.
    assert [(scan.id, scan.status) for scan in after.scans] == [(before.scans[0].id, "SUCCEEDED")]
    assert after.scans[0].messages == after.stream.total_messages_scanned == 250
    assert (await bench.do(list_dead_letters)) == []


async def test_a_limit_above_the_page_size_is_not_the_end(proving: Bench) -> None:
    proving.world.fill("packs", 330)
    await proving.follow()
    await proving.ask(ScanWish(page_limit=100_000))
    await proving.catch_up()
    assert await proving.column("sightings") == proving.places()
    assert (await proving.stream()).total_messages_scanned == 330
    explained = await proving.explain()
    assert explained.holes == []
    assert [scan.messages for scan in explained.scans if scan.trigger == "person"] == [330]


async def test_positions_are_ordered_as_numbers(proving: Bench) -> None:
    await proving.follow()
    message = archive(proving, "template")
    live = await proving.live()
    for position in (1000, 999, 998):
        heard = replace(message, position=position, key=str(position))
        live.take(LiveEvent("message", "packs", heard, proven=Span(position, position + 1)))
        await live.flush()
    explained = await proving.explain()
    assert explained.stream.head == 1000
    (covered,) = explained.coverage
    assert (covered.backward_message_id, covered.forward_message_id) == (998, 1000)
    assert covered.spans == [Span(998, 1001)]
    # A check that comes late does not lower the head, and holes above 1000 are newer than those below 998.
    channel_id, now = explained.stream.id, proving.clock.now()
    await proving.do(lambda tx: streams.raise_heads(tx, {channel_id: Head(1005)}, now=now))
    await proving.do(lambda tx: streams.raise_heads(tx, {channel_id: Head(999)}, now=now))
    assert (await proving.stream()).head == 1005
    holes = await proving.do(
        lambda tx: streams.list_holes(tx, channel_id, bound=1006, direction="both", now=now)
    )
    assert [hole.span for hole in holes] == [Span(1001, 1006), Span(0, 998)]


async def test_a_head_that_names_a_deleted_message_is_no_gap_for_ever(proving: Bench) -> None:
    archive(proving, "old")
    await proving.follow()
    await proving.catch_up()
    deleted = archive(proving, "deleted")
    proving.world.delete("packs", deleted.key)
    await proving.rest()
    await proving.rest(60)
    explained = await proving.explain()
    assert explained.stream.head == deleted.position
    assert explained.holes == []
    reads = proving.calls("read")
    for _ in range(3):
        await proving.rest()
    assert proving.calls("read") == reads
    assert (await proving.reasons())[-1] == "caught_up"


async def test_a_rate_limit_waits_and_never_fails_a_scan(bench: Bench) -> None:
    bench.world.fill("packs", 150)
    await bench.follow()
    bench.fail("read.before_effect", SimFlood(600))
    for _ in range(6):
        await bench.rest(120)
    explained = await bench.explain()
    assert explained.scans[0].status in {"QUEUED", "RUNNING"}
    assert (explained.scans[0].error_message, explained.holes[0].attempts) == ("", 0)
    assert explained.watches[0].failures == 0
    # It asked once, and then no more than the platform permits.
    assert bench.calls("read") <= 2
    bench.mend()
    await bench.rest(1200)
    await bench.rest(1200)
    assert [scan.status for scan in (await bench.explain()).scans] == ["SUCCEEDED"]
    assert await bench.column("sightings") == bench.places()
    assert (await bench.do(list_dead_letters)) == []


async def test_relaxing_a_filter_finds_what_was_rejected_without_any_call(bench: Bench) -> None:
    for name in ("a.zip", "b.rar", "c.txt"):
        bench.world.post("packs", files=[file_of(name, name.encode())])
    await bench.follow()
    await bench.set(extensions=["zip"])
    await bench.catch_up()
    assert await bench.column("titles", key="packs") == ["a"]
    calls = bench.world.log.counts.total()
    await bench.set(extensions=["zip", "rar"])
    await bench.work()
    assert await bench.column("titles", key="packs") == ["a", "b"]
    assert (await bench.stream()).message_count == 2
    assert bench.world.log.counts.total() == calls


async def test_rejecting_hides_an_item_and_deletes_nothing(bench: Bench) -> None:
    archive(bench, "a")
    await bench.follow()
    await bench.catch_up()
    (before,) = await bench.rows("select id, caught_at from item")
    # Stands for all that belongs to people: it hangs on the item's id.
    await bench.rows(
        "with ada as (insert into app_user (id, name, password_hash, role, created_at)"
        " values (gen_random_uuid(), 'ada', '', 'member', $1) returning id)"
        " insert into notification (id, user_id, subject, item_id, title, body, url, at, in_app, push)"
        " select gen_random_uuid(), ada.id, 's', item.id, 't', '', '', $1, true, false from ada, item",
        bench.clock.now(),
    )
    await bench.set(extensions=["rar"])
    await bench.work()
    assert await bench.column("hidden", key="packs") == ["a"]
    assert (await bench.stream()).message_count == 0
    await bench.set(extensions=["zip"])
    await bench.work()
    assert await bench.column("hidden", key="packs") == []
    assert await bench.rows("select id, caught_at from item") == [before]
    assert await bench.rows("select item_id from notification") == [{"item_id": before["id"]}]


async def test_files_are_stored_as_keys_and_a_recheck_renews_their_links(bench: Bench) -> None:
    message = archive(bench, "a")
    await bench.follow()
    await bench.catch_up()
    (sighting,) = await bench.rows("select url, message_key, attachment_key from sighting")
    assert sighting == {"url": "", "message_key": message.key, "attachment_key": "a0"}
    # No link of the platform's stands anywhere in what was stored.
    stored = await bench.rows("select to_jsonb(s)::text || to_jsonb(i)::text as said from sighting s, item i")
    assert "http" not in stored[0]["said"]
    bench.world.expire_links("packs")
    link = await bench.parts.links.link(await bench.account())

    async def download() -> bytes:
        chunks = link.download("packs", message_key=message.key, attachment_key="a0")
        return b"".join([chunk async for chunk in chunks])

    with pytest.raises(SimLinkExpired):
        await download()
    channel_id, now = (await bench.stream()).id, bench.clock.now()
    await bench.do(
        lambda tx: ask_rechecks(tx, channel_id, [message.key], reason="expired", due_at=now, now=now)
    )
    reads, fetched = bench.calls("read"), bench.calls("message")
    await bench.work()
    assert (bench.calls("read"), bench.calls("message")) == (reads, fetched + 1)
    assert (await bench.explain()).stream.rechecks == 0
    assert await download() == b"a"


async def test_counters_do_not_double_when_work_is_repeated(proving: Bench) -> None:
    proving.world.fill("packs", 120)
    await proving.follow()
    proving.fail_next("read.after_effect", SimTimeout("read"))
    await proving.work()
    await proving.catch_up()
    messages = proving.world.messages("packs")
    holding = sum(bool(message.attachments) for message in messages)
    before = await proving.stream()
    assert (before.total_messages_scanned, before.message_count) == (120, holding)
    live = await proving.live()
    for message in messages[-30:]:
        proven = Span(message.position, message.position + 1)
        live.take(LiveEvent("message", "packs", message, proven=proven))
        live.take(LiveEvent("message", "packs", message, proven=proven))
    await live.flush()
    await proving.rest(REST_S)
    after = await proving.stream()
    assert (after.total_messages_scanned, after.message_count) == (120, holding)
    assert len(await proving.column("sightings")) == len(proving.places())
