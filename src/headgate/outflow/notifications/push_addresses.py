"""The addresses that a user's notifications go out to: adding, testing, switching, removing.

An address is a secret: it is sealed when it is added and never shown again, only which service it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from uuid import UUID

from headgate.domain.errors import NotFound, UserError
from headgate.domain.notifications.digests import PushMessage
from headgate.domain.notifications.push_reach import PushLimits, limits_of
from headgate.domain.pacing import ComeBackLater, LanePlan
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.lanes import Lanes
from headgate.outflow.notifications.push_out import (
    PLAN,
    Pusher,
    PushOutcome,
    get_limits,
    read_url,
    send_paced,
)
from headgate.outflow.notifications.push_rules import check_reach
from headgate.storage.access import users
from headgate.storage.access.users import Role
from headgate.storage.database import Database, Tx
from headgate.storage.errors import Refused
from headgate.storage.events import Event, publish
from headgate.storage.lanes.lanes import delete_lanes
from headgate.storage.notifications import push_addresses, pushes
from headgate.storage.notifications.push_addresses import (
    NEWEST_PUSH,
    URL,
    Push,
    PushAddress,
    PushCursor,
    secret_owner,
)
from headgate.storage.secrets import delete_secret, open_vault, put_secret

MAX_NAME = 100
MAX_URL = 4000
MAX_ADDRESSES = 50
MAX_CHECKS = 2
"""Addresses of one user that are checked at once."""
PAGE = 50
SWITCHED_OFF = "The address was switched off before it went out."
TEST = PushMessage("Headgate", "This is a test. Notifications will arrive here.")


@dataclass
class PushAddresses:
    """What a user can do with addresses."""

    pusher: Pusher
    lanes: Lanes
    clock: Clock
    ids: Ids
    data_dir: Path
    plan: LanePlan = PLAN
    allow_private: bool = False
    """Members may push to hosts of this machine's network, too."""
    _checks: Counter[UUID] = field(default_factory=Counter[UUID], init=False)

    async def add(
        self, database: Database, url: str, *, name: str, user_id: UUID, role: Role = "admin"
    ) -> UUID:
        """Add an address under a name, as far as its adder's role and its owner's allow; returns its id."""
        name = _checked_name(name)
        if len(url) > MAX_URL:
            raise UserError(
                "This address is too long.", remedy="Check that only the address was pasted.", field="url"
            )
        async with database.transaction() as tx:
            owner = await users.get_user(tx, user_id)
        if owner is None or owner.role != "admin":
            role = "member"
        # Not within a transaction: a resolver may take seconds to answer.
        with self._checking(user_id):
            limits = limits_of(role, allow_private=self.allow_private)
            await check_reach(self.pusher.reach(url), limits)
        shown = self.pusher.recognise(url)
        async with database.transaction() as tx:
            return await self._insert(tx, url, name=name, shown=shown, user_id=user_id, role=role)

    @contextmanager
    def _checking(self, user_id: UUID) -> Generator[None, None, None]:
        """Let a user check a few addresses at once, and no more."""
        if self._checks[user_id] >= MAX_CHECKS:
            raise UserError(
                "Other addresses of yours are being checked.", remedy="Try again in a few seconds."
            )
        self._checks[user_id] += 1
        try:
            yield
        finally:
            self._checks[user_id] -= 1
            self._checks += Counter()

    async def _insert(self, tx: Tx, url: str, *, name: str, shown: str, user_id: UUID, role: Role) -> UUID:
        if await push_addresses.count_addresses(tx, user_id=user_id) >= MAX_ADDRESSES:
            raise UserError(
                f"You can have at most {MAX_ADDRESSES} addresses.", remedy="Remove one that you do not need."
            )
        address_id = self.ids.new()
        now = self.clock.now()
        if not await push_addresses.insert_address(
            tx, address_id, user_id=user_id, name=name, shown=shown, added_as=role, now=now
        ):
            raise _name_taken(name)
        vault = await open_vault(tx, self.data_dir)
        await put_secret(tx, vault, url.strip(), owner=secret_owner(address_id), name=URL)
        return address_id

    async def rename(self, tx: Tx, address_id: UUID, name: str, *, user_id: UUID) -> None:
        await self.get(tx, address_id, user_id=user_id)
        name = _checked_name(name)
        try:
            await push_addresses.rename_address(tx, address_id, user_id=user_id, name=name)
        except Refused as error:
            raise _name_taken(name) from error

    async def enable(self, tx: Tx, address_id: UUID, *, user_id: UUID, enabled: bool) -> None:
        """Switch an address on or off. What comes while it is off does not go out later."""
        await self.get(tx, address_id, user_id=user_id)
        await push_addresses.set_enabled(
            tx, address_id, user_id=user_id, enabled=enabled, error=SWITCHED_OFF, now=self.clock.now()
        )

    async def remove(self, tx: Tx, address_id: UUID, *, user_id: UUID) -> None:
        """Remove an address with its secret, its pace and its history."""
        if not await push_addresses.delete_address(tx, address_id, user_id=user_id):
            raise _no_such_address()
        await delete_secret(tx, owner=secret_owner(address_id), name=URL)
        await delete_lanes(tx, owner=secret_owner(address_id))

    async def get(self, tx: Tx, address_id: UUID, *, user_id: UUID) -> PushAddress:
        found = await push_addresses.get_address(tx, address_id, user_id=user_id)
        if found is None:
            raise _no_such_address()
        return found

    async def list_all(self, tx: Tx, *, user_id: UUID) -> list[PushAddress]:
        return await push_addresses.list_addresses(tx, user_id=user_id)

    async def list_pushes(
        self, tx: Tx, address_id: UUID, *, user_id: UUID, below: PushCursor = NEWEST_PUSH, limit: int = PAGE
    ) -> list[Push]:
        """Return what went out to an address, the newest below a place."""
        await self.get(tx, address_id, user_id=user_id)
        return await push_addresses.list_pushes(tx, address_id, user_id=user_id, below=below, limit=limit)

    async def repeat(self, tx: Tx, push_id: UUID, *, address_id: UUID, user_id: UUID) -> None:
        """Send a failed or uncertain push again, because a person wants it."""
        await self.get(tx, address_id, user_id=user_id)
        if await push_addresses.repeat_push(tx, push_id, user_id=user_id, now=self.clock.now()) is None:
            raise UserError(
                "This cannot be sent again.",
                remedy="Only failed or uncertain pushes can be sent again, while no other push to the address"
                " is running.",
            )

    async def test(self, database: Database, address_id: UUID, *, user_id: UUID) -> PushOutcome:
        """Send a test message now, at the pace of the address, and tell what became of it."""
        async with database.transaction() as tx:
            await self.get(tx, address_id, user_id=user_id)
        url = await read_url(database, self.data_dir, address_id)

        async def begin() -> PushLimits | None:
            async with database.transaction() as tx:
                return await get_limits(tx, address_id, allow_private=self.allow_private)

        try:
            outcome = await send_paced(
                self.lanes, self.pusher, url, TEST, address_id, plan=self.plan, begin=begin
            )
        except ComeBackLater as error:
            raise UserError(
                "Too many messages went to this address just now.",
                remedy=f"Try again in {max(1, round(error.delay_s))} seconds.",
            ) from error
        if outcome is None:
            raise RuntimeError("a test did not begin")
        async with database.transaction() as tx:
            await self._note(tx, address_id, outcome, now=self.clock.now())
        return outcome

    async def _note(self, tx: Tx, address_id: UUID, outcome: PushOutcome, *, now: datetime) -> None:
        """An address that works again need not wait; one that fails a test is not blamed for it."""
        address = await pushes.lock_address(tx, address_id)
        if address is None:
            return
        if outcome.state == "sent":
            await pushes.note_sent(tx, address_id, now=now)
            if address.enabled and await pushes.has_waiting(tx, address_id):
                await pushes.set_due(tx, address_id, now)
        else:
            await pushes.note_failed(tx, address_id, breaker=address.breaker, error=outcome.error, now=now)
        await publish(tx, Event("pushes", audience=address.user_id))


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise UserError(
            f"An address needs a name of 1 to {MAX_NAME} characters.",
            remedy="Give it another name.",
            field="name",
        )
    return name


def _name_taken(name: str) -> UserError:
    return UserError(f"There is already an address {name!r}.", remedy="Choose another name.", field="name")


def _no_such_address() -> NotFound:
    return NotFound("There is no such address.", remedy="It may have been removed.")
