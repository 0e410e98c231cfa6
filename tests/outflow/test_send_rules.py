"""Rules send things on by themselves: what arrives, each once, and looked for afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from fetch_bench import named
from send_bench import SendBench, open_bench

from headgate.domain.errors import NotFound, UserError
from headgate.outflow.library_sends import rule_jobs, rules
from headgate.storage.database import Database, Tx, connect
from headgate.storage.jobs.clock_repair import repair_clock_rewind
from headgate.storage.library_sends import rules as stored_rules
from headgate.storage.library_sends.rules import NewSendRule, StoredSendRule
from headgate.testing.platform.errors import SimTimeout


class RuleBench(SendBench):
    """What tests of rules for sending do again and again."""

    async def add_rule(self, query: str = "type=zip", name: str = "Archive", by: str = "") -> StoredSendRule:
        account_id = (await self.account(by)).id if by else None
        rule = NewSendRule(name, query, self.target_id, account_id)
        now, ids = self.clock.now(), self.parts.ids
        return await self.do(lambda tx: rules.add_rule(tx, rule, ids=ids, now=now))

    async def switch_on(self, rule_id: UUID, *, backfill: bool = False) -> None:
        now = self.clock.now()
        await self.do(lambda tx: rules.switch_on(tx, rule_id, backfill=backfill, now=now))
        await self.work()

    async def rule_on(self, query: str = "type=zip", *, backfill: bool = False, by: str = "") -> UUID:
        rule = await self.add_rule(query, by=by)
        await self.switch_on(rule.id, backfill=backfill)
        return rule.id

    async def rule(self, rule_id: UUID) -> StoredSendRule:
        return await self.do(lambda tx: rules.get_rule(tx, rule_id))


@pytest.fixture
async def sends(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[RuleBench]:
    async with open_bench(RuleBench, database, database_url, tmp_path) as bench:
        yield bench


async def test_a_rule_is_off_until_someone_switches_it_on(sends: RuleBench) -> None:
    rule = await sends.add_rule()
    assert not rule.enabled
    await sends.catch(named("a.zip"))
    assert await sends.requests() == []


async def test_what_arrives_after_switching_on_is_sent_once(sends: RuleBench) -> None:
    await sends.catch(named("old.zip"))
    await sends.rest(60)
    rule_id = await sends.rule_on()
    await sends.catch(named("new.zip"), named("text.pdf"))
    await sends.rest(60)
    request = await sends.only_request()
    assert (request.item_title, request.state, request.rule_name) == ("new", "sent", "Archive")
    # Whatever changes of it later, it is not sent again.
    await sends.rows("insert into send_rule_queue (item_ids) select array_agg(id) from item returning id")
    await sends.rest(60)
    assert len(await sends.requests()) == 1
    assert len(sends.arrived()) == 1
    assert (await sends.rule(rule_id)).sent == 1


async def test_what_was_there_is_sent_if_that_is_asked_for(
    sends: RuleBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_jobs, "BATCH", 2)
    await sends.catch(*(named(f"old{number}.zip") for number in range(5)))
    rule_id = await sends.rule_on(backfill=True)
    await sends.rest(60)
    assert [request.state for request in await sends.requests()] == ["sent"] * 5
    assert not (await sends.rule(rule_id)).backfilling


async def test_backfilling_pauses_while_many_requests_wait(
    sends: RuleBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_jobs, "BATCH", 1)
    monkeypatch.setattr(rule_jobs, "MAX_OPEN", 1)
    await sends.set(fetch="none")
    await sends.catch(named("a.zip"), named("b.zip"), named("c.zip"))
    sends.fail("download.began", SimTimeout("download"))
    await sends.rule_on(backfill=True, by="poster")
    assert len(await sends.requests()) == 1
    sends.mend()
    for _ in range(6):
        await sends.rest(3600)
    assert [request.state for request in await sends.requests()] == ["sent"] * 3


async def test_a_person_and_a_rule_share_one_request(sends: RuleBench) -> None:
    await sends.set(fetch="none")
    (item_id,) = await sends.catch(named("a.zip"))
    sends.fail("download.began", SimTimeout("download"))
    await sends.send(item_id, by="poster")
    await sends.rule_on(backfill=True, by="poster")
    assert len(await sends.requests()) == 1
    sends.mend()
    await sends.rest(3600)
    await sends.rest(3600)
    assert len(await sends.requests()) == 1
    assert len(sends.arrived()) == 1


async def test_what_was_sent_is_looked_for_in_the_target(sends: RuleBench) -> None:
    rule_id = await sends.rule_on()
    await sends.catch(named("a.zip"))
    assert (await sends.only_request()).verification == "due"
    await sends.rest(120)
    assert (await sends.only_request()).verification == "found"
    assert (await sends.rule(rule_id)).verified == 1
    assert sends.calls("find_sent") == 1


async def test_what_is_not_in_the_target_is_said_to_be_missing(sends: RuleBench) -> None:
    rule_id = await sends.rule_on()
    await sends.catch(named("a.zip"))
    sends.world.groups["lake"].messages.clear()
    for _ in range(4):
        await sends.rest(3600)
    request = await sends.only_request()
    assert (request.state, request.verification) == ("sent", "missing")
    assert (await sends.rule(rule_id)).missing == 1
    assert sends.calls("find_sent") == 3


async def test_what_a_person_sends_is_not_looked_for(sends: RuleBench) -> None:
    (item_id,) = await sends.catch(named("a.zip"))
    await sends.send(item_id)
    await sends.rest(120)
    assert (await sends.only_request()).verification == ""
    assert sends.calls("find_sent") == 0


async def test_nothing_is_sent_back_into_its_own_channel(sends: RuleBench) -> None:
    await sends.rows("update target set key = 'packs' where id = $1 returning id", sends.target_id)
    await sends.rule_on(backfill=True)
    await sends.catch(named("a.zip"))
    assert await sends.requests() == []


async def test_of_copies_one_is_sent(sends: RuleBench) -> None:
    await sends.catch(named("a.zip"))
    await sends.rows("update item set content_hash = '\\x01' returning id")
    await sends.catch(named("b.zip"))
    await sends.rows("update item set content_hash = '\\x01' returning id")
    await sends.rule_on(backfill=True)
    await sends.rest(60)
    assert len(await sends.requests()) == 1


async def test_of_copies_one_is_sent_also_when_two_jobs_see_them_at_once(
    sends: RuleBench, database_url: str
) -> None:
    first, second = await sends.catch(named("a.zip"), named("b.zip"))
    await sends.rows("update item set content_hash = '\\x01' returning id")
    rule = await sends.rule(await sends.rule_on("type=zip&min_size=1TB", backfill=True))
    everything = replace(rule, query="type=zip")
    await sends.rows("update send_rule set query = 'type=zip' returning id")
    await sends.rows("insert into send_rule_queue (item_ids) values ($1) returning id", [second])
    async with await connect(database_url) as connection, connection.transaction():
        # Another process is about to send the first one.
        tx = Tx(connection)
        await stored_rules.lock_rules(tx)
        await rules.apply_rule(tx, everything, [first], ids=sends.parts.ids, now=sends.clock.now())
        job = asyncio.create_task(sends.work())
        waiting = 0
        while not waiting and not job.done():
            await asyncio.sleep(0.01)
            cursor = await connection.execute("select count(*) from pg_locks where not granted")
            waiting = (await cursor.fetchall())[0][0]
    await job
    await sends.rest(60)
    assert len(await sends.requests()) == 1
    assert len(sends.arrived()) == 1


async def test_a_trial_says_how_many_would_be_sent_now(sends: RuleBench) -> None:
    (sent, *_) = await sends.catch(named("a.zip"), named("b.zip"), named("c.pdf"))
    await sends.send(sent)
    rule = await sends.add_rule()
    plain = NewSendRule(rule.name, rule.query, rule.target_id)
    trial = await sends.do(lambda tx: rules.try_rule(tx, plain, rule_id=rule.id))
    assert (trial.tried, trial.matched, trial.would_send, trial.examples) == (3, 2, 1, ("b",))
    assert len(await sends.requests()) == 1


async def test_a_clock_that_is_set_back_keeps_no_rule_from_sending(sends: RuleBench) -> None:
    """Defect: what arrives seems older than the rule until the clock has caught up."""
    rule_id = await sends.rule_on()
    before, after = sends.clock.now(), sends.clock.now() - timedelta(hours=1)
    for now in (before, after):
        await sends.do(lambda tx, now=now: repair_clock_rewind(tx, now=now))
    enabled_at = (await sends.rule(rule_id)).enabled_at
    assert enabled_at is not None
    assert enabled_at <= after


async def test_a_rule_that_is_off_or_removed_sends_nothing_more(sends: RuleBench) -> None:
    rule_id = await sends.rule_on()
    await sends.do(lambda tx: rules.switch_off(tx, rule_id))
    await sends.catch(named("a.zip"))
    assert await sends.requests() == []
    await sends.switch_on(rule_id)
    await sends.catch(named("b.zip"))
    await sends.do(lambda tx: rules.remove_rule(tx, rule_id))
    request = await sends.only_request()
    assert (request.item_title, request.rule_name) == ("b", "")
    with pytest.raises(NotFound):
        await sends.rule(rule_id)


@pytest.mark.parametrize(
    ("query", "said"),
    [("", "send everything"), ("q=knight&type=zip", "no words to search for"), ("type=!", "not a type")],
)
async def test_rules_need_filters_that_can_be_used(sends: RuleBench, query: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        await sends.add_rule(query)
