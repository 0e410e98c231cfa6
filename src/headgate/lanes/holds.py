"""Holds: an exclusive account is used by one process at a time, wherever the processes are.

Some platforms destroy a session that is open in two places. Three spans keep two links apart. A holder
relies on a renewal for `RELY_S` on its own monotonic clock, counted from before it asked; after that it
makes no call, and within `END_S` it cuts off the calls under way and closes the link. Another process that
watches the hold ends it after it has seen the same renewal for `SILENT_S` on its own monotonic clock. That
is longer than both together, by enough to cover clocks that run unevenly. No clock that can be set is
involved.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID, uuid4

from headgate.domain.errors import Ambiguous, HeldElsewhere
from headgate.kernel.clock import Clock
from headgate.kernel.logs import get_logger
from headgate.storage.database import Database
from headgate.storage.errors import DatabaseAway
from headgate.storage.jobs import account_holds
from headgate.storage.jobs.leases import CERTAIN_PART, Lease, LeaseKeeper
from headgate.storage.streams.watches import get_watcher

log = get_logger("lanes")

RELY_S = 5.0
END_S = 1.5
SILENT_S = 8.0
WATCH_S = 1.0
Answer = TypeVar("Answer")


class HoldKeeper(LeaseKeeper):
    """Renews a hold; `lost` is set when it ended or was not renewed in time."""

    def __init__(self, database: Database, clock: Clock, account_id: UUID, lease: Lease) -> None:
        super().__init__(database, clock, lease)
        self._account_id = account_id

    async def _renew_once(self) -> Lease | None:
        asked_at_s = self._clock.monotonic()
        async with self._database.autocommit() as tx:
            alive = await account_holds.renew_hold(tx, self._account_id, token=self.lease.token)
        return _lease(self.lease, asked_at_s) if alive else None


def _lease(before: Lease, asked_at_s: float) -> Lease:
    return Lease(before.name, before.token, before.holder, before.ttl_s, asked_at_s + RELY_S)


@dataclass(eq=False)
class Hold:
    """An account that this process holds."""

    account_id: UUID
    keeper: HoldKeeper
    users: int = 0
    """Callers that still need it."""
    ending: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Its link is closed, and nothing is done with it any more."""
    _calls: set[asyncio.Task[Any]] = field(default_factory=set["asyncio.Task[Any]"])
    _cut: set[asyncio.Task[Any]] = field(default_factory=set["asyncio.Task[Any]"])
    _quiet: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def held(self) -> bool:
        return self.keeper.held

    def check(self) -> None:
        """Raise `HeldElsewhere` if the account must not be used any more."""
        if not self.held:
            raise HeldElsewhere(self.account_id)

    async def call(self, call: Callable[[], Awaitable[Answer]], *, sends: bool = False) -> Answer:
        """Make a call while the account is held; one that is cut off when the hold ends may have happened."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - whoever awaits is a task
        # Nothing may come between this check and the call.
        self.check()
        self._calls.add(task)
        try:
            return await call()
        except asyncio.CancelledError:
            if task not in self._cut or task.uncancel() > 0:
                raise
            if sends:
                raise Ambiguous("the hold on the account ended") from None
            raise HeldElsewhere(self.account_id) from None
        finally:
            self._calls.discard(task)
            self._cut.discard(task)
            if not self._calls:
                self._quiet.set()

    async def end_calls(self) -> None:
        """Cut off the calls under way, and wait until they have ended."""
        self._quiet.clear()
        for task in self._calls:
            self._cut.add(task)
            task.cancel()
        if self._calls:
            await self._quiet.wait()


@dataclass
class Holds:
    """The accounts that this process holds, and those it waits for."""

    database: Database
    clock: Clock
    holder: str
    close_link: Callable[[UUID], Awaitable[None]]
    resident: bool = False
    """This process runs jobs, so it keeps what it holds; others give an account back after each use."""
    changed: Callable[[frozenset[UUID]], None] = lambda _: None
    """Told which accounts are held, whenever that changes."""
    _held: dict[UUID, Hold] = field(default_factory=dict[UUID, Hold])
    _watches: dict[UUID, _Watch] = field(default_factory=dict[UUID, "_Watch"])
    _tasks: set[asyncio.Task[None]] = field(default_factory=set["asyncio.Task[None]"])

    async def take(self, account_id: UUID) -> Hold:
        """Return the hold on an account; raise `HeldElsewhere` if another process has it or it is ending."""
        known = self._held.get(account_id)
        if known is not None and known.held:
            return known
        token, asked_at_s = uuid4(), self.clock.monotonic()
        row: account_holds.HoldRow | None = None
        async with self.database.autocommit() as tx:
            taken = known is None and await account_holds.take_hold(
                tx, account_id, token=token, holder=self.holder
            )
            if not taken:
                row = await account_holds.get_hold(tx, account_id)
        if not taken:
            self.watch(account_id)
            raise HeldElsewhere(account_id, holder=row.holder if row else "")
        lease = Lease(f"link:{account_id}", token, self.holder, RELY_S / CERTAIN_PART, asked_at_s + RELY_S)
        hold = Hold(account_id, HoldKeeper(self.database, self.clock, account_id, lease))
        self._held[account_id] = hold
        hold.keeper.start()
        self._start(self._see_off(hold))
        self._tell()
        if watch := self._watches.get(account_id):
            watch.noticed.set()
        return hold

    def get(self, account_id: UUID) -> Hold | None:
        return self._held.get(account_id)

    async def release(self, account_id: UUID) -> None:
        """Give an account back, if it is held here: to whoever needs it next, at once."""
        hold = self._held.get(account_id)
        if hold is not None:
            hold.keeper.lost.set()
            await self._end(hold)

    async def keep_only(self, accounts: set[UUID]) -> None:
        """Give back what is not to be used any more."""
        for account_id in self._held.keys() - accounts:
            await self.release(account_id)

    async def close(self) -> None:
        """Give everything back, and wait for nothing any more."""
        for account_id in list(self._held):
            await self.release(account_id)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._watches.clear()

    def watch(self, account_id: UUID) -> asyncio.Event:
        """Watch another process's hold, and end it if it falls silent; the event is set when it is gone."""
        watch = self._watches.get(account_id)
        if watch is None:
            watch = self._watches[account_id] = _Watch()
            self._start(self._watch(account_id, watch))
        return watch.gone

    def hear(self, payload: str | None) -> None:
        """Take a notice that a hold may have ended, or that an account may not be used any more."""
        for account_id, watch in self._watches.items():
            if payload in (None, str(account_id)):
                watch.noticed.set()
        for account_id in list(self._held):
            if payload in (None, str(account_id)):
                self._start(self._check_state(account_id))

    async def _check_state(self, account_id: UUID) -> None:
        with suppress(DatabaseAway):
            async with self.database.autocommit() as tx:
                watcher = await get_watcher(tx, account_id)
            if watcher is None or watcher.state != "active":
                await self.release(account_id)

    async def _see_off(self, hold: Hold) -> None:
        await hold.keeper.lost.wait()
        await self._end(hold)

    async def _end(self, hold: Hold) -> None:
        """End the calls and the link, and only then the hold; one that cannot is ended by a watcher."""
        if hold.ending:
            await hold.over.wait()
            return
        hold.ending = True
        self._tell()
        try:
            await hold.keeper.stop()
            if await self._close(hold):
                await self._free(hold)
        finally:
            self._held.pop(hold.account_id, None)
            hold.over.set()

    async def _close(self, hold: Hold) -> bool:
        try:
            async with self.clock.timeout(END_S):
                await hold.end_calls()
                await self.close_link(hold.account_id)
        except Exception as error:  # noqa: BLE001 - whatever a connector raises when it is closed
            log.warning("a link could not be closed", account=str(hold.account_id), reason=repr(error))
            return False
        return True

    async def _free(self, hold: Hold) -> None:
        with suppress(DatabaseAway, TimeoutError):
            async with self.clock.timeout(END_S), self.database.transaction() as tx:
                await account_holds.end_hold(tx, hold.account_id, token=hold.keeper.lease.token)

    async def _watch(self, account_id: UUID, watch: _Watch) -> None:
        try:
            while True:
                # Before the look: a notice that comes during it asks for another one.
                watch.noticed.clear()
                if await self._look(account_id, watch):
                    return
                with suppress(TimeoutError):
                    async with self.clock.timeout(WATCH_S):
                        await watch.noticed.wait()
        finally:
            self._watches.pop(account_id, None)
            watch.gone.set()

    async def _look(self, account_id: UUID, watch: _Watch) -> bool:
        """Tell whether the account is free or ours by now; end a hold that was not renewed for too long."""
        try:
            async with self.database.autocommit() as tx:
                row = await account_holds.get_hold(tx, account_id)
            # After the answer: what is seen now was renewed before.
            now_s = self.clock.monotonic()
            if row is None or self._is_ours(account_id):
                return True
            if row != watch.seen:
                watch.seen, watch.since_s = row, now_s
                return False
            if now_s - watch.since_s < SILENT_S:
                return False
            log.warning("a process fell silent; the account that it held is free", holder=row.holder)
            async with self.database.transaction() as tx:
                return await account_holds.end_hold(tx, account_id, token=row.token, renewals=row.renewals)
        except DatabaseAway:
            return False

    def _is_ours(self, account_id: UUID) -> bool:
        hold = self._held.get(account_id)
        return hold is not None and not hold.ending

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _tell(self) -> None:
        self.changed(frozenset(filter(self._is_ours, self._held)))


@dataclass(eq=False)
class _Watch:
    """What was last seen of another's hold, and since when."""

    seen: account_holds.HoldRow | None = None
    since_s: float = 0.0
    noticed: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
