"""What people ask for: each request is one transaction, and leaves everything else as it was."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import pytest
from bench import START, Bench

from headgate.domain.errors import UserError
from headgate.intake.channels import accounts, requests
from headgate.intake.channels.discovery import follow_all
from headgate.jobs.kinds import Wake
from headgate.jobs.wake import enqueue
from headgate.storage.channels.channels import Account, list_accounts
from headgate.storage.channels.requests import HandedOver, Holdings, ScanWish
from headgate.storage.database import Tx

T = TypeVar("T")
LATER = START + timedelta(hours=1)


class Office:
    """The tables, and requests on them."""

    def __init__(self, bench: Bench, channel_id: UUID) -> None:
        self.bench = bench
        self.ids = bench.parts.ids
        self.channel_id = channel_id

    async def __call__(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        async with self.bench.database.transaction() as tx:
            return await work(tx)

    async def rows(self, sql: str, *arguments: Any) -> list[dict[str, Any]]:
        return await self(lambda tx: tx.raw(sql, arguments))

    async def values(self, sql: str, *arguments: Any) -> list[Any]:
        return [next(iter(row.values())) for row in await self.rows(sql, *arguments)]

    async def ask(self, wish: ScanWish | None = None, *, now: datetime = LATER) -> requests.AskedScan:
        return await self(
            lambda tx: requests.ask_scan(tx, self.channel_id, wish or ScanWish(), ids=self.ids, now=now)
        )

    async def reset(self) -> requests.AskedScan:
        return await self(
            lambda tx: requests.reset_scan(tx, self.channel_id, ScanWish(), ids=self.ids, now=LATER)
        )

    async def disable(self) -> int:
        return await self(lambda tx: requests.disable(tx, self.channel_id, now=LATER))

    async def enable(self) -> int:
        return await self(lambda tx: requests.enable(tx, self.channel_id, now=LATER))

    async def jobs(self) -> list[str]:
        return await self.values(
            "select dedupe_key from pgqueuer where status in ('queued', 'picked') order by 1"
        )

    async def stream(self) -> dict[str, Any]:
        (row,) = await self.rows("select * from stream where channel_id = $1", self.channel_id)
        return row

    async def scans(self) -> list[dict[str, Any]]:
        return await self.rows("select * from scan order by queued_at, id")

    async def account(self, name: str) -> Account:
        accounts = await self(list_accounts)
        return next(account for account in accounts if account.name == name)


@pytest.fixture
async def office(bench: Bench) -> Office:
    await bench.follow()
    return Office(bench, (await bench.stream()).id)


async def add_second(office: Office) -> None:
    bench = office.bench
    bench.world.add_account("second")
    await follow_all(bench.database, bench.parts.links, bench.parts.ids, bench.clock, name="second")


async def add_parent(office: Office) -> UUID:
    parent_id = office.ids.new()
    await office.rows(
        "insert into channel (id, platform, key, kind, title, created_at)"
        " values ($1, 'simulated', 'guild', 'parent', 'Guild', $2)",
        parent_id,
        START,
    )
    await office.rows("update channel set parent_id = $1 where id = $2", parent_id, office.channel_id)
    return parent_id


async def test_an_asked_scan_is_queued_before_everything_else(office: Office) -> None:
    before = await office.stream()
    asked = await office.ask(ScanWish("backward", 50, auto_continue=False))
    (scan,) = await office.scans()
    assert (asked.new, asked.id, asked.reader) == (True, scan["id"], "reader")
    assert (scan["status"], scan["trigger"], scan["reason"]) == ("QUEUED", "person", "asked")
    assert (scan["direction"], scan["page_limit"], scan["auto_continue"]) == ("backward", 50, False)
    assert (scan["due_at"], scan["queued_at"]) == (None, LATER)
    # The look that fetches the head makes it due.
    after = await office.stream()
    assert (after["due_at"], after["wake_seq"]) == (LATER, before["wake_seq"] + 1)
    assert await office.values("select priority from pgqueuer") == [requests.PERSON]
    assert await office.jobs() == [f"check:{after['reader_id']}"]


async def test_a_scan_under_way_does_what_both_asked_for(office: Office) -> None:
    first = await office.ask(ScanWish("forward", 50, auto_continue=False), now=START)
    await office.rows("update scan set bound = 100, due_at = $1", START)
    second = await office.ask(ScanWish("backward", 100, auto_continue=True))
    assert (second.id, second.new) == (first.id, False)
    (scan,) = await office.scans()
    assert (scan["direction"], scan["page_limit"], scan["auto_continue"]) == ("both", 100, True)
    # It goes on when a look has fetched a head that is newer than the wish.
    assert (scan["bound"], scan["due_at"]) == (None, None)


async def test_a_channel_that_is_off_is_not_scanned(office: Office) -> None:
    await office.disable()
    with pytest.raises(UserError, match="Channel scanning disabled for this channel") as raised:
        await office.ask()
    assert raised.value.command == "headgate channel enable 'Packs'"
    assert (await office.scans(), await office.jobs()) == ([], [])


async def test_a_parent_that_is_off_is_the_one_to_switch_on(office: Office) -> None:
    parent_id = await add_parent(office)
    await office(lambda tx: requests.disable(tx, parent_id, now=LATER))
    with pytest.raises(UserError) as raised:
        await office.ask()
    assert raised.value.command == "headgate channel enable 'Guild'"


async def test_a_limit_of_nothing_is_refused(office: Office) -> None:
    with pytest.raises(UserError, match="at least one message"):
        await office.ask(ScanWish(page_limit=0))


async def test_disabling_cancels_the_scan_and_keeps_its_progress(office: Office) -> None:
    await office.ask()
    await office.rows("update scan set status = 'RUNNING', pages = 3, messages = 300")
    await office.rows("update coverage set ranges = '{[5,9)}'")
    assert await office.disable() == 1
    (scan,) = await office.scans()
    assert (scan["status"], scan["error_message"]) == (
        "CANCELLED",
        "Channel scanning disabled for this channel",
    )
    assert (scan["pages"], scan["messages"], scan["ended_at"], scan["due_at"]) == (3, 300, LATER, None)
    assert await office.values("select ranges::text from coverage") == ["{[5,9)}"]
    stream = await office.stream()
    assert (stream["due_at"], stream["reason"]) == (None, "disabled")
    assert f"scan:{office.channel_id}" not in await office.jobs()


async def test_enabling_makes_a_channel_due_at_once(office: Office) -> None:
    await office.disable()
    before = await office.stream()
    assert await office.enable() == 1
    after = await office.stream()
    assert (after["due_at"], after["reason"], after["woken"]) == (LATER, "never_scanned", True)
    assert after["wake_seq"] > before["wake_seq"]


async def test_a_switch_raises_the_version_of_the_settings_only_if_it_turns(office: Office) -> None:
    version = "select version from intake_settings"
    await office.enable()
    assert await office.values(version) == [1]
    await office.disable()
    await office.disable()
    assert await office.values(version) == [2]


async def test_a_parent_switches_all_its_channels_but_one_that_is_off_stays_off(office: Office) -> None:
    parent_id = await add_parent(office)
    await office(lambda tx: requests.disable(tx, parent_id, now=LATER))
    assert (await office.stream())["due_at"] is None
    await office.disable()
    assert await office(lambda tx: requests.enable(tx, parent_id, now=LATER)) == 0
    assert (await office.stream())["due_at"] is None
    assert await office.enable() == 1


async def test_a_reset_forgets_the_reading_and_keeps_what_was_found(office: Office) -> None:
    await office.ask()
    await office.rows("update coverage set ranges = '{[0,9)}'")
    await office.rows("update stream set total_messages_scanned = 7, message_count = 2")
    await office.rows(
        "insert into hole (channel_id, lens, span, attempts, next_try_at, error_class, error_message,"
        " failed_at) values ($1, 'everything', '[9,12)', 1, $2, 'Transient', 'no', $2)",
        office.channel_id,
        START,
    )
    await office.rows("insert into bookmark values ($1, 'everything', 9, 'b')", office.channel_id)
    await office.reset()
    assert await office.values("select ranges::text from coverage") == ["{}"]
    assert [(scan["status"], scan["trigger"]) for scan in await office.scans()] == [
        ("CANCELLED", "person"),
        ("QUEUED", "reset"),
    ]
    stream = await office.stream()
    assert (stream["epoch"], stream["total_messages_scanned"], stream["message_count"]) == (2, 7, 2)
    assert await office.values("select 1 from hole union all select 1 from bookmark") == []


async def test_a_reset_of_a_channel_that_is_off_changes_nothing(office: Office) -> None:
    await office.disable()
    with pytest.raises(UserError, match="disabled"):
        await office.reset()
    assert (await office.stream())["epoch"] == 1


async def test_judging_again_is_asked_for_without_any_call(office: Office) -> None:
    calls = len(list(office.bench.world.log.calls()))
    for _ in range(2):
        await office(lambda tx: requests.judge_again(tx, office.channel_id, now=LATER))
    assert await office.rows("select due_at, wake_seq, judged from judging") == [
        {"due_at": LATER, "wake_seq": 1, "judged": 0}
    ]
    assert len(list(office.bench.world.log.calls())) == calls


async def test_removing_a_channel_stops_its_work_and_tells_what_went(office: Office) -> None:
    parent_id = await add_parent(office)
    await office.ask()
    await office(lambda tx: enqueue(tx, [Wake("ingest", str(office.channel_id)), Wake("ingest", "other")]))
    await office.rows(
        "insert into item (id, channel_id, content_key, kind, title, size_bytes, sent_at, caught_at)"
        " values ($1, $2, 'k', 'clip', 'Clip', 1, $3, $3)",
        office.ids.new(),
        office.channel_id,
        START,
    )
    gone = await office(lambda tx: requests.remove_channel(tx, parent_id, now=LATER))
    assert gone == Holdings(channels=2, items=1, sightings=0, misses=0, scans=1)
    left = (
        "select count(*) from channel union all select count(*) from item union all select count(*) from scan"
    )
    assert await office.values(left) == [0, 0, 0]
    left_jobs = [job for job in await office.jobs() if not job.startswith("check:")]
    assert left_jobs == ["ingest:other"]


async def test_a_pinned_tier_stays_until_it_is_let_go(office: Office) -> None:
    await office(lambda tx: requests.set_frequency(tx, office.channel_id, "often", now=LATER))
    assert ((await office.stream())["tier"], (await office.stream())["tier_pinned"]) == ("HOT", True)
    await office(lambda tx: requests.set_frequency(tx, office.channel_id, "automatic", now=LATER))
    assert ((await office.stream())["tier"], (await office.stream())["tier_pinned"]) == ("HOT", False)


async def test_a_new_floor_makes_the_stream_due(office: Office) -> None:
    await office.rows("update stream set due_at = $1", LATER + timedelta(hours=4))
    await office(lambda tx: requests.set_start(tx, office.channel_id, 500, now=LATER))
    stream = await office.stream()
    assert (stream["floor"], stream["due_at"], stream["woken"]) == (500, LATER, True)
    with pytest.raises(UserError, match="begin at 0"):
        await office(lambda tx: requests.set_start(tx, office.channel_id, -1, now=LATER))


async def test_a_new_tier_or_floor_leaves_a_channel_off(office: Office) -> None:
    await office.disable()
    await office(lambda tx: requests.set_start(tx, office.channel_id, 500, now=LATER))
    await office(lambda tx: requests.set_frequency(tx, office.channel_id, "often", now=LATER))
    assert (await office.stream())["due_at"] is None


async def test_what_has_no_messages_has_no_tier(office: Office) -> None:
    parent_id = await add_parent(office)
    with pytest.raises(UserError, match="no messages of its own"):
        await office(lambda tx: requests.set_frequency(tx, parent_id, "often", now=LATER))


async def test_a_login_wakes_the_streams_and_closes_no_breaker(office: Office) -> None:
    account = await office.account("reader")
    await office.rows("update account set state = 'needs_login', state_reason = 'signed out'")
    await office.rows("update watch set open_until = $1, failures = 4", LATER + timedelta(days=1))
    await office.rows("update stream set due_at = $1", LATER + timedelta(hours=4))
    assert await office(lambda tx: accounts.reactivate(tx, account.id, now=LATER)) == 1
    assert await office.rows("select state, state_reason from account") == [
        {"state": "active", "state_reason": ""}
    ]
    assert (await office.stream())["due_at"] == LATER
    assert await office.values("select failures from watch where open_until is not null") == [4]


async def test_a_login_leaves_what_is_off_alone(office: Office) -> None:
    account = await office.account("reader")
    await office.disable()
    await office(lambda tx: accounts.reactivate(tx, account.id, now=LATER))
    assert (await office.stream())["due_at"] is None


@pytest.mark.parametrize("leave", [accounts.sign_out, accounts.remove_account])
async def test_the_channels_of_an_account_that_leaves_pass_to_a_stand_by(
    office: Office, leave: Callable[..., Awaitable[HandedOver]]
) -> None:
    await add_second(office)
    account, second = await office.account("reader"), await office.account("second")
    done = await office(lambda tx: leave(tx, account, now=LATER))
    assert done == HandedOver(passed_on=1, left_alone=0)
    assert (await office.stream())["reader_id"] == second.id


async def test_without_a_stand_by_a_removed_account_leaves_channels_without_reader(office: Office) -> None:
    account = await office.account("reader")
    done = await office(lambda tx: accounts.remove_account(tx, account, now=LATER))
    assert done == HandedOver(passed_on=0, left_alone=1)
    assert (await office.stream())["reader_id"] is None
    assert await office.values("select name from account union all select owner from lane") == []


async def test_without_a_stand_by_a_signed_out_account_is_waited_for(office: Office) -> None:
    account = await office.account("reader")
    await office(lambda tx: accounts.sign_out(tx, account, now=LATER))
    assert (await office.stream())["reader_id"] == account.id
    assert (await office.account("reader")).state == "needs_login"
