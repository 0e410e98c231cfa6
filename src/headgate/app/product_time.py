"""Which clock the product lives by: the time of day, or the quick time of a demo's database."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from headgate.kernel.clock import Clock, RealClock, ScaledClock
from headgate.storage.database import Database, Tx
from headgate.storage.jobs.product_clock import Anchor, anchor_clock, get_anchor


async def start_quick_time(url: str, *, speed: float) -> Anchor:
    """Anchor the product's clock, or go on from where it was anchored."""
    async with _transaction(url) as tx:
        return await anchor_clock(tx, real_now=RealClock().now(), scale=speed)


async def find_clock(url: str) -> Clock:
    """Return the clock that the database's rows were written by: a demo's runs fast."""
    async with _transaction(url) as tx:
        anchor = await get_anchor(tx)
    return RealClock() if anchor is None else anchored_clock(anchor)


def anchored_clock(anchor: Anchor) -> Clock:
    """Return the clock that all processes on one anchor share."""
    return ScaledClock(
        real_anchor=anchor.real_anchor, product_anchor=anchor.product_anchor, scale=anchor.scale
    )


@asynccontextmanager
async def _transaction(url: str) -> AsyncGenerator[Tx, None]:
    """Open a transaction before it is known which clock the parts will have."""
    database = Database(url, RealClock())
    await database.open()
    try:
        async with database.transaction() as tx:
            yield tx
    finally:
        await database.close()
