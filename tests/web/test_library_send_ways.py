"""Sending things on does the same by command and through the API, and both refuse the same."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import uuid4

import httpx
import pytest
from programs import add_targets
from typer.testing import CliRunner
from webworld import ORIGIN, WebWorld, form_token

from headgate.cli.main import app

pytestmark = pytest.mark.usefixtures("settings_of_commands")

SENDS = "/api/v1/library/sends"


async def command(*arguments: str) -> Any:
    """Return the document that a command prints, or what it refuses."""
    done = await asyncio.to_thread(CliRunner().invoke, app, ["library", *arguments, "--json"])
    assert done.exit_code in {0, 1}, done.output
    return json.loads(done.stdout) if done.exit_code == 0 else " ".join(done.stderr.split())


async def call(client: httpx.AsyncClient, method: str, path: str, **body: Any) -> httpx.Response:
    headers = {"x-csrf-token": await form_token(client), "origin": ORIGIN}
    return await client.request(method, SENDS + path, json=body or None, headers=headers)


async def test_one_open_request_is_shared_by_a_command_and_the_api(world: WebWorld) -> None:
    await add_targets(world, "The lake")
    item_id = await world.add_item(await world.add_channel("Packs"), "Knight")
    asked = await command("send", str(item_id), "--to", "The lake")
    assert (asked["created"], asked["already_open"]) == (1, 0)
    request_id = asked["requests"][0]["id"]
    async with world.signed_in() as client:
        target_id = asked["requests"][0]["target_id"]
        again = (await call(client, "POST", "", items=[str(item_id)], target_id=target_id)).json()
        assert (again["created"], again["already_open"], again["requests"][0]["id"]) == (0, 1, request_id)
        shown = (await client.get(f"{SENDS}/{request_id}")).json()
        assert shown == (await client.get(f"{SENDS}?item_id={item_id}")).json()["requests"][0]
        assert (shown["state"], shown["item_title"], shown["target_title"]) == (
            "pending",
            "Knight",
            "The lake",
        )
        listed = await command("sends", "list", "--open")
        assert [one["id"] for one in listed["requests"]] == [request_id]
        assert (await call(client, "POST", f"/{request_id}/cancel")).json()["state"] == "cancelled"
        assert "cannot be cancelled" in await command("sends", "cancel", request_id)
        assert (await command("sends", "retry", request_id[-8:]))["state"] == "pending"
        refused = await call(client, "POST", f"/{request_id}/retry")
        assert (refused.status_code, "nothing to retry" in refused.json()["detail"]) == (422, True)
        assert (await call(client, "POST", f"/{request_id}/resolve", arrived=True)).status_code == 422
        assert (await client.get(f"{SENDS}?state=pending&open=true")).json()["requests"] != []
        assert (await client.get(f"{SENDS}/{uuid4()}")).status_code == 404


async def test_a_users_own_chat_is_where_things_go_without_a_target(world: WebWorld) -> None:
    await add_targets(world, "Saved things")
    item_id = await world.add_item(await world.add_channel("Packs"), "Knight")
    async with world.signed_in() as client:
        refused = await call(client, "POST", "", items=[str(item_id)])
        assert "not chosen your own chat" in refused.json()["detail"]
        assert (await client.get(f"{SENDS}/chat")).json() == {"chat": None}
        assert (await command("chat", "Saved things"))["chat"]["target_title"] == "Saved things"
        chosen = (await client.get(f"{SENDS}/chat")).json()["chat"]
        asked = (await call(client, "POST", "", items=[str(item_id)])).json()
        assert (asked["created"], asked["requests"][0]["target_id"]) == (1, chosen["target_id"])
        assert asked["requests"][0]["user_name"] == "ada"
        again = await call(client, "PUT", "/chat", target_id=chosen["target_id"])
        assert again.json()["chat"] == chosen
        assert (await call(client, "DELETE", "/chat")).status_code == 204
        assert (await command("chat"))["chat"] is None


async def test_unknown_items_groups_and_targets_are_refused(world: WebWorld) -> None:
    await add_targets(world, "The lake")
    item_id = await world.add_item(await world.add_channel("Packs"), "Knight")
    assert "There is no item" in await command("send", str(uuid4()), "--to", "The lake")
    assert "no group" in await command("send", "--group", str(uuid4()), "--to", "The lake")
    assert "There is no target" in await command("send", str(item_id), "--to", "The moon")
    async with world.signed_in() as client:
        answer = await call(client, "POST", "", items=[str(item_id)], target_id=str(uuid4()))
    assert (answer.status_code, answer.json()["detail"]) == (404, "There is no such target.")


async def test_a_reader_may_look_and_not_send(world: WebWorld) -> None:
    async with world.client() as stranger:
        assert (await stranger.get(SENDS)).status_code == 401
        assert (await stranger.post(SENDS, json={})).status_code == 401
