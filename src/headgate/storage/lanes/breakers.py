"""Breakers of all kinds, counted for metrics."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

KINDS = ("host", "watch", "push address")


@dataclass(frozen=True)
class OpenBreakers:
    """Breakers of one kind that are not closed."""

    of_kind: str
    open: int
    half_open: int


async def count_breakers(tx: Tx, *, now: datetime) -> list[OpenBreakers]:
    """Count the breakers that are not closed; a kind without any is counted too."""
    found = {one.of_kind: one for one in await tx.all(OpenBreakers, Q["count_breakers"], now=now)}
    return [found.get(kind) or OpenBreakers(kind, 0, 0) for kind in KINDS]


async def count_waiting_pushes(tx: Tx) -> int:
    """Count the notifications that have yet to go out."""
    return await tx.value(Q["count_waiting_pushes"])
