"""Browsers that a user signed in with before, kept as hashes of a token in their cookie."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

REMEMBERED_FOR = timedelta(days=365)
MAX_BROWSERS = 50


async def remember_browser(tx: Tx, token_hash: bytes, *, before: bytes, user_id: UUID, now: datetime) -> None:
    """Keep the hash of a browser's new secret in place of the one that it had before."""
    await tx.execute(Q["insert_browser"], token_hash=token_hash, user_id=user_id, now=now)
    await tx.execute(
        Q["prune_browsers"],
        before=before,
        user_id=user_id,
        seen_after=now - REMEMBERED_FOR,
        max_browsers=MAX_BROWSERS,
    )


async def is_known_browser(tx: Tx, token_hash: bytes, *, user_id: UUID, now: datetime) -> bool:
    return bool(
        await tx.value(
            Q["is_known_browser"], token_hash=token_hash, user_id=user_id, seen_after=now - REMEMBERED_FOR
        )
    )


async def forget_browsers(tx: Tx, user_id: UUID) -> None:
    await tx.execute(Q["forget_browsers"], user_id=user_id)
