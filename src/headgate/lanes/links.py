"""Open connections to platforms, and the one way to call them: paced by a lane, errors classified.

An account that cannot be used is suspended here, whatever the call was for. Callers see an `AccountTrouble`,
and a job that does not catch it just ends: its work waits for the account, or has gone to another one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple
from uuid import UUID

from headgate.connectors.protocol import CallKind, Connector, Link, Manifest
from headgate.domain.errors import AccountTrouble, Elsewhere, HeldElsewhere, WorkError, error_class
from headgate.domain.pacing import HORIZON_S, LanePlan
from headgate.kernel.logs import get_logger
from headgate.lanes import measures
from headgate.lanes.account_memory import AccountMemory, Secrets
from headgate.lanes.guarded_link import GuardedLink
from headgate.lanes.holds import Hold, HoldKeeper, Holds
from headgate.lanes.lane import Lanes, PermitStock
from headgate.lanes.plans import plan_lanes
from headgate.storage.channels.channels import suspend_account
from headgate.storage.gathering import Gatherer
from headgate.storage.listings.hosts import HostName
from headgate.storage.streams.watches import pass_on

log = get_logger("lanes")

Called = CallKind | Literal["listen", "open"]
"""What is counted: calls with a lane, and connections."""
HOST_KINDS: frozenset[CallKind] = frozenset({"list", "sweep", "find"})
"""Calls that a host counts, across all accounts."""


@dataclass(frozen=True)
class AccountRef:
    """What is needed to open an account."""

    id: UUID
    platform: str
    name: str
    established: bool
    sign_in: int = 0
    """Which sign-in of the account is meant; a connection of an older one is closed."""


class _OpenLink(NamedTuple):
    link: Link
    memory: AccountMemory
    hold: Hold | None


@dataclass
class Links:
    """The open connections of this process, one an account."""

    connectors: Mapping[str, Connector]
    lanes: Lanes
    secrets: Secrets
    send_per_minute: float | None = None
    """The most messages a minute of accounts whose pace nobody has set; None: as the connectors say."""
    holder: str = ""
    """What people know this process by."""
    _open: dict[UUID, _OpenLink] = field(default_factory=dict[UUID, "_OpenLink"])
    _opening: dict[UUID, asyncio.Lock] = field(default_factory=dict[UUID, asyncio.Lock])
    _hosts: set[str] = field(default_factory=set[str])
    """Owners of lanes of hosts that are there."""

    def __post_init__(self) -> None:
        self.holds = Holds(self.lanes.database, self.lanes.clock, self.holder, self._close)
        self._new_hosts = Gatherer(self._ensure_hosts)

    def manifest(self, platform: str) -> Manifest:
        return self._connector(platform).manifest

    def plans_of(self, platform: str) -> list[LanePlan]:
        """Return the lanes that an account of a platform gets."""
        return plan_lanes(self.manifest(platform).lanes, send_per_minute=self.send_per_minute)

    def host_plans(self, platform: str) -> list[LanePlan]:
        """Return the lanes that a host of a platform gets."""
        lanes = self.manifest(platform).lanes
        plans = plan_lanes({kind: lane for kind, lane in lanes.items() if kind in HOST_KINDS})
        return [replace(plan, by_day=False) for plan in plans]

    def host_of(self, platform: str, listing: str) -> str:
        """Return the host that answers for a listing."""
        return self._connector(platform).host_of(listing)

    def key_of(self, platform: str, listing: str) -> str:
        """Return the one name of a listing; raise `Malformed` for what cannot be one."""
        return self._connector(platform).key_of(listing)

    @asynccontextmanager
    async def call(
        self,
        account: AccountRef,
        kind: CallKind,
        *,
        host: str = "",
        patience_s: float = HORIZON_S,
        stock: PermitStock | None = None,
    ) -> AsyncGenerator[Link, None]:
        """Make one call in the block, when its lane permits it; whatever it raises is one of our errors.

        The lane is the account's, or the host's where one is named: it counts calls by address. A lane that
        is not free within the patience raises `ComeBackLater`; an account that another process holds,
        `HeldElsewhere`.
        """
        async with self._suspending(account), self._using(account):
            link = (await self._opened(account)).link
            owner = await self._host_lanes(account.platform, host) if host else str(account.id)
            async with (
                self.lanes.call(owner, kind, patience_s=patience_s, stock=stock),
                self._classifying(account, kind),
            ):
                yield link

    @asynccontextmanager
    async def listening(self, account: AccountRef) -> AsyncGenerator[Link, None]:
        """Listen in the block; a connection that ends by an error is opened anew the next time."""
        async with self._suspending(account):
            try:
                async with self._classifying(account, "listen"):
                    opened = await self._opened(account)
                    await opened.memory.load()
                    yield opened.link
            except WorkError:
                await self.drop(account.id)
                raise

    def classify(self, account: AccountRef, error: Exception) -> WorkError:
        """Return what an exception of the account's platform means to us."""
        return error if isinstance(error, WorkError) else self._connector(account.platform).classify(error)

    async def suspend(self, account: AccountRef, error: AccountTrouble) -> None:
        """Write down why an account cannot be used, for a person to repair, and let others read for it.

        The connection is closed: after the next sign-in it would be that of a session that has ended.
        """
        await self.drop(account.id)
        await self.holds.release(account.id)
        state = error.account_state
        async with self.lanes.database.transaction() as tx:
            # Nothing changes if somebody has signed it in again meanwhile, or if this is known.
            if await suspend_account(tx, account.id, sign_in=account.sign_in, state=state, reason=str(error)):
                log.warning("an account cannot be used", account=account.name, state=state, reason=str(error))
                await pass_on(tx, account.id, now=self.lanes.clock.now())

    @asynccontextmanager
    async def _suspending(self, account: AccountRef) -> AsyncGenerator[None, None]:
        try:
            yield
        except AccountTrouble as error:
            await self.suspend(account, error)
            raise

    def note_call(self, account: AccountRef, kind: Called, error: WorkError | None = None) -> None:
        """Count a call that has ended, by the class of its error; calls in a block of `call` are counted."""
        result = "done" if error is None else error_class(error)
        measures.calls_of(account.platform, kind, result).inc()

    @asynccontextmanager
    async def _classifying(self, account: AccountRef, kind: Called) -> AsyncGenerator[None, None]:
        try:
            yield
        except Exception as raised:
            error = self.classify(account, raised)
            self.note_call(account, kind, error)
            if error is raised:
                raise
            raise error from raised
        self.note_call(account, kind)

    async def link(self, account: AccountRef) -> Link:
        """Return the open connection of an account; open it if need be."""
        async with self._suspending(account):
            return (await self._opened(account)).link

    async def require(self, account: AccountRef) -> None:
        """Make sure that this process may open an account; raise `HeldElsewhere` if only another one may."""
        if self.manifest(account.platform).exclusive:
            async with self._lock(account.id):
                await self.holds.take(account.id)

    @asynccontextmanager
    async def holding(self, account: AccountRef) -> AsyncGenerator[HoldKeeper, None]:
        """Wait until this process holds an exclusive account, however long that takes."""
        while True:
            try:
                async with self._lock(account.id):
                    hold = await self.holds.take(account.id)
            except HeldElsewhere:
                await self.holds.watch(account.id).wait()
            else:
                break
        async with self._using(account):
            yield hold.keeper

    @asynccontextmanager
    async def _using(self, account: AccountRef) -> AsyncGenerator[None, None]:
        """Need an account in the block; a process that works for none gives it back afterwards."""
        if self.holds.resident or not self.manifest(account.platform).exclusive:
            yield
            return
        async with self._lock(account.id):
            hold = await self.holds.take(account.id)
            hold.users += 1
        try:
            yield
        finally:
            hold.users -= 1
            if not hold.users:
                await self.holds.release(account.id)

    async def _opened(self, account: AccountRef) -> _OpenLink:
        exclusive = self.manifest(account.platform).exclusive
        async with self._lock(account.id):
            hold = await self.holds.take(account.id) if exclusive else None
            opened = self._open.get(account.id)
            if opened is not None and opened.memory.sign_in == account.sign_in and opened.hold is hold:
                return opened
            await self._close(account.id)
            opened = self._open[account.id] = await self._connect(account, hold)
            return opened

    def _lock(self, account_id: UUID) -> asyncio.Lock:
        return self._opening.setdefault(account_id, asyncio.Lock())

    async def drop(self, account_id: UUID) -> None:
        """Close an account's connection; the next call opens a new one, and not before."""
        async with self._lock(account_id):
            await self._close(account_id)

    async def _close(self, account_id: UUID) -> None:
        opened = self._open.pop(account_id, None)
        if opened is not None:
            await opened.link.close()

    async def close(self) -> None:
        await self.holds.close()
        for account_id in list(self._open):
            await self.drop(account_id)

    async def _connect(self, account: AccountRef, hold: Hold | None) -> _OpenLink:
        connector = self._connector(account.platform)
        plans = self.plans_of(account.platform)
        await self.lanes.ensure(str(account.id), plans, established=account.established)
        secrets = await self.secrets.secrets_of(account.id)
        memory = AccountMemory(self.lanes.database, self.secrets, account.id, account.sign_in)
        await memory.load()
        async with self._classifying(account, "open"):
            if hold is None:
                return _OpenLink(await connector.open(account.name, secrets, memory), memory, None)
            link = await hold.call(lambda: connector.open(account.name, secrets, memory))
            return _OpenLink(GuardedLink(link, hold), memory, hold)

    async def _host_lanes(self, platform: str, host: str) -> str:
        """Return the owner of a host's lanes; set them up if need be."""
        owner = HostName(platform, host).lane_owner
        if owner not in self._hosts:
            await self._new_hosts.ask((platform, owner))
            self._hosts.add(owner)
        return owner

    async def _ensure_hosts(self, owners: Sequence[tuple[str, str]]) -> list[None]:
        for platform in sorted({platform for platform, _ in owners}):
            named = sorted({owner for of, owner in owners if of == platform})
            await self.lanes.ensure_all(named, self.host_plans(platform), established=True)
        return [None] * len(owners)

    def _connector(self, platform: str) -> Connector:
        connector = self.connectors.get(platform)
        if connector is None:
            raise Elsewhere(f"there is no connector for the platform {platform!r} in this installation")
        return connector
