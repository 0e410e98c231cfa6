"""Holds on exclusive accounts: two processes with clocks of their own, which only tests move."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from headgate.connectors.protocol import Link, Memory, OutgoingFile
from headgate.domain.errors import Ambiguous, HeldElsewhere
from headgate.kernel.clock import VirtualClock
from headgate.lanes import Lanes
from headgate.lanes.guarded_link import GuardedLink
from headgate.lanes.holds import END_S, RELY_S, SILENT_S, WATCH_S, Hold
from headgate.lanes.links import AccountRef, Links
from headgate.storage.channels.channels import upsert_account
from headgate.storage.database import Database, Tx
from headgate.storage.jobs import account_holds
from headgate.storage.vault import Vault
from headgate.testing import SimulatedConnector, World
from headgate.testing.platform.link import SimulatedLink
from headgate.testing.platform.profiles import session_like

START = datetime(2026, 3, 1, tzinfo=UTC)
LONGEST_S = 120.0
HANGS_S = 30.0
"""A test that waits this long in real time has failed."""


class NoSecrets:
    async def secrets_of(self, account_id: UUID) -> Mapping[str, str]:
        return {}

    async def vault(self, tx: Tx) -> Vault:
        raise NotImplementedError


class SlowConnector(SimulatedConnector):
    """Its connections close when a test lets them."""

    may_close: asyncio.Event
    closing: asyncio.Event

    async def open(self, account: str, secrets: Mapping[str, str], memory: Memory) -> Link:
        link = await super().open(account, secrets, memory)
        assert isinstance(link, SimulatedLink)
        close = link.close

        async def close_slowly() -> None:
            self.closing.set()
            await self.may_close.wait()
            await close()

        link.close = close_slowly
        return link


@dataclass
class Machine:
    """A process on a machine of its own."""

    name: str
    world: World
    database: Database
    account: AccountRef
    resident: bool = True
    clock: VirtualClock = field(default_factory=lambda: VirtualClock(START))

    def __post_init__(self) -> None:
        self.connector = SlowConnector(self.world, self.name)
        self.connector.may_close, self.connector.closing = asyncio.Event(), asyncio.Event()
        self.connector.may_close.set()
        lanes = Lanes(self.database, self.clock)
        self.links = Links({"simulated": self.connector}, lanes, NoSecrets(), holder=self.name)
        self.links.holds.resident = self.resident

    async def hold(self) -> Hold:
        return await self.links.holds.take(self.account.id)

    async def use(self) -> None:
        async with self.links.call(self.account, "read") as link:
            await link.discover()

    async def die(self) -> None:
        """Renew nothing any more, and let go of the connection, as a kill does."""
        hold = self.links.holds.get(self.account.id)
        assert hold is not None
        await hold.keeper.stop()
        self.world.sessions.lose(self.name)


@pytest.fixture
async def first(database: Database) -> AsyncIterator[Machine]:
    world = World(1, VirtualClock(START), session_like)
    world.add_account("reader")
    async with database.transaction() as tx:
        account_id = await upsert_account(
            tx, uuid4(), platform="simulated", name="reader", established=True, now=START
        )
    machine = Machine("first", world, database, AccountRef(account_id, "simulated", "reader", True))
    yield machine
    machine.connector.may_close.set()
    await machine.links.close()


@pytest.fixture
async def second(first: Machine) -> AsyncIterator[Machine]:
    machine = Machine("second", first.world, first.database, first.account)
    yield machine
    machine.connector.may_close.set()
    await machine.links.close()


async def run(clock: VirtualClock, work: Coroutine[Any, Any, Any]) -> None:
    """Carry out work that waits on a clock: its time jumps whenever nothing else is to be done."""
    task = asyncio.create_task(work)
    while not task.done():
        wake_s = clock.next_wake_s()
        if wake_s is None:
            await asyncio.wait({task}, timeout=0.001)
        else:
            assert wake_s < LONGEST_S, "it never ends"
            clock.advance(wake_s - clock.monotonic())
            await asyncio.sleep(0)
    task.result()


async def holder_of(machine: Machine) -> str:
    async with machine.database.transaction() as tx:
        row = await account_holds.get_hold(tx, machine.account.id)
    return row.holder if row else ""


def test_a_holder_has_ended_everything_before_others_may_begin() -> None:
    assert RELY_S + END_S <= 0.9 * SILENT_S
    assert SILENT_S + 2 * WATCH_S <= 10


async def test_an_account_is_held_by_one_process(first: Machine, second: Machine) -> None:
    await first.use()
    with pytest.raises(HeldElsewhere, match="in use by first"):
        await second.use()
    assert first.world.sessions.duplicated == []


async def test_a_process_that_was_stopped_makes_no_call_after_its_time(first: Machine) -> None:
    """Nothing of it has run yet when it goes on: neither its renewal nor the watch of its deadline."""
    hold = await first.hold()
    called: list[bool] = []

    async def call() -> None:
        called.append(True)

    first.clock.advance(RELY_S)
    with pytest.raises(HeldElsewhere):
        await hold.call(call)
    assert called == []


async def test_an_upload_stops_between_two_chunks(first: Machine) -> None:
    hold = await first.hold()
    link = await first.links.link(first.account)
    sent: list[bytes] = []

    async def read() -> AsyncIterator[bytes]:
        yield b"1"
        first.clock.advance(RELY_S)
        yield b"2"

    assert isinstance(link, GuardedLink)
    with pytest.raises(HeldElsewhere):
        async for chunk in link.guarded(OutgoingFile("a", "text/plain", 2, read)).read():
            sent += [chunk]
    assert sent == [b"1"]
    assert not hold.held


@pytest.mark.parametrize(("sends", "error"), [(False, HeldElsewhere), (True, Ambiguous)])
async def test_calls_under_way_end_with_the_hold(
    first: Machine, second: Machine, *, sends: bool, error: type[Exception]
) -> None:
    hold = await first.hold()
    began = asyncio.Event()

    async def call() -> None:
        began.set()
        await asyncio.Event().wait()

    calling = asyncio.create_task(hold.call(call, sends=sends))
    await began.wait()
    first.clock.advance(RELY_S)
    with pytest.raises(error):
        await asyncio.wait_for(calling, HANGS_S)
    await hold.over.wait()
    await second.use()


async def test_a_cancelled_call_stays_cancelled(first: Machine) -> None:
    hold = await first.hold()
    calling = asyncio.create_task(hold.call(asyncio.Event().wait))
    await asyncio.sleep(0)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling


async def test_a_dead_process_is_replaced_within_ten_seconds(first: Machine, second: Machine) -> None:
    await first.use()
    await first.die()
    await run(second.clock, second.links.holds.watch(second.account.id).wait())
    assert SILENT_S <= second.clock.monotonic() <= 10
    await second.use()
    assert await holder_of(second) == "second"
    assert first.world.sessions.duplicated == []


async def test_a_process_that_renews_is_never_replaced(first: Machine, second: Machine) -> None:
    hold = await first.hold()
    await hold.keeper.stop()
    gone = second.links.holds.watch(second.account.id)
    for _ in range(6):
        second.clock.advance(SILENT_S / 2)
        # The watch looks meanwhile, by one statement.
        for _ in range(5):
            assert await holder_of(second) == "first"
        async with first.database.transaction() as tx:
            assert await account_holds.renew_hold(tx, first.account.id, token=hold.keeper.lease.token)
    assert not gone.is_set()


def test_no_clock_that_can_be_set_has_a_say() -> None:
    statements = [account_holds.Q[name].sql for name in ("take_hold", "renew_hold", "get_hold", "end_hold")]
    assert not [sql for sql in statements if "now(" in sql or "timestamp" in sql]


async def test_an_account_is_given_back_only_when_its_link_is_closed(first: Machine, second: Machine) -> None:
    await first.use()
    first.connector.may_close.clear()
    releasing = asyncio.create_task(first.links.holds.release(first.account.id))
    await first.connector.closing.wait()
    with pytest.raises(HeldElsewhere):
        await second.use()
    first.connector.may_close.set()
    await releasing
    await second.use()
    assert first.world.sessions.duplicated == []


async def test_a_link_that_does_not_close_is_not_given_back(first: Machine) -> None:
    await first.use()
    first.connector.may_close.clear()
    releasing = asyncio.create_task(first.links.holds.release(first.account.id))
    await first.connector.closing.wait()
    first.clock.advance(END_S)
    await asyncio.wait_for(releasing, HANGS_S)
    assert await holder_of(first) == "first"


async def test_a_dropped_link_is_closed_before_the_next_is_opened(first: Machine) -> None:
    await first.use()
    first.connector.may_close.clear()
    dropping = asyncio.create_task(first.links.drop(first.account.id))
    await first.connector.closing.wait()
    using = asyncio.create_task(first.use())
    # Time enough to open another one, which takes some statements.
    for _ in range(20):
        assert await holder_of(first) == "first"
    first.connector.may_close.set()
    await asyncio.gather(dropping, using)
    assert first.world.sessions.opened == 2
    assert first.world.sessions.duplicated == []


async def test_a_process_without_workers_gives_an_account_back_after_each_use(first: Machine) -> None:
    command = Machine("command", first.world, first.database, first.account, resident=False)
    await command.use()
    assert await holder_of(first) == ""
    await first.use()
    assert first.world.sessions.duplicated == []


async def test_who_waits_for_an_account_gets_it_at_once_when_it_is_free(
    first: Machine, second: Machine
) -> None:
    await first.use()

    async def wait() -> None:
        async with second.links.holding(second.account):
            pass

    waiting = asyncio.create_task(wait())
    with pytest.raises(HeldElsewhere):
        await second.use()
    await first.links.close()
    second.links.holds.hear(str(second.account.id))
    await asyncio.wait_for(waiting, HANGS_S)
    assert second.clock.monotonic() == 0
    assert await holder_of(second) == "second"


async def test_an_account_that_may_not_be_used_is_given_back(first: Machine) -> None:
    hold = await first.hold()
    async with first.database.transaction() as tx:
        await tx.raw("update account set state = 'banned' returning id", [])
    first.links.holds.hear(str(first.account.id))
    await hold.over.wait()
    assert await holder_of(first) == ""
