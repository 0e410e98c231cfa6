"""The addresses that the caller's notifications go out to. They are secrets, and shown to nobody."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field

from headgate.domain.breaker import BreakerState, state_of
from headgate.outflow.notifications.push_addresses import MAX_URL
from headgate.outflow.notifications.push_out import PushOutcome
from headgate.storage.notifications.push_addresses import (
    NEWEST_PUSH,
    Push,
    PushAddress,
    PushCursor,
)
from headgate.web.callers import CurrentCaller
from headgate.web.cursors import cut_page, read_time_cursor, time_cursor
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)

_MAX_NAME = 1000


class AddressAnswer(BaseModel):
    """The state of an address and its service; never the address itself."""

    id: UUID
    name: str
    shown: str
    enabled: bool
    breaker: BreakerState
    open_until: datetime | None
    failures: int
    error: str
    failed_at: datetime | None
    sent_at: datetime | None
    created_at: datetime
    waiting: int = Field(description="Notifications waiting to be pushed.")

    @classmethod
    def of(cls, address: PushAddress, *, now: datetime) -> AddressAnswer:
        return cls.model_validate(vars(address) | {"breaker": state_of(address.breaker, now=now)})


class AddressesAnswer(BaseModel):
    addresses: list[AddressAnswer]


class AddressWish(BaseModel):
    """An address as Apprise writes it, like `ntfy://ntfy.sh/my-topic`, and a name for it."""

    name: str = Field(max_length=_MAX_NAME)
    url: str = Field(max_length=MAX_URL + 1)


class AddressChange(BaseModel):
    """The fields to change; omitted ones stay."""

    name: str | None = Field(default=None, max_length=_MAX_NAME)
    enabled: bool | None = None


class PushesAnswer(BaseModel):
    """A page of pushes, newest first; pass `next` as `before` to get the next page."""

    pushes: list[Push]
    next: str | None


@routes.get("/push-addresses", door=scope("read"), tags=["push"])
async def list_all(site: CurrentSite, caller: CurrentCaller) -> AddressesAnswer:
    """List the caller's addresses by name."""
    async with site.transaction() as tx:
        found = await site.parts.push_addresses.list_all(tx, user_id=caller.user_id)
    now = site.parts.clock.now()
    return AddressesAnswer(addresses=[AddressAnswer.of(address, now=now) for address in found])


@routes.post("/push-addresses", door=scope("write"), status_code=201, tags=["push"])
async def add(site: CurrentSite, caller: CurrentCaller, body: AddressWish) -> AddressAnswer:
    """Add an address; it is stored encrypted and never shown again.

    Only administrators may add an address that acts on this machine or leads into its network.
    """
    address_id = await site.parts.push_addresses.add(
        site.parts.database, body.url, name=body.name, user_id=caller.user_id, role=caller.role
    )
    async with site.transaction() as tx:
        found = await site.parts.push_addresses.get(tx, address_id, user_id=caller.user_id)
    return AddressAnswer.of(found, now=site.parts.clock.now())


@routes.get("/push-addresses/{address_id}", door=scope("read"), tags=["push"])
async def get(site: CurrentSite, caller: CurrentCaller, address_id: UUID) -> AddressAnswer:
    """Show the state of an address."""
    async with site.transaction() as tx:
        found = await site.parts.push_addresses.get(tx, address_id, user_id=caller.user_id)
    return AddressAnswer.of(found, now=site.parts.clock.now())


@routes.patch("/push-addresses/{address_id}", door=scope("write"), tags=["push"])
async def change(
    site: CurrentSite, caller: CurrentCaller, address_id: UUID, body: AddressChange
) -> AddressAnswer:
    """Rename an address, or switch it on or off; notifications while it is off are not pushed later."""
    addresses, user_id = site.parts.push_addresses, caller.user_id
    async with site.transaction() as tx:
        if body.name is not None:
            await addresses.rename(tx, address_id, body.name, user_id=user_id)
        if body.enabled is not None:
            await addresses.enable(tx, address_id, user_id=user_id, enabled=body.enabled)
        changed = await addresses.get(tx, address_id, user_id=user_id)
    return AddressAnswer.of(changed, now=site.parts.clock.now())


@routes.delete("/push-addresses/{address_id}", door=scope("write"), status_code=204, tags=["push"])
async def delete(site: CurrentSite, caller: CurrentCaller, address_id: UUID) -> None:
    """Remove an address with its history."""
    async with site.transaction() as tx:
        await site.parts.push_addresses.remove(tx, address_id, user_id=caller.user_id)


@routes.post("/push-addresses/{address_id}/test", door=scope("write"), tags=["push"])
async def test(site: CurrentSite, caller: CurrentCaller, address_id: UUID) -> PushOutcome:
    """Send a test message now, and return the result."""
    return await site.parts.push_addresses.test(site.parts.database, address_id, user_id=caller.user_id)


@routes.get("/push-addresses/{address_id}/pushes", door=scope("read"), tags=["push"])
async def list_pushes(
    site: CurrentSite,
    caller: CurrentCaller,
    address_id: UUID,
    before: str = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> PushesAnswer:
    """List the pushes to an address, newest first."""
    below = read_time_cursor(before, PushCursor) or NEWEST_PUSH
    async with site.transaction() as tx:
        found = await site.parts.push_addresses.list_pushes(
            tx, address_id, user_id=caller.user_id, below=below, limit=limit + 1
        )
    shown, following = cut_page(found, limit, lambda push: time_cursor(push.made_at, push.id))
    return PushesAnswer(pushes=shown, next=following)


@routes.post(
    "/push-addresses/{address_id}/pushes/{push_id}/repeat",
    door=scope("write"),
    status_code=204,
    tags=["push"],
)
async def repeat(site: CurrentSite, caller: CurrentCaller, address_id: UUID, push_id: UUID) -> None:
    """Resend a failed or uncertain push; an uncertain one may arrive twice."""
    async with site.transaction() as tx:
        await site.parts.push_addresses.repeat(tx, push_id, address_id=address_id, user_id=caller.user_id)
