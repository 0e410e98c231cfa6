"""Questions to accounts that another process holds, and its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class AccountQuestion:
    """What does this account see?"""

    id: UUID
    account_id: UUID
    answered: bool
    found: list[dict[str, Any]]
    error_class: str
    error: str


async def insert_question(tx: Tx, question_id: UUID, account_id: UUID, *, now: datetime) -> None:
    await tx.execute(Q["insert_question"], id=question_id, account_id=account_id, now=now)


async def get_question(tx: Tx, question_id: UUID) -> AccountQuestion | None:
    return await tx.one(AccountQuestion, Q["get_question"], id=question_id)


async def answer_question(
    tx: Tx, question_id: UUID, found: Sequence[Mapping[str, Any]], *, error_class: str = "", error: str = ""
) -> None:
    await tx.execute(
        Q["answer_question"], id=question_id, found=Jsonb(list(found)), error_class=error_class, error=error
    )


async def delete_question(tx: Tx, question_id: UUID) -> None:
    await tx.execute(Q["delete_question"], id=question_id)
