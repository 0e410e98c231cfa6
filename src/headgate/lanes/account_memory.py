"""The durable memory of an open account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from headgate.storage.channels.account_memory import list_memory, lock_sign_in, save_memory
from headgate.storage.database import Database, Tx
from headgate.storage.secrets import put_secret
from headgate.storage.vault import Vault


class Secrets(Protocol):
    """Where secrets come from."""

    async def secrets_of(self, account_id: UUID) -> Mapping[str, str]:
        """Return the secrets of an account by name."""
        ...

    async def vault(self, tx: Tx) -> Vault:
        """Return what seals and opens secrets."""
        ...


@dataclass
class AccountMemory:
    """What a connector remembers of an account; a session that was replaced changes no secrets."""

    database: Database
    secrets: Secrets
    account_id: UUID
    sign_in: int
    values: dict[str, str] = field(default_factory=dict[str, str])

    async def load(self) -> None:
        async with self.database.transaction() as tx:
            self.values = await list_memory(tx, self.account_id)

    async def save(self, changes: Mapping[str, str]) -> None:
        async with self.database.transaction() as tx:
            await save_memory(tx, self.account_id, changes)
        self.values = {name: value for name, value in {**self.values, **changes}.items() if value}

    async def renew_secrets(self, secrets: Mapping[str, str]) -> None:
        async with self.database.transaction() as tx:
            if not await lock_sign_in(tx, self.account_id, sign_in=self.sign_in):
                return
            vault = await self.secrets.vault(tx)
            for name, secret in secrets.items():
                await put_secret(tx, vault, secret, owner=f"account:{self.account_id}", name=name)
