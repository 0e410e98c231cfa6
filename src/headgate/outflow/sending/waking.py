"""Waking the one sender of an account."""

from __future__ import annotations

from uuid import UUID

from headgate.jobs.kinds import Wake
from headgate.jobs.wake import enqueue
from headgate.storage.database import Tx

SEND = "send"


async def wake_sender(tx: Tx, account_id: UUID) -> None:
    """Wake it now. New and continuing runs have the same rank: none waits because others came first."""
    await enqueue(tx, [Wake(SEND, str(account_id))])
