"""Tokens of programs, kept as hashes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.storage.access.users import Role
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

Scope = Literal["read", "write", "admin"]


@dataclass(frozen=True)
class ApiToken:
    """A token in use, with its owner."""

    id: UUID
    user_id: UUID
    user_name: str
    role: Role
    scopes: list[Scope]
    last_used_at: datetime | None


@dataclass(frozen=True)
class ApiTokenLine:
    """A token in a list; the token itself is not stored."""

    id: UUID
    name: str
    scopes: list[Scope]
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime


@dataclass(frozen=True)
class NewApiToken:
    """What is stored of a fresh token."""

    id: UUID
    user_id: UUID
    name: str
    token_hash: bytes
    scopes: list[Scope]
    expires_at: datetime


async def insert_api_token(tx: Tx, token: NewApiToken, *, now: datetime) -> ApiTokenLine:
    line = await tx.one(ApiTokenLine, Q["insert_api_token"], now=now, **vars(token))
    if line is None:
        raise RuntimeError("an insert without a conflict clause returned no row")
    return line


async def get_api_token(tx: Tx, token_hash: bytes, *, now: datetime) -> ApiToken | None:
    return await tx.one(ApiToken, Q["get_api_token"], token_hash=token_hash, now=now)


async def touch_api_token(tx: Tx, token_id: UUID, *, now: datetime) -> None:
    await tx.execute(Q["touch_api_token"], id=token_id, now=now)


async def list_api_tokens(tx: Tx, user_id: UUID) -> list[ApiTokenLine]:
    return await tx.all(ApiTokenLine, Q["list_api_tokens"], user_id=user_id)


async def delete_api_token(tx: Tx, *, token_id: UUID, user_id: UUID) -> bool:
    return await tx.execute(Q["delete_api_token"], id=token_id, user_id=user_id) > 0


async def delete_api_tokens(tx: Tx, user_id: UUID) -> int:
    """Revoke all tokens of a user."""
    return await tx.execute(Q["delete_api_tokens"], user_id=user_id)
