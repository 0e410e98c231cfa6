"""Programs that plan and send through the API, and somebody to send to."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import httpx
from webworld import START, WebWorld

from headgate.access.users import create_api_token
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.access.api_tokens import Scope
from headgate.storage.access.users import Role
from headgate.storage.channels.channels import upsert_account
from headgate.storage.reminders.targets import SeenTarget, note_targets
from headgate.web.parts import Site


@asynccontextmanager
async def program(
    world: WebWorld, scope: Scope = "write", *, name: str = "", role: Role = "admin"
) -> AsyncGenerator[httpx.AsyncClient, None]:
    """Open a client that sends a token of this scope, of a new user."""
    user = await world.add_user(name or f"of-{scope}", role)
    site: Site = world.app.state.site
    fresh = await create_api_token(
        site.access, user_id=user.id, own_scopes=[scope], name="test", scopes=[scope]
    )
    async with world.client() as client:
        client.headers["authorization"] = f"Bearer {fresh.token}"
        yield client


async def add_targets(world: WebWorld, *titles: str) -> UUID:
    """Add an account that sees groups of these titles, and return its id."""
    ids = Ids(world.clock, Randomness(1))
    async with world.database.transaction() as tx:
        account_id = await upsert_account(
            tx, ids.new(), platform="sim", name="main", established=True, now=START
        )
        seen = [SeenTarget(f"k{number}", title) for number, title in enumerate(titles)]
        await note_targets(tx, account_id, seen, platform="sim", ids=ids, now=START)
    return account_id


async def target_ids(client: httpx.AsyncClient) -> list[str]:
    return [one["id"] for one in (await client.get("/api/v1/targets")).json()["targets"]]


async def draft(client: httpx.AsyncClient, sender: UUID, **changes: Any) -> dict[str, Any]:
    body = {
        "title": "Water",
        "account_id": str(sender),
        "parts": [{"text": "Dear {group}"}],
        "targets": await target_ids(client),
        "zone": "UTC",
        "cron": "0 9 * * *",
    }
    return body | changes
