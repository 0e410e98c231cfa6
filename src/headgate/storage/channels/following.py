"""Following: what an account sees becomes channels, streams, watches and topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from headgate.kernel.ids import Ids
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class Found:
    """A stream that an account sees; other channels are named by their keys, empty for none."""

    key: str
    title: str
    parent: str = ""
    continued: str = ""
    topics: tuple[str, ...] = ()
    parent_title: str = ""


@dataclass(frozen=True)
class Whose:
    """Who saw them, and where their keys are at home."""

    account_id: UUID
    platform: str
    scope: str


@dataclass(frozen=True)
class Followed:
    """What following changed."""

    streams: tuple[UUID, ...]
    """Streams that are new."""
    stand_bys: int
    """Known streams that the account can read too from now on."""
    adopted: int
    """Streams without a reader that the account reads now."""
    moved: tuple[UUID, ...]
    """Channels that have another parent than before."""


@dataclass(frozen=True)
class FollowedKey:
    """A stream that is followed; by this account, or by others alone."""

    key: str
    watched: bool


async def follow_streams(
    tx: Tx, found: Sequence[Found], whose: Whose, *, ids: Ids, now: datetime
) -> Followed:
    """Follow streams, new and known ones, with everything that hangs on them."""
    home: dict[str, Any] = {"platform": whose.platform, "scope": whose.scope}
    keys = [one.key for one in found]
    await tx.execute(
        Q["upsert_found"],
        ids=[ids.new() for _ in found],
        keys=keys,
        titles=[one.title for one in found],
        now=now,
        **home,
    )
    moved = await _relate(tx, found, home, ids=ids, now=now)
    account = whose.account_id
    added = await tx.column(Q["insert_streams"], account_id=account, keys=keys, now=now, **home)
    watched = await tx.column(Q["insert_watches"], account_id=account, keys=keys, now=now, **home)
    adopted = await adopt_streams(tx, account, now=now)
    await _set_topics(tx, found, account, home, now=now)
    new = set(added)
    return Followed(
        streams=tuple(added),
        stand_bys=await tx.value(Q["count_stand_bys"], channel_ids=watched, account_id=account),
        adopted=adopted,
        moved=tuple(channel_id for channel_id in moved if channel_id not in new),
    )


async def adopt_streams(tx: Tx, account_id: UUID, *, now: datetime) -> int:
    """Let an account read the streams that only it can read now; returns how many."""
    return await tx.execute(Q["adopt_streams"], account_id=account_id, now=now)


async def list_followed(tx: Tx, keys: Sequence[str], whose: Whose) -> list[FollowedKey]:
    return await tx.all(FollowedKey, Q["followed_keys"], keys=list(keys), **vars(whose))


async def _relate(
    tx: Tx, found: Sequence[Found], home: dict[str, Any], *, ids: Ids, now: datetime
) -> list[UUID]:
    parents = {one.parent: one.parent_title or one.parent for one in found if one.parent}
    await tx.execute(
        Q["insert_parents"],
        ids=[ids.new() for _ in parents],
        keys=list(parents),
        titles=list(parents.values()),
        now=now,
        **home,
    )
    return await tx.column(
        Q["relate_channels"],
        keys=[one.key for one in found],
        parents=[one.parent for one in found],
        continued=[one.continued for one in found],
        **home,
    )


async def _set_topics(
    tx: Tx, found: Sequence[Found], account_id: UUID, home: dict[str, Any], *, now: datetime
) -> None:
    listed = [(one.key, topic) for one in found for topic in dict.fromkeys(one.topics)]
    topics = {"channels": [key for key, _ in listed], "topics": [topic for _, topic in listed]}
    await tx.execute(Q["upsert_topics"], now=now, **topics, **home)
    await tx.execute(
        Q["end_topics"], account_id=account_id, keys=[one.key for one in found], now=now, **topics, **home
    )
