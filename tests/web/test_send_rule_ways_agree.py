"""Rules that send things on: commands, the API and pages do the same, and refuse the same."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal
from uuid import UUID

import httpx
import pytest
from typer.testing import CliRunner
from webworld import ORIGIN, WebWorld, form_token

from headgate.cli.main import app
from headgate.outflow.library_sends import rules
from headgate.storage.library_sends.rules import StoredSendRule

pytestmark = pytest.mark.usefixtures("settings_of_commands")

Way = Literal["command", "api", "page"]
ways = pytest.mark.parametrize("way", ["command", "api", "page"])


async def command(*arguments: object) -> str:
    typed = ["library", "sends", "rules", *map(str, arguments)]
    done = await asyncio.to_thread(CliRunner().invoke, app, typed)
    assert done.exit_code in {0, 1}, done.output
    return done.stdout + " ".join(done.stderr.split())


async def api(client: httpx.AsyncClient, method: str, path: str, **body: Any) -> str:
    headers = {"x-csrf-token": await form_token(client), "origin": ORIGIN}
    answer = await client.request(method, f"/api/v1/library/send-rules{path}", json=body, headers=headers)
    assert answer.status_code < 500
    return answer.text


async def post(client: httpx.AsyncClient, path: str, **fields: str) -> str:
    data = {"csrf_token": await form_token(client), **fields}
    answer = await client.post(f"/send-rules{path}", data=data, headers={"origin": ORIGIN})
    assert answer.status_code < 500
    return answer.text


async def add_target(world: WebWorld) -> UUID:
    async with world.database.transaction() as tx:
        (row,) = await tx.raw(
            "with a as (insert into account (id, platform, name, established, created_at)"
            " values (gen_random_uuid(), 'simulated', 'poster', true, now()) returning id),"
            " t as (insert into target (id, platform, key, title, created_at)"
            " values (gen_random_uuid(), 'simulated', 'archive', 'Archive', now()) returning id),"
            " l as (insert into target_account (account_id, target_id, seen_at)"
            " select a.id, t.id, now() from a, t)"
            " select id from t"
        )
    return row["id"]


async def rule_of(world: WebWorld) -> StoredSendRule:
    async with world.database.transaction() as tx:
        (rule,) = await rules.list_rules(tx)
    return rule


async def add(client: httpx.AsyncClient, way: Way, target_id: UUID, query: str) -> str:
    if way == "command":
        return await command("add", "Keep", query, "--to", target_id)
    if way == "api":
        return await api(client, "POST", "", name="Keep", query=query, target_id=str(target_id))
    return await post(client, "", name="Keep", query=query, target=str(target_id), do="save")


@ways
async def test_a_rule_is_added_tried_switched_and_removed(world: WebWorld, way: Way) -> None:
    target_id = await add_target(world)
    await world.add_item(await world.add_channel(), "Knight", minute=1)
    async with world.signed_in() as client:
        assert "send everything" in await add(client, way, target_id, "")
        await add(client, way, target_id, "kind=package&sort=name")
        rule = await rule_of(world)
        assert (rule.name, rule.query, rule.target_title, rule.enabled) == (
            "Keep",
            "kind=package",
            "Archive",
            False,
        )
        if way == "command":
            assert json.loads(await command("try", "Keep", "--json"))["tried"] == 1
            await command("on", "Keep", "--backfill")
        elif way == "api":
            wish = {"name": "Keep", "query": "kind=package", "target_id": str(target_id)}
            assert json.loads(await api(client, "POST", "/try", **wish))["tried"] == 1
            await api(client, "POST", f"/{rule.id}/on", backfill=True)
        else:
            empty = await client.get("/send-rules/new?tag=knight&q=x")
            assert 'value="tag=knight"' in empty.text
            tried = await post(client, "", name="x", query="kind=package", target=str(target_id), do="try")
            assert "Nothing was sent" in tried
            assert "Also send what is there" in (await client.get(f"/send-rules/{rule.id}/on")).text
            await post(client, f"/{rule.id}/on", backfill="true")
        rule = await rule_of(world)
        assert (rule.enabled, rule.backfilling) == (True, True)
        await _end(client, way, rule, "off")
        assert not (await rule_of(world)).enabled
        await _end(client, way, rule, "remove")
        async with world.database.transaction() as tx:
            assert await rules.list_rules(tx) == []


async def _end(client: httpx.AsyncClient, way: Way, rule: StoredSendRule, do: str) -> None:
    if way == "command":
        await command(do, rule.name, *(["--yes"] if do == "remove" else []))
    elif way == "api":
        await api(client, *(("DELETE", f"/{rule.id}") if do == "remove" else ("POST", f"/{rule.id}/off")))
    else:
        await post(client, f"/{rule.id}/{do}")
