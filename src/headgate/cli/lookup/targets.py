"""From what a person types to the targets and the platform that are meant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from headgate.cli.lookup.channels import get_account, nearest
from headgate.domain.errors import UserError
from headgate.storage.channels.channels import list_accounts
from headgate.storage.database import Tx
from headgate.storage.reminders.targets import NamedTarget, find_targets, list_target_names


async def get_targets(tx: Tx, references: Sequence[str], *, platform: str) -> list[UUID]:
    """Return the targets that are meant, in the order typed; say which could be where one is not clear."""
    found: dict[str, list[NamedTarget]] = defaultdict(list)
    for one in await find_targets(tx, references, platform=platform):
        found[one.reference].append(one)
    for reference in references:
        if not found[reference]:
            raise await _unknown(tx, reference, platform)
        if len(found[reference]) > 1:
            listed = "; ".join(f"{one.key} ({one.title})" for one in found[reference][:5])
            raise UserError(
                f"{len(found[reference])} targets are called {reference!r}.",
                remedy=f"Use the key of one: {listed}.",
            )
    return [found[reference][0].id for reference in dict.fromkeys(references)]


async def _unknown(tx: Tx, reference: str, platform: str) -> UserError:
    near = nearest(reference, await list_target_names(tx, platform=platform))
    meant = f"Did you mean {near}? " if near else ""
    return UserError(
        f"There is no target {reference!r} on {platform}.",
        remedy=meant,
        command="headgate target refresh ACCOUNT",
    )


async def platform_of(tx: Tx, account: str) -> str:
    """Return the platform of an account; without one, the only platform there is."""
    if account:
        return (await get_account(tx, account)).platform
    platforms = sorted({one.platform for one in await list_accounts(tx)})
    if len(platforms) != 1:
        raise UserError(
            "The platform of the targets is not clear.",
            remedy="Name an account on it with --account." if platforms else "Sign in an account first.",
            command="" if platforms else "headgate account add",
        )
    return platforms[0]
