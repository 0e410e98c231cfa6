"""Randomness with a seed where it must repeat, from the system where it must not be guessed."""

from __future__ import annotations

import random
import secrets
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Randomness:
    """Everything random that is not a secret. The same seed gives the same choices."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)  # noqa: S311 - never used for secrets

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)

    def below(self, limit: int) -> int:
        """Return a whole number from 0 up to, not including, the limit."""
        return self._random.randrange(limit)

    def bits(self, count: int) -> int:
        return self._random.getrandbits(count)

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def choice(self, options: Sequence[T]) -> T:
        return self._random.choice(options)

    def jittered(self, value: float, *, part: float) -> float:
        """Return the value moved by at most `part` of itself, up or down."""
        return value * self.uniform(1 - part, 1 + part)

    def fork(self, name: str) -> Randomness:
        """Return an own stream of choices, so that one consumer cannot shift another's."""
        return Randomness(random.Random(f"{self._random.getrandbits(64)}:{name}").getrandbits(64))  # noqa: S311


def secret_token(size_bytes: int = 32) -> str:
    """Return a token that cannot be guessed, safe in a URL."""
    return secrets.token_urlsafe(size_bytes)


def secret_bytes(size_bytes: int) -> bytes:
    return secrets.token_bytes(size_bytes)
