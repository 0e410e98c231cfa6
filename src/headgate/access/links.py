"""Links that open the door once: for the first administrator, and into the demo."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from headgate.access.tokens import new_token, token_hash
from headgate.domain.errors import UserError
from headgate.kernel.clock import Clock, RealClock
from headgate.kernel.ids import Ids
from headgate.storage.access import users
from headgate.storage.database import Database

SETUP_LIFE = timedelta(hours=24)
DEMO_USER = "demo"
_NO_PASSWORD = "made by the demo"  # noqa: S105 - the hash of no password, and the mark of the demo's own user


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
    """Return a link that opens the demo signed in, as a user of its own whom no password lets in."""
    now = (real_clock or RealClock()).now()
    async with database.transaction() as tx:
        user = await users.insert_user(
            tx, user_id=ids.new(), name=DEMO_USER, password_hash=_NO_PASSWORD, role="admin", now=now
        ) or await users.get_user_by_name(tx, DEMO_USER)
    if user is None or user.password_hash != _NO_PASSWORD:
        raise UserError(
            f"The user {DEMO_USER!r} was not created by the demo, so the demo cannot sign you in as them.",
            remedy="Start with an empty library.",
            command="headgate demo --fresh",
        )
    return EntryLink(new_token(), user.id)
