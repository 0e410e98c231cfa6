"""Who reads a channel, for work on a single message of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class Reader:
    """A channel's name on its platform, and the account that reads it."""

    platform: str
    stream_key: str
    enabled: bool
    account_id: UUID | None
    account_name: str
    established: bool
    sign_in: int


async def get_reader(tx: Tx, channel_id: UUID, *, now: datetime) -> Reader | None:
    return await tx.one(Reader, Q["get_reader"], channel_id=channel_id, now=now)
