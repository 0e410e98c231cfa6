"""Sign-ins of people, kept as hashes of their tokens."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.storage.access.users import Role
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class Session:
    """A sign-in that is still good, with its user."""

    id: UUID
    user_id: UUID
    user_name: str
    role: Role
    last_seen_at: datetime


@dataclass(frozen=True)
class SessionLine:
    """A sign-in as its owner sees it in a list."""

    id: UUID
    user_agent: str
    address: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime


@dataclass(frozen=True)
class NewSession:
    """What is stored of a fresh sign-in."""

    id: UUID
    user_id: UUID
    token_hash: bytes
    user_agent: str
    address: str
    expires_at: datetime


async def insert_session(tx: Tx, session: NewSession, *, now: datetime) -> None:
    await tx.execute(Q["insert_session"], now=now, **vars(session))


async def get_session(tx: Tx, token_hash: bytes, *, now: datetime) -> Session | None:
    return await tx.one(Session, Q["get_session"], token_hash=token_hash, now=now)


async def is_session_open(tx: Tx, session_id: UUID, *, now: datetime) -> bool:
    return bool(await tx.value(Q["is_session_open"], id=session_id, now=now))


async def touch_session(tx: Tx, session_id: UUID, *, now: datetime) -> None:
    await tx.execute(Q["touch_session"], id=session_id, now=now)


async def list_sessions(tx: Tx, user_id: UUID, *, now: datetime) -> list[SessionLine]:
    return await tx.all(SessionLine, Q["list_sessions"], user_id=user_id, now=now)


async def delete_session(tx: Tx, *, session_id: UUID, user_id: UUID) -> bool:
    return await tx.execute(Q["delete_session"], id=session_id, user_id=user_id) > 0


async def delete_other_sessions(tx: Tx, *, user_id: UUID, keep_id: UUID | None) -> int:
    """End all sign-ins of a user but the one to keep."""
    return await tx.execute(Q["delete_other_sessions"], user_id=user_id, keep_id=keep_id)


async def delete_expired_sessions(tx: Tx, *, now: datetime) -> int:
    return await tx.execute(Q["delete_expired_sessions"], now=now)
