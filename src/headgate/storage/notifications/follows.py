"""Follows: what users wish to hear of, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

Per = Literal["chapter", "source"]


@dataclass(frozen=True)
class Subject:
    """What is followed: a series, a channel, or words that all have to be in a title; one of them."""

    series_id: UUID | None = None
    channel_id: UUID | None = None
    search: str | None = None


@dataclass(frozen=True)
class Switches:
    """How a user wants to hear of it; without languages in all of them."""

    in_app: bool = True
    push: bool = True
    per: Per = "chapter"
    languages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Follow:
    """A user's request to be notified of new things; `title` names what is followed."""

    id: UUID
    user_id: UUID
    series_id: UUID | None
    channel_id: UUID | None
    search: str | None
    in_app: bool
    push: bool
    per: Per
    languages: list[str]
    since: datetime
    title: str

    @property
    def subject(self) -> Subject:
        return Subject(self.series_id, self.channel_id, self.search)

    @property
    def switches(self) -> Switches:
        return Switches(self.in_app, self.push, self.per, tuple(self.languages))


@dataclass(frozen=True)
class FollowCursor:
    """A place in the order of a user's follows."""

    title: str
    id: UUID


FIRST = FollowCursor("", UUID(int=0))


async def upsert_follow(
    tx: Tx, follow_id: UUID, *, user_id: UUID, subject: Subject, switches: Switches, now: datetime
) -> UUID:
    """Follow, or change how; returns the id of the follow. Following again keeps since when."""
    return await tx.value(
        Q["upsert_follow"],
        id=follow_id,
        user_id=user_id,
        now=now,
        **vars(subject),
        **_columns(switches),
    )


async def update_follow(tx: Tx, follow_id: UUID, *, user_id: UUID, switches: Switches) -> bool:
    return await tx.execute(Q["update_follow"], id=follow_id, user_id=user_id, **_columns(switches)) == 1


async def delete_follow(tx: Tx, follow_id: UUID, *, user_id: UUID) -> bool:
    return await tx.execute(Q["delete_follow"], id=follow_id, user_id=user_id) == 1


async def get_follow(tx: Tx, follow_id: UUID, *, user_id: UUID) -> Follow | None:
    return await tx.one(Follow, Q["get_follow"], id=follow_id, user_id=user_id)


async def find_follow(tx: Tx, *, user_id: UUID, subject: Subject) -> Follow | None:
    """Return the user's follow of exactly this."""
    return await tx.one(Follow, Q["find_follow"], user_id=user_id, **vars(subject))


async def list_follows(
    tx: Tx, *, user_id: UUID, after: FollowCursor = FIRST, limit: int | None = None
) -> list[Follow]:
    """Return what a user follows by name, all of it if there is no limit."""
    return await tx.all(
        Follow, Q["list_follows"], user_id=user_id, after_title=after.title, after_id=after.id, limit=limit
    )


async def list_followed_channels(tx: Tx, channel_ids: Sequence[UUID], *, user_id: UUID) -> set[UUID]:
    """Return those of these channels that the user follows."""
    return set(await tx.column(Q["list_followed_channels"], channel_ids=list(channel_ids), user_id=user_id))


async def list_followed_series(tx: Tx, series_ids: Sequence[UUID], *, user_id: UUID) -> set[UUID]:
    """Return those of these series that the user follows."""
    return set(await tx.column(Q["list_followed_series"], series_ids=list(series_ids), user_id=user_id))


async def count_follows(tx: Tx, *, user_id: UUID) -> int:
    return await tx.value(Q["count_follows"], user_id=user_id)


async def is_there(tx: Tx, subject: Subject) -> bool:
    return await tx.value(Q["is_there"], series_id=subject.series_id, channel_id=subject.channel_id)


async def list_watched_channels(tx: Tx, channel_ids: Sequence[UUID]) -> set[UUID]:
    """Return those of some channels that somebody follows by themselves."""
    return set(await tx.column(Q["list_watched_channels"], channel_ids=list(channel_ids)))


async def words_of(tx: Tx, text: str) -> str:
    """Return the words of a search as titles are compared with them."""
    return await tx.value(Q["words_of"], text=text)


def _columns(switches: Switches) -> dict[str, object]:
    return {**vars(switches), "languages": list(switches.languages)}
