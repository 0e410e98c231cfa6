"""Rules that group items: commands, the API and pages do the same, and refuse the same."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import httpx
import pytest
from typer.testing import CliRunner
from webworld import ORIGIN, WebWorld, form_token

from headgate.catalogue.groups import rules
from headgate.cli.main import app
from headgate.storage.groups.rules import StoredGroupRule

pytestmark = pytest.mark.usefixtures("settings_of_commands")

Way = Literal["command", "api", "page"]
ways = pytest.mark.parametrize("way", ["command", "api", "page"])
PATTERN = r"^(.+?) part \d+$"


async def command(*arguments: object) -> str:
    typed = ["library", "group", "rules", *map(str, arguments)]
    done = await asyncio.to_thread(CliRunner().invoke, app, typed)
    assert done.exit_code in {0, 1}, done.output
    return done.stdout + " ".join(done.stderr.split())


async def api(client: httpx.AsyncClient, method: str, path: str, **body: Any) -> str:
    headers = {"x-csrf-token": await form_token(client), "origin": ORIGIN}
    answer = await client.request(method, f"/api/v1/group-rules{path}", json=body, headers=headers)
    assert answer.status_code < 500
    return answer.text


async def post(client: httpx.AsyncClient, path: str, **fields: str) -> str:
    data = {"csrf_token": await form_token(client), **fields}
    answer = await client.post(f"/group-rules{path}", data=data, headers={"origin": ORIGIN})
    assert answer.status_code < 500
    return answer.text


async def rule_of(world: WebWorld) -> StoredGroupRule:
    async with world.database.transaction() as tx:
        (rule,) = await rules.list_rules(tx)
    return rule


async def add(client: httpx.AsyncClient, way: Way, pattern: str) -> str:
    if way == "command":
        return await command("add", "Parts", "--by", "title", "--pattern", pattern)
    if way == "api":
        return await api(client, "POST", "", name="Parts", kind="title", pattern=pattern)
    return await post(client, "", name="Parts", kind="title", pattern=pattern, do="save")


@ways
async def test_a_rule_is_added_tried_switched_and_removed(world: WebWorld, way: Way) -> None:
    async with world.signed_in() as client:
        assert "regular expression" in await add(client, way, "(")
        await add(client, way, PATTERN)
        rule = await rule_of(world)
        assert (rule.name, rule.kind, rule.pattern, rule.enabled) == ("Parts", "title", PATTERN, False)
        assert "already" in await add(client, way, PATTERN)
        if way == "command":
            assert "0 groups of 0 items would be made" in await command("try", "Parts")
            assert json.loads(await command("try", "Parts", "--json"))["groups"] == 0
            await command("on", "Parts")
        elif way == "api":
            tried = await api(client, "POST", "/try", name="Parts", pattern=PATTERN)
            assert json.loads(tried)["groups"] == 0
            await api(client, "POST", f"/{rule.id}/on")
        else:
            for path in ("", "/new", f"/{rule.id}"):
                assert (await client.get(f"/group-rules{path}")).status_code == 200
            tried = await post(client, f"/{rule.id}", name="Parts", kind="title", pattern=PATTERN, do="try")
            assert "No groups would be made" in tried
            await post(client, f"/{rule.id}/on")
        assert (await rule_of(world)).enabled
        if way == "command":
            assert "is in use" in await command("edit", "Parts", "--pattern", "x")
            assert "apart from those that someone has changed" in await command("off", "Parts", "--dissolve")
        elif way == "api":
            assert "is in use" in await api(client, "PATCH", f"/{rule.id}", pattern="x")
            await api(client, "POST", f"/{rule.id}/off", dissolve=True)
        else:
            refused = await post(client, f"/{rule.id}", name="Parts", kind="title", pattern="x", do="save")
            assert "is in use" in refused
            asked = await client.get(f"/group-rules/{rule.id}/off")
            assert "Dissolve its groups" in asked.text
            await post(client, f"/{rule.id}/off", dissolve="true")
        rule = await rule_of(world)
        assert (rule.enabled, rule.doing) == (False, "dissolve")
        await _remove(client, way, rule)
        assert (await rule_of(world)).id == rule.id, "its groups are still being dissolved"
        async with world.database.transaction() as tx:
            await rules.switch_on(tx, rule.id)
            await rules.switch_off(tx, rule.id, dissolve=False)
        await _remove(client, way, rule)
        async with world.database.transaction() as tx:
            assert await rules.list_rules(tx) == []


async def _remove(client: httpx.AsyncClient, way: Way, rule: StoredGroupRule) -> None:
    if way == "command":
        await command("remove", rule.name, "--yes")
    elif way == "api":
        await api(client, "DELETE", f"/{rule.id}")
    else:
        assert "Its groups stay" in (await client.get(f"/group-rules/{rule.id}/remove")).text
        await post(client, f"/{rule.id}/remove")
