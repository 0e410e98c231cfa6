"""Randomness that depends on names alone, so that any part of a world can be made without the others."""

from __future__ import annotations

import hashlib

from headgate.kernel.randomness import Randomness

Name = str | int


def derive_seed(seed: int, *names: Name) -> int:
    """Return a 63-bit number that depends on the seed and the names, and on nothing else."""
    digest = hashlib.blake2b(repr((seed, *names)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def derive(seed: int, *names: Name) -> Randomness:
    """Return the choices of whatever has these names."""
    return Randomness(derive_seed(seed, *names))
