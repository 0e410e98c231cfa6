"""What an address names, or a page that says that it is not there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from uuid import UUID
from zoneinfo import available_timezones

from headgate.storage.channels.channels import Account, list_accounts
from headgate.storage.database import Tx
from headgate.storage.reminders.reminder_overview import FullReminder, get_reminder
from headgate.storage.sending.run_overview import RunLine, get_run
from headgate.web.errors import not_found


async def known_reminder(tx: Tx, reminder_id: UUID) -> FullReminder:
    full = await get_reminder(tx, reminder_id)
    if full is None:
        raise not_found("There is no such reminder.")
    return full


async def known_run(tx: Tx, run_id: UUID) -> RunLine:
    run = await get_run(tx, run_id)
    if run is None:
        raise not_found("There is no such run.")
    return run


async def known_account(tx: Tx, account_id: UUID) -> Account:
    for account in await list_accounts(tx):
        if account.id == account_id:
            return account
    raise not_found("There is no such account.")


@cache
def list_zones() -> Sequence[str]:
    """Return the names of all time zones that people would look for."""
    return sorted(name for name in available_timezones() if "/" in name or name == "UTC")
