"""Passwords: argon2id, off the event loop, at the same cost for names that do not exist."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from headgate.kernel.randomness import secret_token

_AT_ONCE = 2
"""Each verification takes 64 MiB and a core; more at once would let strangers exhaust the machine."""


@dataclass(frozen=True)
class PasswordCheck:
    """Whether the password is right, and a better hash if the stored one is outdated."""

    right: bool
    fresh_hash: str | None = None


class Passwords:
    """Makes and checks hashes."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._decoy: str | None = None

    async def hash(self, password: str) -> str:
        async with self._slots:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def verify(self, password: str, known_hash: str | None) -> PasswordCheck:
        """Check a password; without a hash to check against it takes as long and is wrong."""
        if known_hash is None:
            await self._verify(password, await self._decoy_hash())
            return PasswordCheck(right=False)
        if not await self._verify(password, known_hash):
            return PasswordCheck(right=False)
        outdated = self._hasher.check_needs_rehash(known_hash)
        return PasswordCheck(right=True, fresh_hash=await self.hash(password) if outdated else None)

    async def _verify(self, password: str, known_hash: str) -> bool:
        async with self._slots:
            try:
                return await asyncio.to_thread(self._hasher.verify, known_hash, password)
            except (VerificationError, InvalidHashError):
                return False

    async def _decoy_hash(self) -> str:
        if self._decoy is None:
            self._decoy = await self.hash(secret_token())
        return self._decoy


def differ(password: str, again: str, /) -> str | None:
    """Say that a new password was typed in two ways, if it was."""
    return None if password == again else "The two passwords differ."
