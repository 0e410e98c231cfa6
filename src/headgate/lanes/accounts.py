"""Accounts that cannot work any more say so, once; who stands by takes over, the rest waits for them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from headgate.domain.errors import AuthFailed, Restricted
from headgate.kernel.logs import get_logger
from headgate.lanes.links import AccountRef
from headgate.storage.channels.channels import suspend_account
from headgate.storage.database import Database
from headgate.storage.streams.watches import pass_on

log = get_logger("lanes")


async def note_account(
    database: Database, account: AccountRef, error: AuthFailed | Restricted, *, now: datetime
) -> set[UUID]:
    """Write down why an account cannot be used, for a person to mend; returns what others read now."""
    state = "needs_login" if isinstance(error, AuthFailed) else "restricted"
    async with database.transaction() as tx:
        if not await suspend_account(tx, account.id, sign_in=account.sign_in, state=state, reason=str(error)):
            # Somebody has signed it in again meanwhile.
            return set()
        log.warning("an account cannot be used", account=account.name, state=state, reason=str(error))
        return await pass_on(tx, account.id, now=now)
