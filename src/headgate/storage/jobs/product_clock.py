"""The anchor of a product clock that runs faster than real time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class Anchor:
    """From which moment, at which product time, and how fast; and when the clock was first started."""

    opened_at: datetime
    real_anchor: datetime
    product_anchor: datetime
    scale: float


async def anchor_clock(tx: Tx, *, real_now: datetime, scale: float) -> Anchor:
    """Return the anchor that all processes share; the first one sets it."""
    await tx.execute(Q["anchor_clock"], real_now=real_now, scale=scale)
    anchor = await get_anchor(tx)
    assert anchor is not None  # noqa: S101 - the statement before made sure
    return anchor


async def get_anchor(tx: Tx) -> Anchor | None:
    """Return the anchor, if product time is not real time here."""
    return await tx.one(Anchor, Q["get_anchor"])
