"""Follows: what the caller wishes to hear of, and how."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field

from headgate.outflow.notifications import follows
from headgate.storage.notifications.follows import (
    FIRST,
    Follow,
    FollowCursor,
    Per,
    Subject,
    Switches,
    list_follows,
)
from headgate.web.callers import CurrentCaller
from headgate.web.cursors import cut_page, read_title_cursor, title_cursor
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)


class FollowsAnswer(BaseModel):
    """A page of follows by name; pass `next` as `after` to get the next page."""

    follows: list[Follow]
    next: str | None


class FollowWish(BaseModel):
    """What to follow, one of `series_id`, `channel_id` and `search`, and how to notify."""

    series_id: UUID | None = None
    channel_id: UUID | None = None
    search: str | None = Field(
        default=None, max_length=follows.MAX_SEARCH, description="Words that must all be in the title."
    )
    in_app: bool = True
    push: bool = True
    per: Per = Field(default="chapter", description="Notify once per chapter, or once per source.")
    languages: list[str] = Field(
        default=[], max_length=1000, description="Only these languages; empty means all."
    )


class FollowChange(BaseModel):
    """The fields to change; omitted ones stay."""

    in_app: bool | None = None
    push: bool | None = None
    per: Per | None = None
    languages: list[str] | None = Field(default=None, max_length=1000)

    def applied(self, switches: Switches) -> Switches:
        given: dict[str, Any] = self.model_dump(exclude_none=True)
        if self.languages is not None:
            given["languages"] = tuple(self.languages)
        return replace(switches, **given)


@routes.get("/follows", door=scope("read"), tags=["follows"])
async def list_all(
    site: CurrentSite,
    caller: CurrentCaller,
    after: str = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> FollowsAnswer:
    """List what the caller follows, by name."""
    async with site.transaction() as tx:
        found = await list_follows(
            tx,
            user_id=caller.user_id,
            after=read_title_cursor(after, FollowCursor) or FIRST,
            limit=limit + 1,
        )
    shown, following = cut_page(found, limit, lambda one: title_cursor(one.title, one.id))
    return FollowsAnswer(follows=shown, next=following)


@routes.post("/follows", door=scope("write"), status_code=201, tags=["follows"])
async def create(site: CurrentSite, caller: CurrentCaller, body: FollowWish) -> Follow:
    """Follow something for the caller; following it again changes the options and keeps the start."""
    subject = Subject(body.series_id, body.channel_id, body.search)
    switches = Switches(body.in_app, body.push, body.per, tuple(body.languages))
    async with site.transaction() as tx:
        return await follows.follow(
            tx, subject, switches, user_id=caller.user_id, ids=site.parts.ids, now=site.parts.clock.now()
        )


@routes.patch("/follows/{follow_id}", door=scope("write"), tags=["follows"])
async def change(site: CurrentSite, caller: CurrentCaller, follow_id: UUID, body: FollowChange) -> Follow:
    """Change how the caller is notified of something."""
    async with site.transaction() as tx:
        known = await follows.get(tx, follow_id, user_id=caller.user_id)
        return await follows.change(tx, follow_id, body.applied(known.switches), user_id=caller.user_id)


@routes.delete("/follows/{follow_id}", door=scope("write"), status_code=204, tags=["follows"])
async def delete(site: CurrentSite, caller: CurrentCaller, follow_id: UUID) -> None:
    """Stop following; past notifications stay."""
    async with site.transaction() as tx:
        await follows.unfollow(tx, follow_id, user_id=caller.user_id)
