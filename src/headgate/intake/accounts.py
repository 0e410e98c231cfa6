"""Accounts that cannot work any more say so, once; their streams wait for them."""

from __future__ import annotations

from headgate.domain.errors import AuthFailed, Restricted
from headgate.intake.links import AccountRef
from headgate.kernel.logs import get_logger
from headgate.storage.channels import set_account_state
from headgate.storage.database import Database

log = get_logger("intake")


async def note_account(database: Database, account: AccountRef, error: AuthFailed | Restricted) -> None:
    """Write down why an account cannot be used; a person sees it and mends it."""
    state = "needs_login" if isinstance(error, AuthFailed) else "restricted"
    async with database.transaction() as tx:
        if await set_account_state(tx, account.id, state=state, reason=str(error)):
            log.warning("an account cannot be used", account=account.name, state=state, reason=str(error))
