"""Sending things of the library on: requests, and the chat that a user sends to by default."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field

from headgate.outflow.library_sends import actions
from headgate.outflow.library_sends.actions import MAX_ITEMS, AskedSends, SendWish
from headgate.storage.library_sends.overview import (
    OwnTarget,
    RequestCursor,
    ShownRequest,
    ShownState,
    get_own_target,
    list_requests,
)
from headgate.web.callers import CurrentCaller
from headgate.web.cursors import cut_page, read_time_cursor, time_cursor
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

MANY_IDS_BYTES = 2 * 1000 * 1000

routes = Routes("/api/v1", in_schema=True)


class SendBody(BaseModel):
    """What to send, and where; groups stand for all items in them."""

    items: list[UUID] = Field(default_factory=list[UUID], max_length=MAX_ITEMS)
    groups: list[UUID] = Field(default_factory=list[UUID], max_length=MAX_ITEMS)
    target_id: UUID | None = Field(default=None, description="Omitted: the caller's own chat.")
    account_id: UUID | None = Field(default=None, description="Omitted: an account that can send there.")


class RequestsAnswer(BaseModel):
    """A page of requests, newest first; pass `next` as `before` to get the next page."""

    requests: list[ShownRequest]
    next: str | None


class ArrivedBody(BaseModel):
    """Whether the message arrived; if not, it is sent again."""

    arrived: bool


class ChatBody(BaseModel):
    """Where the caller's own sends go."""

    target_id: UUID
    account_id: UUID | None = None


class ChatAnswer(BaseModel):
    """Where the caller's own sends go; nothing if no chat was chosen."""

    chat: OwnTarget | None


@routes.post(
    "/library/sends",
    door=scope("write"),
    status_code=201,
    tags=["sends"],
    largest_body_bytes=MANY_IDS_BYTES,
)
async def send(site: CurrentSite, caller: CurrentCaller, body: SendBody) -> AskedSends:
    """Send items to a target; each item is on its way to a target at most once."""
    parts = site.parts
    async with site.transaction() as tx:
        if body.target_id is None:
            return await actions.send_to_own_chat(
                tx,
                caller.user_id,
                item_ids=body.items,
                group_ids=body.groups,
                ids=parts.ids,
                now=parts.clock.now(),
            )
        wish = SendWish(body.target_id, body.items, body.groups, body.account_id, caller.user_id)
        return await actions.send_things(tx, wish, ids=parts.ids, now=parts.clock.now())


@routes.get("/library/sends", door=scope("read"), tags=["sends"])
async def list_all(
    site: CurrentSite,
    item_id: UUID | None = None,
    group_id: UUID | None = None,
    state: Annotated[list[ShownState] | None, Query()] = None,
    open: bool = False,  # noqa: A002 - the parameter's name in the address
    before: str = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> RequestsAnswer:
    """List requests, newest first: of an item, of the items of a group, in some states, or all."""
    async with site.transaction() as tx:
        found = await list_requests(
            tx,
            item_id=item_id,
            group_id=group_id,
            states=state,
            is_open=open,
            below=read_time_cursor(before, RequestCursor),
            limit=limit + 1,
        )
    shown, following = cut_page(found, limit, lambda one: time_cursor(one.created_at, one.id))
    return RequestsAnswer(requests=shown, next=following)


@routes.get("/library/sends/chat", door=scope("read"), tags=["sends"])
async def get_chat(site: CurrentSite, caller: CurrentCaller) -> ChatAnswer:
    """Return where the caller's own sends go."""
    async with site.transaction() as tx:
        return ChatAnswer(chat=await get_own_target(tx, caller.user_id))


@routes.put("/library/sends/chat", door=scope("write"), tags=["sends"])
async def choose_chat(site: CurrentSite, caller: CurrentCaller, body: ChatBody) -> ChatAnswer:
    """Choose where the caller's own sends go."""
    async with site.transaction() as tx:
        own = await actions.choose_own_chat(
            tx, caller.user_id, target_id=body.target_id, account_id=body.account_id
        )
    return ChatAnswer(chat=own)


@routes.delete("/library/sends/chat", door=scope("write"), status_code=204, tags=["sends"])
async def forget_chat(site: CurrentSite, caller: CurrentCaller) -> None:
    """Choose no chat."""
    async with site.transaction() as tx:
        await actions.forget_own_chat(tx, caller.user_id)


@routes.get("/library/sends/{request_id}", door=scope("read"), tags=["sends"])
async def get(site: CurrentSite, request_id: UUID) -> ShownRequest:
    """Show one request."""
    async with site.transaction() as tx:
        return await actions.get_shown(tx, request_id)


@routes.post("/library/sends/{request_id}/cancel", door=scope("write"), tags=["sends"])
async def cancel(site: CurrentSite, request_id: UUID) -> ShownRequest:
    """Cancel a request; a message that is already on its way still arrives."""
    async with site.transaction() as tx:
        return await actions.cancel_request(tx, request_id, now=site.parts.clock.now())


@routes.post("/library/sends/{request_id}/retry", door=scope("write"), tags=["sends"])
async def retry(site: CurrentSite, request_id: UUID) -> ShownRequest:
    """Retry a request that failed or was cancelled; what arrived is not sent again."""
    async with site.transaction() as tx:
        return await actions.retry_request(tx, request_id, now=site.parts.clock.now())


@routes.post("/library/sends/{request_id}/resolve", door=scope("write"), tags=["sends"])
async def resolve(site: CurrentSite, request_id: UUID, body: ArrivedBody) -> ShownRequest:
    """Say whether an uncertain message arrived."""
    async with site.transaction() as tx:
        return await actions.resolve_request(tx, request_id, arrived=body.arrived, now=site.parts.clock.now())
