"""Listeners: whether an account's is there, which is a matter of real time."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


async def note_listening(tx: Tx, account_id: UUID, *, listening: bool, now: datetime) -> None:
    """Note a sign of life of the account's listener, or that it has ended."""
    await tx.execute(Q["note_listening"], account_id=account_id, listening=listening, now=now)
