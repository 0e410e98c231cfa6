"""Addresses of listings that hold secrets: sealed in full, known by a key that everybody may see.

The key is the address without its secrets, and a fingerprint of the whole: `https://•••@host/feed#1f2e…`.
So two feeds that differ by their secret alone stay two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from headgate.domain.errors import Malformed, UserError
from headgate.kernel.masking import MASK, mask_addresses
from headgate.lanes.account_memory import Secrets
from headgate.storage.database import Database, Tx
from headgate.storage.secrets import delete_secret, fingerprint, get_secret, list_secrets, put_secret

ADDRESS = "address"


@dataclass(frozen=True)
class ListingAddresses:
    """Seals and opens addresses within one transaction; those without secrets cost nothing."""

    tx: Tx
    secrets: Secrets

    async def key_of(self, address: str) -> str:
        """Return the key of a listing's channel."""
        shown = mask_addresses(address)
        if shown == address:
            return address
        return f"{shown}#{await fingerprint(self.tx, await self.secrets.vault(self.tx), address)}"

    async def keep(self, channel_id: UUID, address: str) -> None:
        """Seal the address of a channel; forget an earlier one."""
        owner = secret_owner(channel_id)
        if mask_addresses(address) == address:
            await delete_secret(self.tx, owner=owner, name=ADDRESS)
        else:
            vault = await self.secrets.vault(self.tx)
            await put_secret(self.tx, vault, address, owner=owner, name=ADDRESS)

    async def address_of(self, channel_id: UUID) -> str:
        """Return the address in full of a channel whose key leaves out secrets."""
        vault = await self.secrets.vault(self.tx)
        address = await get_secret(self.tx, vault, owner=secret_owner(channel_id), name=ADDRESS)
        if address is None:
            raise UserError(
                "The feed's address is missing from the stored secrets.",
                remedy="Add the feed again, with its login or token.",
            )
        return address

    async def addresses_of(self, keys: Mapping[UUID, str]) -> dict[UUID, str]:
        """Return the addresses of channels in full; what is not among the secrets stays a key."""
        sealed = {secret_owner(channel_id): channel_id for channel_id, key in keys.items() if is_sealed(key)}
        if not sealed:
            return dict(keys)
        vault = await self.secrets.vault(self.tx)
        opened = await list_secrets(self.tx, vault, list(sealed), name=ADDRESS)
        return {**keys, **{sealed[owner]: address for owner, address in opened.items()}}


async def read_address(database: Database, secrets: Secrets, channel_id: UUID, *, key: str) -> str:
    """Return the address to ask; one that cannot be opened is a fault of that listing alone."""
    if not is_sealed(key):
        return key
    try:
        async with database.transaction() as tx:
            return await ListingAddresses(tx, secrets).address_of(channel_id)
    except UserError as error:
        raise Malformed(str(error)) from error


def is_sealed(key: str) -> bool:
    """Tell whether a key leaves out secrets; an address proper holds the mask only in its encoded form."""
    return MASK in key


def shown_address(key: str) -> str:
    """Return the part of a key that is an address."""
    return key.partition("#")[0] if is_sealed(key) else key


def secret_owner(channel_id: UUID) -> str:
    return f"listing:{channel_id}"
