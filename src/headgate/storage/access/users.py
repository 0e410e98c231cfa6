"""Users and the one-time link that makes the first of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

Role = Literal["admin", "member"]


@dataclass(frozen=True)
class User:
    """A person who may sign in."""

    id: UUID
    name: str
    role: Role
    password_hash: str = field(repr=False)


async def lock_users(tx: Tx) -> None:
    """Keep others from adding users until this transaction ends."""
    await tx.execute(Q["lock_users"])


async def count_users(tx: Tx) -> int:
    return int(await tx.value(Q["count_users"]))


async def insert_user(
    tx: Tx, *, user_id: UUID, name: str, password_hash: str, role: Role, now: datetime
) -> User | None:
    """Add a user; return nothing if the name is taken."""
    return await tx.one(
        User, Q["insert_user"], id=user_id, name=name, password_hash=password_hash, role=role, now=now
    )


async def get_user(tx: Tx, user_id: UUID) -> User | None:
    return await tx.one(User, Q["get_user"], id=user_id)


async def get_user_by_name(tx: Tx, name: str) -> User | None:
    return await tx.one(User, Q["get_user_by_name"], name=name)


async def set_password_hash(tx: Tx, user_id: UUID, password_hash: str) -> None:
    await tx.execute(Q["set_password_hash"], id=user_id, password_hash=password_hash)


async def replace_password_hash(tx: Tx, user: User, password_hash: str) -> None:
    """Store a fresh hash of the same password, unless the password was changed meanwhile."""
    await tx.execute(
        Q["replace_password_hash"], id=user.id, password_hash=password_hash, old_hash=user.password_hash
    )


async def insert_setup_link(tx: Tx, token_hash: bytes, *, now: datetime, expires_at: datetime) -> None:
    await tx.execute(Q["insert_setup_link"], token_hash=token_hash, now=now, expires_at=expires_at)


async def is_setup_link_open(tx: Tx, token_hash: bytes, *, now: datetime) -> bool:
    """Tell whether the link is known, in time, and there is no user yet."""
    return bool(await tx.value(Q["is_setup_link_open"], token_hash=token_hash, now=now))


async def delete_setup_links(tx: Tx) -> None:
    await tx.execute(Q["delete_setup_links"])


@dataclass(frozen=True)
class UserLine:
    """A user as the list shows them."""

    id: UUID
    name: str
    role: Role
    created_at: datetime
    last_seen_at: datetime | None


async def list_users(tx: Tx) -> list[UserLine]:
    return await tx.all(UserLine, Q["list_users"])


async def delete_user(tx: Tx, user_id: UUID) -> bool:
    """Remove a user with their sign-ins and tokens; false for the last administrator."""
    return await tx.execute(Q["delete_user"], id=user_id) == 1


async def set_role(tx: Tx, user_id: UUID, role: Role) -> bool:
    """Change what a user may do; false for the last administrator."""
    return await tx.execute(Q["set_role"], id=user_id, role=role) == 1
