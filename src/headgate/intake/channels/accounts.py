"""Actions on accounts: adding them, signing in and out, removing them.

An account cancels its jobs before it locks streams, as actions on channels do.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID

from headgate.connectors.login_steps import SignedIn
from headgate.domain.errors import UserError
from headgate.intake.streams.head_checks import KIND as CHECK
from headgate.jobs.kinds import Wake
from headgate.jobs.wake import cancel
from headgate.kernel.ids import Ids
from headgate.lanes.links import AccountRef, Links
from headgate.storage import secrets
from headgate.storage.channels import channels, discovery, following, requests
from headgate.storage.channels.channels import Account
from headgate.storage.channels.requests import HandedOver
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.jobs import account_holds
from headgate.storage.lanes import lanes
from headgate.storage.sending.run_controls import count_active_runs

HAND_OVER_S = 15.0
"""How long to wait for another process to let go of an account: longer than it takes to find that it died."""
IN_USE_S = 2.0
"""The same where nobody will let go: an account that works."""


@dataclass(frozen=True)
class NewAccount:
    """An account to add, with what its login returned; without a login it is added signed out."""

    platform: str
    name: str
    established: bool = False
    signed_in: SignedIn | None = None


@dataclass(frozen=True)
class SignedOut:
    """What became of an account's channels, and why the platform refused the logout, if it did."""

    handed_over: HandedOver
    problem: str = ""


async def add_account(tx: Tx, new: NewAccount, *, data_dir: Path, ids: Ids, now: datetime) -> Account:
    """Add an account, signed in or not."""
    account = Account(
        id=ids.new(),
        platform=new.platform,
        name=new.name,
        state="active" if new.signed_in else "needs_login",
        state_reason="" if new.signed_in else "It has not signed in yet.",
        established=new.established,
    )
    if not await channels.insert_account(tx, account, now=now):
        raise _taken(new.platform, new.name)
    if new.signed_in is not None:
        await _keep_secrets(tx, account.id, new.signed_in.secrets, data_dir=data_dir)
    await publish(tx, Event("channels"))
    return account


async def check_free(tx: Tx, *, platform: str, name: str) -> None:
    """Refuse a name that an account has, before anybody signs in under it."""
    if name and any((one.platform, one.name) == (platform, name) for one in await channels.list_accounts(tx)):
        raise _taken(platform, name)


def _taken(platform: str, name: str) -> UserError:
    return UserError(
        f"There is already an account {platform}/{name}.",
        command=f"headgate account login {name}",
        field="name",
    )


async def sign_in(
    tx: Tx, account_id: UUID, secrets: Mapping[str, str], *, data_dir: Path, now: datetime
) -> int:
    """Use an account again, with the secrets of a new login; returns how many channels are checked now."""
    await _forget_secrets(tx, account_id)
    await _keep_secrets(tx, account_id, secrets, data_dir=data_dir)
    return await reactivate(tx, account_id, now=now)


async def reactivate(tx: Tx, account_id: UUID, *, now: datetime) -> int:
    """Use an account again: its streams are due; breakers stay as they are."""
    await channels.set_account_state(tx, account_id, state="active", reason="")
    adopted = await following.adopt_streams(tx, account_id, now=now)
    woken = await requests.wake_account(tx, account_id, now=now)
    await publish(tx, Event("channels"))
    return max(adopted, woken)


async def log_out(links: Links, account: Account, *, data_dir: Path, now: datetime) -> SignedOut:
    """Sign an account out here, then on its platform."""
    connector = links.connectors[account.platform]
    async with links.lanes.database.transaction() as tx:
        known = await read_secrets(tx, account.id, data_dir=data_dir)
        handed_over = await sign_out(tx, account, now=now)
    # Ours first: whatever the platform answers, the account must not be used any more.
    try:
        async with used_alone(links, account, patience_s=HAND_OVER_S):
            await connector.logout(account.name, known)
    except UserError as error:
        return SignedOut(handed_over, str(error))
    except Exception as error:  # noqa: BLE001 - reported to the caller; the session ends here with its secrets
        return SignedOut(handed_over, str(connector.classify(error)))
    return SignedOut(handed_over)


@asynccontextmanager
async def used_alone(links: Links, account: Account, *, patience_s: float) -> AsyncGenerator[None, None]:
    """Use a session in this process only, where the platform allows one place; others get time to end."""
    if not links.manifest(account.platform).exclusive:
        yield
        return
    reference = AccountRef(account.id, account.platform, account.name, account.established, account.sign_in)
    async with AsyncExitStack() as stack:
        try:
            async with links.lanes.clock.timeout(patience_s):
                await stack.enter_async_context(links.holding(reference))
        except TimeoutError:
            raise await _in_use(links, account) from None
        yield


async def _in_use(links: Links, account: Account) -> UserError:
    async with links.lanes.database.transaction() as tx:
        hold = await account_holds.get_hold(tx, account.id)
    holder = hold.holder if hold else "another process"
    return UserError(
        f"{account.name} is in use by {holder}, and its session must not be open twice.",
        remedy="Sign it out first.",
        command=f"headgate account logout {account.name}",
    )


async def sign_out(tx: Tx, account: Account, *, now: datetime) -> HandedOver:
    """Stop using an account: stand-bys take over, and what no other account can read waits for it."""
    await cancel(tx, [Wake(CHECK, str(account.id))])
    await channels.set_account_state(tx, account.id, state="needs_login", reason="A person signed it out.")
    handed_over = await requests.hand_over(tx, account.id, keep=True, now=now)
    await _forget_secrets(tx, account.id)
    await account_holds.notify_hold(tx, account.id)
    await publish(tx, Event("channels"))
    return handed_over


async def check_removable(tx: Tx, account: Account) -> None:
    """Refuse to remove an account that is sending: nothing else could end its runs properly."""
    if active := await count_active_runs(tx, account.id):
        runs = "a run" if active == 1 else f"{active:,} runs"
        raise UserError(
            f"{account.name} has {runs} in progress.",
            remedy="Cancel what it sends, or send the rest from another account.",
        )


async def remove_account(tx: Tx, account: Account, *, now: datetime) -> HandedOver:
    """Remove an account with its secrets and lanes; its channels and what was caught stay."""
    await check_removable(tx, account)
    await cancel(tx, [Wake(CHECK, str(account.id))])
    handed_over = await requests.hand_over(tx, account.id, keep=False, now=now)
    await _forget_secrets(tx, account.id)
    await lanes.delete_lanes(tx, owner=str(account.id))
    await requests.discard_letters(tx, [str(account.id)], now=now)
    await account_holds.end_hold(tx, account.id)
    await channels.delete_account(tx, account.id)
    await publish(tx, Event("channels"))
    return handed_over


async def list_channels_again(tx: Tx, account_id: UUID, *, now: datetime) -> None:
    """List an account's channels now, to notice new, renamed and vanished ones."""
    await discovery.ask_discovery(tx, account_id, now=now)


async def read_secrets(tx: Tx, account_id: UUID, *, data_dir: Path) -> dict[str, str]:
    """Return what the last login of an account left."""
    owner = _owner(account_id)
    names = await secrets.list_secret_names(tx, owner)
    if not names:
        return {}
    vault = await secrets.open_vault(tx, data_dir)
    found = {name: await secrets.get_secret(tx, vault, owner=owner, name=name) for name in names}
    return {name: secret for name, secret in found.items() if secret is not None}


async def _keep_secrets(tx: Tx, account_id: UUID, kept: Mapping[str, str], *, data_dir: Path) -> None:
    if not kept:
        return
    vault = await secrets.open_vault(tx, data_dir)
    for name, secret in kept.items():
        await secrets.put_secret(tx, vault, secret, owner=_owner(account_id), name=name)


async def _forget_secrets(tx: Tx, account_id: UUID) -> None:
    owner = _owner(account_id)
    for name in await secrets.list_secret_names(tx, owner):
        await secrets.delete_secret(tx, owner=owner, name=name)


def _owner(account_id: UUID) -> str:
    return f"account:{account_id}"
