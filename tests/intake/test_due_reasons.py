"""Why a stream is due when it is: the reason belongs to the due time, and a job that gave up is named."""

from __future__ import annotations

import re

import pytest
from bench import Bench

from headgate.domain.streams.messages import LiveEvent
from headgate.intake.channels.requests import set_frequency
from headgate.intake.streams.live import LiveIntake
from headgate.jobs.letters import replay
from headgate.storage.jobs.dead_letters import list_dead_letters
from headgate.storage.queries import Query, list_query_files
from headgate.testing import file_of

STATEMENTS = [query for file in list_query_files() for query in file]
SETS_DUE = re.compile(r"\b(?:update stream|insert into stream)\b.*?\bdue_at\b", re.DOTALL)


@pytest.mark.parametrize(
    "query", [query for query in STATEMENTS if SETS_DUE.search(query.sql)], ids=lambda query: query.name
)
def test_every_statement_that_gives_a_stream_its_due_time_says_why(query: Query) -> None:
    written = query.sql[query.sql.index("stream") :]
    assert not re.search(r"\bdue_at =", written) or "reason" in written


async def settled(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    await bench.catch_up()


async def test_after_a_scan_the_reason_is_that_of_the_next_check(bench: Bench) -> None:
    await settled(bench)
    explained = await bench.explain()
    assert explained.scans[0].reason == "never_scanned"
    assert explained.stream.reason == "caught_up"


async def test_a_stream_that_was_heard_of_is_due_because_of_that(bench: Bench) -> None:
    await settled(bench)
    await bench.hear(bench.world.post("packs", files=[file_of("new.zip", b"x")]))
    assert (await bench.stream()).reason == "woken"


async def test_a_scan_that_failed_says_until_when_its_stream_rests_and_why(bench: Bench) -> None:
    await settled(bench)
    bench.world.kick("reader", "packs")
    await bench.rest()
    explained = await bench.explain()
    assert explained.stream.reason == "breaker_open"
    assert explained.stream.due_at == explained.watches[0].open_until


async def test_a_scan_whose_job_gave_up_is_named_until_it_is_replayed(bench: Bench) -> None:
    bench.world.fill("packs", 5)
    await bench.follow()
    await bench.rows("alter table scan add constraint defect check (pages = 0)")
    for _ in range(6):
        await bench.rest(600)
    (failed,) = (await bench.explain()).failed_jobs
    assert failed.kind == "scan"
    (letter,) = await bench.do(list_dead_letters)
    assert letter.id == failed.id
    await bench.rows("alter table scan drop constraint defect")
    await bench.do(lambda tx: replay(tx, bench.parts.kinds, letter.id, now=bench.clock.now()))
    await bench.work()
    assert (await bench.explain()).failed_jobs == []
    assert await bench.column("sightings") == bench.places()


@pytest.mark.parametrize("point", ["heads.after_effect", "read.after_effect"])
async def test_a_tier_pinned_during_a_look_or_a_scan_stays(bench: Bench, point: str) -> None:
    await settled(bench)
    bench.world.post("packs", files=[file_of("new.zip", b"x")])
    channel_id = (await bench.stream()).id

    async def pin() -> None:
        await bench.do(lambda tx: set_frequency(tx, channel_id, "often", now=bench.clock.now()))

    bench.at_next(point, pin)
    await bench.rest()
    await bench.rest()
    stream = (await bench.explain()).stream
    assert (stream.tier, stream.tier_pinned) == ("HOT", True)


async def hear(live: LiveIntake, *events: LiveEvent) -> None:
    for event in events:
        live.take(event)
    await live.flush()


async def test_a_rest_never_overwrites_a_wake(bench: Bench) -> None:
    await settled(bench)
    live = await bench.live()
    message = bench.world.post("packs", files=[file_of("new.zip", b"x")])

    async def wake() -> None:
        await hear(live, LiveEvent("message", "packs", message))

    # The platform's search does not know of it yet: the look finds nothing new, and would rest.
    bench.at_next("heads.after_effect", wake)
    await bench.rows("update stream set due_at = $1, idle_at = null", bench.clock.now())
    await bench.work()
    stream = (await bench.explain()).stream
    assert stream.due_at is not None
    assert (stream.due_at - bench.clock.now()).total_seconds() < 60
    await bench.rest(60)
    assert (await bench.explain()).holes == []


async def test_a_rest_never_overwrites_what_a_person_asked_for_during_the_look(bench: Bench) -> None:
    await settled(bench)

    async def ask() -> None:
        await bench.ask()

    bench.at_next("heads.after_effect", ask)
    await bench.rest()
    assert (await bench.explain()).scans[0].status == "SUCCEEDED"


async def test_the_end_of_a_scan_looks_behind_it(proving: Bench) -> None:
    await settled(proving)
    proving.world.post("packs", files=[file_of("first.zip", b"x")])
    live = await proving.live()

    async def wake() -> None:
        message = proving.world.post("packs", files=[file_of("second.zip", b"y")])
        await hear(live, LiveEvent("message", "packs", message))

    proving.at_next("read.after_effect", wake)
    await proving.rest()
    assert (await proving.explain()).scans[0].status == "SUCCEEDED"
    due_at = (await proving.stream()).due_at
    assert due_at is not None
    assert (due_at - proving.clock.now()).total_seconds() < 60
    await proving.rest(60)
    assert (await proving.explain()).holes == []
