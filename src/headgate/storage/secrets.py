"""Secrets of accounts and services, sealed by the vault."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headgate.domain.errors import UserError
from headgate.kernel.randomness import secret_bytes
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries
from headgate.storage.vault import KEY_FILE, Sealed, Vault, make_vault, read_vault

Q = load_queries(__name__)

_INSTANCE = "instance"
_FINGERPRINT = "fingerprint"
_FINGERPRINT_KEY_BYTES = 32
_FINGERPRINT_CHARACTERS = 12


@dataclass(frozen=True)
class _Row:
    owner: str
    name: str
    key_id: str
    ciphertext: bytes


async def open_vault(tx: Tx, data_dir: Path) -> Vault:
    """Return the vault of the data folder; make its key only while nothing was sealed with another.

    A key that was put on top of others takes over what they sealed.
    """
    vault = read_vault(data_dir)
    if vault is not None:
        if len(vault.keys) > 1:
            await seal_anew(tx, vault)
        return vault
    sealed = await tx.value(Q["count_secrets"])
    if sealed:
        raise UserError(
            f"There are {sealed} encrypted secrets, but the key file {data_dir / KEY_FILE} is missing.",
            remedy="Restore the file from a backup of the data folder; without it the accounts must sign in"
            " again.",
        )
    return make_vault(data_dir)


async def put_secret(tx: Tx, vault: Vault, plain: str, *, owner: str, name: str) -> None:
    sealed = vault.seal(plain, owner=owner, name=name)
    await tx.execute(Q["upsert_secret"], owner=owner, name=name, **vars(sealed))


async def get_secret(tx: Tx, vault: Vault, *, owner: str, name: str) -> str | None:
    row = await tx.one(_Row, Q["get_secret"], owner=owner, name=name)
    return None if row is None else _open(vault, row)


async def list_secrets(tx: Tx, vault: Vault, owners: Sequence[str], *, name: str) -> dict[str, str]:
    """Return one secret of each of the owners that have it."""
    rows = await tx.all(_Row, Q["list_secrets"], owners=list(owners), name=name)
    return {row.owner: _open(vault, row) for row in rows}


async def fingerprint(tx: Tx, vault: Vault, plain: str) -> str:
    """Return a short name for a secret, always the same one.

    It is keyed with a secret of its own, so that a stored name confirms no guess; a new vault key keeps it.
    """
    place = {"owner": _INSTANCE, "name": _FINGERPRINT}
    key = await get_secret(tx, vault, **place)
    if key is None:
        sealed = vault.seal(secret_bytes(_FINGERPRINT_KEY_BYTES).hex(), **place)
        await tx.execute(Q["insert_secret"], **place, **vars(sealed))
        key = await get_secret(tx, vault, **place) or ""
    return hmac.new(key.encode(), plain.encode(), hashlib.sha256).hexdigest()[:_FINGERPRINT_CHARACTERS]


async def list_secret_names(tx: Tx, owner: str) -> list[str]:
    return await tx.column(Q["list_secret_names"], owner=owner)


async def delete_secret(tx: Tx, *, owner: str, name: str) -> bool:
    return await tx.execute(Q["delete_secret"], owner=owner, name=name) > 0


async def seal_anew(tx: Tx, vault: Vault) -> int:
    """Seal everything with the vault's first key and return how many secrets were under older ones."""
    rows = await tx.all(_Row, Q["list_secrets_of_old_keys"], key_id=vault.key_id)
    fresh = [vault.seal(_open(vault, row), owner=row.owner, name=row.name) for row in rows]
    await tx.execute(
        Q["update_ciphertexts"],
        key_id=vault.key_id,
        owners=[row.owner for row in rows],
        names=[row.name for row in rows],
        ciphertexts=[sealed.ciphertext for sealed in fresh],
    )
    return len(rows)


def _open(vault: Vault, row: _Row) -> str:
    return vault.unseal(Sealed(row.key_id, row.ciphertext), owner=row.owner, name=row.name)
