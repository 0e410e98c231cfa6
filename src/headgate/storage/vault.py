"""The key of secrets at rest: one file, readable by its owner alone.

Each line of the file is `<key id> <key in base64>`; the first line seals, all of them open. So a key is
rotated by adding a line on top and sealing everything anew; a database dump alone reveals nothing.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from headgate.domain.errors import UserError
from headgate.kernel.randomness import secret_bytes

KEY_FILE = "secret.key"
_KEY_BYTES = 32
_KEY_ID_BYTES = 4
_NONCE_BYTES = 12
_OTHERS = 0o077


@dataclass(frozen=True)
class Sealed:
    """A secret as it is stored: nonce and ciphertext in one, and which key opens it."""

    key_id: str
    ciphertext: bytes


@dataclass(frozen=True)
class Vault:
    """Seals and opens secrets; a secret is bound to its owner and name and opens nowhere else."""

    keys: dict[str, bytes] = field(repr=False)
    """By key id; the first one seals."""

    @property
    def key_id(self) -> str:
        return next(iter(self.keys))

    def seal(self, plain: str, *, owner: str, name: str) -> Sealed:
        nonce = secret_bytes(_NONCE_BYTES)
        cipher = AESGCM(self.keys[self.key_id])
        return Sealed(self.key_id, nonce + cipher.encrypt(nonce, plain.encode(), _place(owner, name)))

    def unseal(self, sealed: Sealed, *, owner: str, name: str) -> str:
        key = self.keys.get(sealed.key_id)
        if key is None:
            raise UserError(
                f"The secret {name!r} of {owner!r} was encrypted with key {sealed.key_id}, which is not in"
                " the key file.",
                remedy="Put the old line back into secret.key, or enter the secret again.",
            )
        nonce, ciphertext = sealed.ciphertext[:_NONCE_BYTES], sealed.ciphertext[_NONCE_BYTES:]
        try:
            return AESGCM(key).decrypt(nonce, ciphertext, _place(owner, name)).decode()
        except InvalidTag:
            raise UserError(
                f"The secret {name!r} of {owner!r} was changed outside Headgate.",
                remedy="Enter the secret again.",
            ) from None


def _place(owner: str, name: str) -> bytes:
    return f"{len(owner)}:{owner}:{name}".encode()


def read_vault(data_dir: Path) -> Vault | None:
    """Return the vault of the key file, or nothing if there is no such file."""
    path = data_dir / KEY_FILE
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"The key file {path} cannot be read: {error}.", remedy="Restore it from a backup."
        ) from error
    if os.name == "posix" and mode & _OTHERS:
        raise UserError(
            f"Others on this machine can read the key file {path}.", remedy=f"Run: chmod 600 {path}"
        )
    return Vault(_parse_keys(text, path))


def make_vault(data_dir: Path) -> Vault:
    """Return the vault, with a new key file if there is none; two processes at once agree on one key."""
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    line = f"{secret_bytes(_KEY_ID_BYTES).hex()} {base64.b64encode(secret_bytes(_KEY_BYTES)).decode()}\n"
    draft = data_dir / f"{KEY_FILE}.{secret_bytes(_KEY_ID_BYTES).hex()}"
    try:
        _write_private(draft, line)
        # A link, unlike a rename, never replaces a key that another process has made meanwhile.
        with contextlib.suppress(FileExistsError):
            os.link(draft, data_dir / KEY_FILE)
    finally:
        draft.unlink(missing_ok=True)
    vault = read_vault(data_dir)
    if vault is None:
        raise UserError(f"The key file vanished from {data_dir}.", remedy="Start Headgate again.")
    return vault


def _write_private(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _parse_keys(text: str, path: Path) -> dict[str, bytes]:
    keys: dict[str, bytes] = {}
    for line in text.split("\n"):
        if not line.strip():
            continue
        key_id, _, encoded = line.strip().partition(" ")
        try:
            key = base64.b64decode(encoded, validate=True)
        except binascii.Error:
            key = b""
        if len(key) != _KEY_BYTES or key_id in keys:
            raise UserError(f"The key file {path} is damaged.", remedy="Restore it from a backup.")
        keys[key_id] = key
    if not keys:
        raise UserError(f"The key file {path} is empty.", remedy="Restore it from a backup.")
    return keys
