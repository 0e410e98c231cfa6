"""When streams are looked at and read: what the schedule may skip, and what nothing may hide."""

from __future__ import annotations

from datetime import timedelta

import pytest
from bench import REST_S, START, Bench

from headgate.domain.streams.channel_settings import ChannelSettings, WrongSettings
from headgate.domain.streams.messages import LiveEvent
from headgate.intake.streams.misses import retry_misses
from headgate.kernel.settings import SettingsError, load_settings
from headgate.testing import file_of
from headgate.testing.platform.errors import SimTimeout

COLD_S = 20 * 3600.0
"""How long a quiet stream rests after many idle scans, but for the jitter."""


async def make_cold(bench: Bench, key: str = "packs") -> None:
    """Look at an idle stream until it is cold."""
    while (await bench.explain(key)).stream.idle_scans < 5:
        await bench.rest()


async def test_a_restart_does_not_starve_cold_streams(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    await bench.work()
    await make_cold(bench)
    heads = bench.calls("heads")
    for _ in range(3 * 24):
        await bench.restart()
        await bench.rest(3600)
    # Three days at one look in 18 to 22 hours.
    assert 3 <= bench.calls("heads") - heads <= 4


async def test_cold_streams_do_not_all_come_due_at_once(bench: Bench) -> None:
    for number in range(20):
        bench.world.add_stream(f"more-{number}")
    await bench.follow()
    await bench.work()
    await make_cold(bench)
    rows = await bench.rows("select due_at from stream where idle_scans >= 5 order by due_at")
    due_ats = [row["due_at"] for row in rows]
    assert len(set(due_ats)) == len(due_ats) >= 10
    assert due_ats[-1] - due_ats[0] > timedelta(hours=1)


async def test_a_person_who_asks_is_never_skipped(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    await bench.work()
    await make_cold(bench)
    heads = bench.calls("heads")
    message = bench.world.post("packs", files=[file_of("new.zip", b"x")])
    await bench.pass_time(60)
    await bench.ask()
    await bench.work()
    assert bench.calls("heads") == heads + 1
    assert f"{message.key}/a0" in await bench.column("sightings")
    scan = (await bench.explain()).scans[0]
    assert (scan.trigger, scan.reason, scan.status) == ("person", "asked", "SUCCEEDED")


async def test_a_retry_acts_on_the_miss_at_once_whatever_the_schedule_says(bench: Bench) -> None:
    message = bench.world.post("packs", files=[file_of("broken.zip", b"x")])
    bench.world.garble("packs", message.key)
    await bench.follow()
    await bench.catch_up()
    await bench.rest()
    bench.world.garble("packs", message.key, garbled=False)
    before = await bench.stream()
    reads, heads = bench.calls("read"), bench.calls("heads")
    await bench.do(lambda tx: retry_misses(tx, channel_id=before.id, now=bench.clock.now()))
    await bench.work()
    assert await bench.column("sightings") == bench.places()
    assert (bench.calls("read"), bench.calls("heads")) == (reads, heads)
    assert (await bench.stream()).due_at == before.due_at


async def test_a_retry_and_a_running_scan_cannot_undo_each_other(bench: Bench) -> None:
    bench.world.fill("packs", 250, shape="archive")
    newest = bench.world.messages("packs")[-1]
    bench.world.garble("packs", newest.key)
    await bench.follow()
    while not (await bench.explain()).misses:
        await bench.step()
    bench.world.garble("packs", newest.key, garbled=False)
    covered = (await bench.stream()).ranges

    async def retry() -> None:
        await bench.do(lambda tx: retry_misses(tx, now=bench.clock.now()))
        assert (await bench.stream()).ranges == covered != "{}"

    bench.at_next("read.after_effect", retry)
    await bench.work()
    explained = await bench.explain()
    # Nothing is read twice for the retry: three pages, and an empty one that proves the beginning.
    assert (bench.calls("read"), explained.scans[0].pages) == (4, 4)
    assert await bench.column("sightings") == bench.places()
    assert explained.misses == []
    assert explained.holes == []


async def test_a_head_that_could_not_be_fetched_is_no_idle_scan(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    await bench.work()
    before = (await bench.explain()).stream
    bench.fail("heads.before_effect", SimTimeout("heads"))
    await bench.rest()
    during = (await bench.explain()).stream
    assert bench.calls("heads") == before.head_checks + 1
    assert (during.idle_scans, during.head_checks) == (before.idle_scans, before.head_checks)


async def test_a_head_check_is_recorded_as_a_head_check_and_not_as_a_reading(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    await bench.work()
    before = (await bench.explain()).stream
    await bench.rest()
    after = await bench.explain()
    assert after.stream.head_checks == before.head_checks + 1
    assert (after.stream.reads, after.stream.scanned_at) == (before.reads, before.scanned_at)
    assert after.stream.idle_scans == before.idle_scans + 1
    assert len(after.scans) == 1


async def test_a_head_fetched_only_to_fill_up_a_call_deepens_no_back_off(bench: Bench) -> None:
    bench.world.add_stream("other")
    await bench.follow()
    await bench.work()
    await bench.rows(
        "update stream set due_at = due_at + interval '1 day' where channel_id = $1",
        (await bench.stream("other")).id,
    )
    before = (await bench.explain("other")).stream
    await bench.rest()
    after = (await bench.explain("other")).stream
    assert after.head_checks == before.head_checks + 1
    assert after.idle_scans == before.idle_scans


async def test_a_stale_head_never_hides_what_was_heard(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    await bench.work()
    unheard = bench.world.post("packs", files=[file_of("unheard.zip", b"x")])
    heard = bench.world.post("packs", files=[file_of("heard.zip", b"y")])
    await bench.hear(heard)
    # The platform's search does not know of either of them yet.
    await bench.rows("update stream set due_at = $1", bench.clock.now())
    await bench.work()
    assert (await bench.stream()).head == heard.position
    await bench.rest(40)
    assert f"{unheard.key}/a0" in await bench.column("sightings")


async def test_the_heads_of_a_forum_and_many_channels_are_one_call(bench: Bench) -> None:
    bench.world.add_stream("forum", topics=[f"topic-{number}" for number in range(200)])
    for number in range(30):
        bench.world.add_stream(f"more-{number}")
    bench.world.fill("forum", 60, shape="archive")
    await bench.follow()
    await bench.catch_up()
    heads, reads = bench.calls("heads"), bench.calls("read")
    await bench.rest()
    assert bench.calls("heads") == heads + 1
    assert bench.calls("read") == reads


async def test_due_times_set_before_the_clock_was_set_back_are_mended(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    await bench.work()
    # Everything was written by a clock that was a year ahead.
    await bench.rows(
        "update stream set due_at = due_at + interval '1 year', planned_at = planned_at + interval '1 year',"
        " idle_at = $1, head_checked_at = $1, scanned_at = $1",
        START + timedelta(days=365),
    )
    heads = bench.calls("heads")
    for _ in range(3):
        await bench.rest(600)
    assert bench.calls("heads") == heads + 1
    due_at = (await bench.stream()).due_at
    assert due_at is not None
    assert due_at < bench.clock.now() + timedelta(days=1)


async def test_a_scan_under_way_when_the_clock_was_set_back_goes_on(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    await bench.work()
    bench.world.post("packs", files=[file_of("young.zip", b"x")])
    await bench.pass_time(15)
    await bench.ask()
    await bench.work()
    # It waits until the newest message is old enough; then the clock was found to be a year ahead.
    assert (await bench.explain()).scans[0].status == "RUNNING"
    await bench.rows("update scan set due_at = due_at + interval '1 year' where status = 'RUNNING'")
    await bench.rows("update stream set tip_after = tip_after + interval '1 year'")
    await bench.rows("update clock_mark set product_at = product_at + interval '1 year'")
    await bench.rest(60)
    await bench.rest(60)
    assert (await bench.explain()).scans[0].status == "SUCCEEDED"
    assert (await bench.explain()).holes == []


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HEADGATE_INTAKE_EVERY_NTH", "0"),
        ("HEADGATE_INTAKE_EVERY_NTH", "five"),
        ("HEADGATE_INTAKE_IDLE_THRESHOLD", "0"),
        ("HEADGATE_INTAKE_IDLE_THRESHOLD", "5x"),
        ("HEADGATE_INTAKE_SKIP_WINDOW_S", "-1"),
        ("HEADGATE_INTAKE_SKIP_WINDOW_S", "nan"),
        ("HEADGATE_INTAKE_SKIP_WINDOW_S", ""),
    ],
)
def test_a_knob_that_makes_no_sense_is_refused_at_the_start(variable: str, value: str) -> None:
    with pytest.raises(SettingsError, match=variable):
        load_settings({"HEADGATE_DATA_DIR": "/nonexistent", variable: value})


@pytest.mark.parametrize(("knob", "value"), [("every_nth", 0), ("idle_threshold", 0), ("skip_window_s", -1)])
def test_a_knob_of_a_channel_that_makes_no_sense_is_refused(knob: str, value: int) -> None:
    with pytest.raises(WrongSettings, match=knob):
        ChannelSettings.parse({knob: value})


async def test_the_knobs_of_a_channel_hold_for_it_alone(bench: Bench) -> None:
    bench.world.add_stream("other")
    await bench.follow()
    await bench.set(idle_threshold=2, every_nth=50)
    await bench.catch_up()
    for _ in range(3):
        await bench.rest()
    packs, other = await bench.stream(), await bench.stream("other")
    assert packs.due_at is not None
    assert other.due_at is not None
    assert packs.due_at - bench.clock.now() > timedelta(days=5)
    assert other.due_at - bench.clock.now() < timedelta(days=1)


async def test_ordinary_chat_is_covered_like_anything_else(bench: Bench) -> None:
    bench.world.fill("packs", 130, shape="text")
    await bench.follow()
    await bench.catch_up()
    reads = bench.calls("read")
    for _ in range(3):
        await bench.rest()
    assert bench.calls("read") == reads
    stream = await bench.stream()
    assert (stream.total_messages_scanned, stream.message_count) == (130, 0)
    assert (await bench.explain()).holes == []


async def test_an_edit_that_gains_a_file_is_seen(bench: Bench) -> None:
    message = bench.world.post("packs", text="the file comes later")
    await bench.follow()
    await bench.catch_up()
    assert await bench.column("sightings") == []
    bench.world.edit("packs", message.key, text="here it is", files=[file_of("late.zip", b"x")])
    live = await bench.live()
    reads = bench.calls("read")
    live.take(LiveEvent("edit", "packs", key=message.key))
    await live.flush()
    await bench.work()
    assert await bench.column("sightings") == bench.places()
    assert (await bench.stream()).message_count == 1
    # That one message was fetched, and nothing was listed.
    assert (bench.calls("message"), bench.calls("read")) == (1, reads)


async def test_an_edit_during_its_recheck_is_looked_at_again(bench: Bench) -> None:
    message = bench.world.post("packs", text="the file comes later")
    await bench.follow()
    await bench.catch_up()
    live = await bench.live()

    async def edit_again() -> None:
        bench.world.edit("packs", message.key, files=[file_of("late.zip", b"x")])
        live.take(LiveEvent("edit", "packs", key=message.key))
        await live.flush()

    bench.at_next("message.after_effect", edit_again)
    live.take(LiveEvent("edit", "packs", key=message.key))
    await live.flush()
    await bench.work()
    assert await bench.column("sightings") == bench.places() != []
    assert (await bench.explain()).stream.rechecks == 0


async def test_two_accounts_on_one_channel_read_it_once(bench: Bench) -> None:
    bench.world.fill("packs", 80)
    await bench.follow()
    await bench.follow("second")

    async def go_on_meanwhile() -> None:
        """Whoever else wants the stream would take it while its head is under way, or its page."""
        await bench.step()

    for point in ("heads.after_effect", "read.after_effect", "heads.after_effect"):
        bench.at_next(point, go_on_meanwhile)
        await bench.rest()
    assert bench.world.log.counts_by_account["second", "read"] == 0
    assert bench.world.log.counts_by_account["second", "heads"] == 0
    # One page, and an empty one that proves the beginning.
    assert bench.calls("read") == 2
    assert await bench.column("sightings") == bench.places()


async def test_a_channel_that_becomes_a_forum_and_stops_being_one_keeps_its_state(bench: Bench) -> None:
    bench.world.fill("packs", 40)
    await bench.follow()
    await bench.catch_up()
    for convert in (
        lambda: bench.world.convert_to_forum("packs", ["tools", "maps"]),
        lambda: bench.world.convert_to_channel("packs"),
    ):
        before, reads = await bench.stream(), bench.calls("read")
        convert()
        await bench.follow()
        await bench.rest(REST_S)
        after = await bench.stream()
        assert (after.id, after.ranges) == (before.id, before.ranges)
        assert after.total_messages_scanned == before.total_messages_scanned == 40
        assert bench.calls("read") == reads
