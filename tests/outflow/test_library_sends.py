"""Things of the library that are sent on: how, once, and what becomes of each request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from bench import DEFAULT_PROFILE
from fetch_bench import content_of, named
from send_bench import SendBench, open_send_bench

from headgate.connectors.protocol import DedupeWindow
from headgate.domain.errors import NotFound, UserError
from headgate.outflow.library_sends import actions
from headgate.outflow.reminders.runs import make_remainder_run
from headgate.outflow.sending import controls
from headgate.storage.catalogue.sets import merge_items
from headgate.storage.database import Database
from headgate.storage.sending.run_controls import delete_old_runs
from headgate.storage.sending.run_overview import list_runs
from headgate.testing import file_of
from headgate.testing.platform.errors import SimNotFound, SimTimeout


@pytest.fixture
async def sends(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[SendBench]:
    async with open_send_bench(database, database_url, tmp_path) as bench:
        yield bench


async def test_a_thing_is_forwarded_without_an_upload_by_an_account_that_reads_its_channel(
    sends: SendBench,
) -> None:
    (item_id,) = await sends.catch(named("a.zip"))
    asked = await sends.send(item_id)
    assert (asked.created, asked.already_open) == (1, 0)
    assert asked.requests[0].state == "pending"
    await sends.work()
    request = await sends.only_request()
    assert (request.state, request.way, request.account_name) == ("sent", "forward", "reader")
    assert (request.messages_sent, request.messages) == (1, 1)
    (message,) = sends.arrived()
    assert message.text.startswith("forwarded packs/")
    assert sends.calls("upload") == 0


async def test_an_account_that_does_not_read_the_channel_uploads_from_the_store(sends: SendBench) -> None:
    file = named("a.zip")
    (item_id,) = await sends.catch(file, text="The {first} one")
    await sends.send(item_id, by="poster")
    await sends.work()
    request = await sends.only_request()
    assert (request.state, request.way, request.account_name) == ("sent", "upload", "poster")
    assert sends.files_at() == [("a.zip", content_of(file))]
    # Braces mean variables in reminders, but not in what somebody said about a file.
    assert sends.arrived()[0].text == "The {first} one"


async def test_a_message_with_other_things_in_it_is_not_forwarded(sends: SendBench) -> None:
    one, other = named("one.zip"), named("other.zip")
    (item_id, _) = await sends.catch(one, other, one_message=True)
    await sends.send(item_id, by="reader")
    await sends.work()
    assert (await sends.only_request()).way == "upload"
    assert sends.files_at() == [("one.zip", content_of(one))]


async def test_a_file_above_the_limit_arrives_in_pieces_that_join_to_the_file(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    profile = DEFAULT_PROFILE.but(upload_max_bytes=100_000)
    # Counted through, so that no two pieces are alike.
    file = file_of("big.zip", b"".join(number.to_bytes(4, "big") for number in range(62_501))[:250_001])
    async with open_send_bench(database, database_url, tmp_path, profile) as sends:
        (item_id,) = await sends.catch(file)
        await sends.send(item_id, by="poster")
        await sends.work()
        request = await sends.only_request()
        assert (request.state, request.messages_sent, request.messages) == ("sent", 3, 3)
        pieces = sends.files_at()
    assert [name for name, _ in pieces] == ["big.zip.001", "big.zip.002", "big.zip.003"]
    assert [len(content) for _, content in pieces] == [100_000, 100_000, 50_001]
    assert b"".join(content for _, content in pieces) == content_of(file)


async def test_files_that_are_not_stored_are_fetched_first_and_the_request_says_so(sends: SendBench) -> None:
    await sends.set(fetch="none")
    file = named("a.zip")
    (item_id,) = await sends.catch(file)
    assert await sends.states() == []
    sends.fail("download.began", SimTimeout("download"))
    await sends.send(item_id, by="poster")
    await sends.work()
    request = await sends.only_request()
    assert (request.state, request.reason) == ("pending", "waits for its files: 0 of 1 stored")
    assert sends.arrived() == []
    sends.mend()
    await sends.rest(3600)
    request = await sends.only_request()
    assert request.state == "sent"
    assert sends.files_at() == [("a.zip", content_of(file))]


async def test_a_request_whose_file_cannot_be_fetched_fails_and_a_retry_fetches_it_again(
    sends: SendBench,
) -> None:
    await sends.set(fetch="none")
    (item_id,) = await sends.catch(named("a.zip"))
    sends.fail("download.began", SimNotFound("gone for a while"))
    await sends.send(item_id, by="poster")
    for _ in range(12):
        await sends.rest(3600)
    request = await sends.only_request()
    assert (request.state, request.reason) == ("failed", "a file of it could not be fetched")
    sends.mend()
    assert (await sends.retry(request.id)).state == "pending"
    await sends.rest(3600)
    assert (await sends.only_request()).state == "sent"


async def test_a_message_that_is_gone_from_its_channel_is_uploaded_instead(sends: SendBench) -> None:
    file = named("a.zip")
    (item_id,) = await sends.catch(file)
    sends.world.delete("packs", sends.world.messages("packs")[-1].key)
    await sends.send(item_id, by="reader")
    await sends.work()
    await sends.rest(5)
    request = await sends.only_request()
    assert (request.state, request.way) == ("sent", "upload")
    assert sends.files_at() == [("a.zip", content_of(file))]


async def test_send_all_makes_a_request_for_each_member_of_a_group(sends: SendBench) -> None:
    item_ids = await sends.catch(named("a.zip"), named("b.zip"), named("c.zip"))
    group_id = await _group(sends, item_ids[:2])
    asked = await sends.send(item_ids[2], item_ids[1], group_ids=[group_id])
    assert asked.created == 3
    await sends.work()
    assert [request.state for request in await sends.requests()] == ["sent"] * 3
    assert len(sends.arrived()) == 3
    of_group = await sends.do(lambda tx: actions.list_requests(tx, group_id=group_id, limit=10))
    assert {request.item_id for request in of_group} == set(item_ids[:2])


async def test_two_people_who_press_send_at_the_same_moment_share_one_request(sends: SendBench) -> None:
    item_ids = await sends.catch(named("a.zip"), named("b.zip"))
    answers = await asyncio.gather(*(sends.send(*item_ids) for _ in range(6)))
    assert sum(answer.created for answer in answers) == 2
    assert len(await sends.requests()) == 2
    for answer in answers:
        assert {request.item_id for request in answer.requests} == set(item_ids)
    await sends.work()
    assert len(sends.arrived()) == 2


async def test_what_was_sent_can_be_sent_once_more_on_purpose(sends: SendBench) -> None:
    (item_id,) = await sends.catch(named("a.zip"))
    for _ in range(2):
        await sends.send(item_id)
        await sends.work()
    assert [request.state for request in await sends.requests()] == ["sent", "sent"]
    assert len(sends.arrived()) == 2


async def test_a_cancelled_request_sends_nothing_and_frees_its_key(sends: SendBench) -> None:
    (item_id,) = await sends.catch(named("a.zip"))
    await sends.send(item_id)
    request = await sends.only_request()
    assert (await sends.cancel(request.id)).state == "cancelled"
    await sends.work()
    assert sends.arrived() == []
    with pytest.raises(UserError, match="cannot be cancelled"):
        await sends.cancel(request.id)
    await sends.send(item_id)
    with pytest.raises(UserError, match="newer request"):
        await sends.retry(request.id)
    await sends.work()
    assert len(sends.arrived()) == 1


async def test_a_retry_sends_only_the_messages_that_have_not_arrived(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    profile = DEFAULT_PROFILE.but(upload_max_bytes=100_000)
    file = named("big.zip", 250_000)
    async with open_send_bench(database, database_url, tmp_path, profile) as sends:
        (item_id,) = await sends.catch(file)
        await sends.send(item_id, by="poster")
        sent = 0

        async def refuse_second(point: str) -> None:
            nonlocal sent
            sent += point == "send.before_effect"
            if sent >= 2 and point == "send.before_effect":
                raise SimNotFound("no such group for a while")

        sends.world.on_point = refuse_second
        await sends.work()
        request = await sends.only_request()
        assert (request.state, request.messages_sent) == ("failed", 1)
        sends.mend()
        await sends.let_doubts_age()
        await sends.retry(request.id)
        await sends.work()
        assert (await sends.only_request()).state == "sent"
        names = [name for name, _ in sends.files_at()]
        assert names == ["big.zip.001", "big.zip.002", "big.zip.003"]


async def test_an_uncertain_request_keeps_its_key_until_a_person_decides(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    profile = DEFAULT_PROFILE.but(dedupe=DedupeWindow("none"))
    async with open_send_bench(database, database_url, tmp_path, profile) as sends:
        (item_id,) = await sends.catch(named("a.zip"))
        await sends.send(item_id)
        sends.fail_next("forward.after_effect", SimTimeout("forward"))
        await sends.work()
        await sends.let_doubts_age()
        await sends.work()
        request = await sends.only_request()
        assert request.state == "uncertain"
        assert (await sends.send(item_id)).already_open == 1
        with pytest.raises(UserError, match="not known whether"):
            await sends.retry(request.id)
        assert (await sends.resolve(request.id, arrived=True)).state == "sent"
        assert len(sends.arrived()) == 1
        assert (await sends.send(item_id)).created == 1


async def test_a_run_that_is_cancelled_as_a_run_ends_its_request_too(sends: SendBench) -> None:
    (item_id,) = await sends.catch(named("a.zip"))
    await sends.send(item_id)
    request = await sends.only_request()
    await sends.plan(request.id)
    (run_id,) = [row["id"] for row in await sends.rows("select id from run")]
    await sends.do(lambda tx: controls.cancel(tx, run_id, now=sends.clock.now()))
    assert (await sends.only_request()).state == "cancelled"
    await sends.do(lambda tx: controls.retry(tx, run_id, skipped=True, now=sends.clock.now()))
    assert (await sends.only_request()).state == "pending"
    await sends.work()
    assert (await sends.only_request()).state == "sent"


async def test_only_targets_that_an_account_can_write_to_are_accepted(sends: SendBench) -> None:
    (item_id,) = await sends.catch(named("a.zip"))
    with pytest.raises(NotFound, match="no item"):
        await sends.send(uuid4())
    with pytest.raises(UserError, match="Nothing was chosen"):
        await sends.send()
    sends.world.groups["lake"].members = {"reader"}
    await sends.add_sender("poster")
    with pytest.raises(UserError, match="This account cannot write to The lake"):
        await sends.send(item_id, by="poster")
    assert (await sends.send(item_id)).requests[0].account_name == "reader"


async def test_a_bad_file_fails_its_request_and_holds_up_no_other_run(sends: SendBench) -> None:
    first, second = await sends.catch(named("a.zip"), named("b.zip"))
    sends.fail("upload.before_effect", SimTimeout("upload"))
    await sends.send(first, by="poster")
    await sends.work()
    sends.mend()
    await sends.send(second, by="poster")
    await sends.work()
    states = {request.item_id: request.state for request in await sends.requests()}
    assert states[second] == "sent"
    assert await sends.rows("select id from dead_letter") == []
    await sends.rest(600)
    assert [request.state for request in await sends.requests()] == ["sent", "sent"]


async def test_things_of_the_library_take_turns_with_a_reminder(sends: SendBench) -> None:
    """However many are sent, a run of a reminder gets every second turn."""
    item_ids = await sends.catch(*(named(f"{number}.zip") for number in range(3)))
    await sends.send(*item_ids, by="reader")
    for request in await sends.requests():
        await sends.plan(request.id)
    await sends.begin_reminder(by="reader")
    assert await sends.next_turns() == ["library"] * 3 + ["person"]
    await sends.serve_next()
    assert await sends.next_turns() == ["person"] + ["library"] * 3
    await sends.serve_next()
    assert await sends.next_turns() == ["library"] * 3 + ["person"]


async def test_own_chats_are_chosen_by_each_user(sends: SendBench) -> None:
    user_id = await sends.add_user("ana")
    (item_id,) = await sends.catch(named("a.zip"))
    now, ids = sends.clock.now(), sends.parts.ids
    with pytest.raises(UserError, match="not chosen your own chat"):
        await sends.do(lambda tx: actions.send_to_own_chat(tx, user_id, item_ids=[item_id], ids=ids, now=now))
    await sends.do(lambda tx: actions.choose_own_chat(tx, user_id, target_id=sends.target_id))
    await sends.do(lambda tx: actions.send_to_own_chat(tx, user_id, item_ids=[item_id], ids=ids, now=now))
    await sends.work()
    request = await sends.only_request()
    assert (request.state, request.user_name, request.target_title) == ("sent", "ana", "The lake")


async def test_what_becomes_a_volume_of_a_set_is_sent_with_the_set_and_once(sends: SendBench) -> None:
    whole, first, second = await sends.catch(named("a.zip"), named("b.zip"), named("c.zip"))
    await sends.send(first, second)
    await sends.do(lambda tx: merge_items(tx, {first: whole, second: whole}))
    request = await sends.only_request()
    assert request.item_id == whole
    await sends.work()
    assert (await sends.only_request()).state == "sent"
    assert len(sends.arrived()) == 1


async def test_runs_of_the_library_are_not_listed_as_runs_and_no_other_account_takes_them_over(
    sends: SendBench,
) -> None:
    (item_id,) = await sends.catch(named("a.zip"))
    await sends.send(item_id, by="reader")
    await sends.plan((await sends.only_request()).id)
    request = await sends.only_request()
    assert request.run_id is not None
    assert await sends.do(lambda tx: list_runs(tx, limit=10)) == []
    run_id, now, ids = request.run_id, sends.clock.now(), sends.parts.ids
    other = await sends.account("poster")
    with pytest.raises(UserError, match="thing of the library"):
        await sends.do(lambda tx: make_remainder_run(tx, run_id, other.id, ids=ids, now=now))


async def test_requests_that_ended_long_ago_are_deleted_and_open_ones_kept(sends: SendBench) -> None:
    first, second = await sends.catch(named("a.zip"), named("b.zip"))
    await sends.send(first)
    await sends.work()
    later = sends.clock.now() + timedelta(days=1)
    await sends.send(second)
    await sends.do(lambda tx: delete_old_runs(tx, before=later))
    (kept,) = await sends.requests()
    assert (kept.item_id, kept.state) == (second, "pending")


async def _group(sends: SendBench, item_ids: list[UUID]) -> UUID:
    group_id = uuid4()
    await sends.rows(
        "insert into item_group (id, kind, name, name_key, created_at) values ($1, 'hand', 'Two', 'two', $2)"
        " returning id",
        group_id,
        sends.clock.now(),
    )
    await sends.rows(
        "update item set group_id = $1, grouped_by = 'person' where id = any($2) returning id",
        group_id,
        item_ids,
    )
    return group_id
