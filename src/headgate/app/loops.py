"""The loops of a running process: the tick, and one listener an account. Each holds a lease.

A loop never ends by an error: it says what happened, waits a little longer each time, and goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from headgate.app.parts import Parts, holder_name
from headgate.intake.streams.live import LiveIntake
from headgate.kernel.logs import get_logger
from headgate.lanes.links import AccountRef
from headgate.storage.channels.channels import Account, list_accounts
from headgate.storage.jobs.leases import LeaseKeeper, take_lease

log = get_logger("app")

LEASE_S = 6.0
CHECK_S = 5.0
FIRST_PAUSE_S = 1.0
MAX_PAUSE_S = 30.0


@asynccontextmanager
async def under_lease(parts: Parts, name: str) -> AsyncGenerator[LeaseKeeper, None]:
    """Wait for a lease, hold it in the block, and give it back."""
    while True:
        lease = await take_lease(
            parts.database, parts.clock, name=name, holder=holder_name(), token=uuid4(), ttl_s=LEASE_S
        )
        if lease is not None:
            break
        await parts.clock.sleep(LEASE_S / 3)
    async with LeaseKeeper(parts.database, parts.clock, lease) as keeper:
        yield keeper


async def keep_going(parts: Parts, what: str, work: Callable[[], Awaitable[None]]) -> None:
    """Do the work again and again, whatever it ends with."""
    pause_s = FIRST_PAUSE_S
    while True:
        began_s = parts.clock.monotonic()
        try:
            await work()
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - said aloud, and tried again
            log.warning("a loop stopped; it goes on", loop=what, reason=f"{type(error).__name__}: {error}")
        if parts.clock.monotonic() - began_s > MAX_PAUSE_S:
            pause_s = FIRST_PAUSE_S
        await parts.clock.sleep(pause_s)
        pause_s = min(pause_s * 2, MAX_PAUSE_S)


async def run_tick(parts: Parts) -> None:
    """Tick while the lease is ours."""
    tick = parts.tick()
    async with under_lease(parts, "tick") as keeper:
        while keeper.held:
            await tick.tick(parts.clock.now())
            await parts.clock.sleep(parts.settings.jobs.tick_s)


@dataclass
class Listeners:
    """One listener for each account that can have one."""

    parts: Parts
    _tasks: dict[tuple[UUID, int], asyncio.Task[None]] = field(
        default_factory=dict[tuple[UUID, int], asyncio.Task[None]]
    )

    async def run(self) -> None:
        """Look for accounts now and then, and listen with each of them."""
        try:
            while True:
                await self._check()
                await self.parts.clock.sleep(CHECK_S)
        finally:
            tasks, self._tasks = list(self._tasks.values()), {}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _check(self) -> None:
        async with self.parts.database.transaction() as tx:
            accounts = await list_accounts(tx)
        await self._look_after_holds(accounts)
        # Another sign-in is another listener.
        wanted = {(account.id, account.sign_in): account for account in accounts if self._can_listen(account)}
        for which in self._tasks.keys() - wanted.keys():
            self._tasks.pop(which).cancel()
        for which, account in wanted.items():
            if which not in self._tasks or self._tasks[which].done():
                self._tasks[which] = asyncio.create_task(self._listen(account))

    async def _look_after_holds(self, accounts: Sequence[Account]) -> None:
        """Give back accounts that may not be used, and watch those that other processes hold."""
        links = self.parts.links
        usable = {account.id for account in accounts if self._is_exclusive(account)}
        await links.holds.keep_only(usable)
        for account_id in usable:
            if links.holds.get(account_id) is None:
                links.holds.watch(account_id)

    def _is_exclusive(self, account: Account) -> bool:
        connector = self.parts.links.connectors.get(account.platform)
        return account.state == "active" and connector is not None and connector.manifest.exclusive

    def _can_listen(self, account: Account) -> bool:
        connector = self.parts.links.connectors.get(account.platform)
        return account.state == "active" and connector is not None and connector.manifest.live != "none"

    async def _listen(self, account: Account) -> None:
        reference = AccountRef(
            account.id, account.platform, account.name, account.established, account.sign_in
        )
        parts = self.parts
        intake = LiveIntake(
            reference,
            parts.links.manifest(account.platform),
            parts.database,
            parts.clock,
            parts.ids,
            parts.rules,
        )

        async def listen() -> None:
            # Only the process that holds an exclusive account can listen with it.
            right = (
                parts.links.holding(reference)
                if self._is_exclusive(account)
                else under_lease(parts, f"listen:{account.id}")
            )
            async with right as keeper:
                await keeper.run(intake.run(parts.links))

        await keep_going(self.parts, f"listening with {account.name}", listen)
