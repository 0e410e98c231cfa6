"""Links that open the door once: for the first administrator, and into the demo."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from headgate.kernel.clock import Clock, RealClock
from headgate.kernel.ids import Ids
from headgate.storage import users
from headgate.storage.database import Database
from headgate.web.passwords import Passwords
from headgate.web.tokens import new_token, token_hash

SETUP_LIFE = timedelta(hours=24)
DEMO_USER = "demo"


@dataclass(frozen=True)
class EntryLink:
    """A way in without a password, held in the memory of one process and gone with it."""

    token: str = field(repr=False)
    user_id: UUID

    @property
    def path(self) -> str:
        return f"/enter/{self.token}"


async def create_setup_link(database: Database, real_clock: Clock | None = None) -> str | None:
    """Return the path of a fresh one-time link to make the administrator; nothing once a user exists.

    Earlier links stop working, so that of many starts only the last printed one is good.
    """
    now = (real_clock or RealClock()).now()
    token = new_token()
    async with database.transaction() as tx:
        await users.lock_users(tx)
        if await users.count_users(tx):
            return None
        await users.delete_setup_links(tx)
        await users.insert_setup_link(tx, token_hash(token), now=now, expires_at=now + SETUP_LIFE)
    return f"/setup/{token}"


async def create_entry_link(database: Database, ids: Ids, real_clock: Clock | None = None) -> EntryLink:
    """Return a link that opens the demo signed in; its user has a password that nobody knows."""
    now = (real_clock or RealClock()).now()
    password_hash = await Passwords().hash(new_token())
    async with database.transaction() as tx:
        user = await users.insert_user(
            tx, user_id=ids.new(), name=DEMO_USER, password_hash=password_hash, role="admin", now=now
        ) or await users.get_user_by_name(tx, DEMO_USER)
    if user is None:
        raise RuntimeError("the demo's user vanished while its link was made")
    return EntryLink(new_token(), user.id)
