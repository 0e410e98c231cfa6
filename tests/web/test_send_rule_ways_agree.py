"""Rules that send things on: commands, the API and pages do the same, and refuse the same."""

from __future__ import annotations

import json
from uuid import UUID

import httpx
import pytest
from rule_ways import RuleWays, Way, ways
from webworld import WebWorld

from headgate.outflow.library_sends import rules
from headgate.storage.library_sends.rules import StoredSendRule

pytestmark = pytest.mark.usefixtures("settings_of_commands")


def ways_of(client: httpx.AsyncClient) -> RuleWays:
    return RuleWays(client, ("library", "sends", "rules"), "/library/send-rules", "/send-rules")


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


async def add(by: RuleWays, way: Way, target_id: UUID, query: str) -> str:
    if way == "command":
        return await by.command("add", "Keep", query, "--to", target_id)
    if way == "api":
        return await by.api("POST", "", name="Keep", query=query, target_id=str(target_id))
    return await by.post("", name="Keep", query=query, target=str(target_id), do="save")


async def edit(by: RuleWays, way: Way, rule: StoredSendRule, name: str, query: str) -> str:
    if way == "command":
        return await by.command("edit", rule.name, "--name", name, "--query", query)
    if way == "api":
        return await by.api("PATCH", f"/{rule.id}", name=name, query=query)
    return await by.post(f"/{rule.id}", name=name, query=query, target=str(rule.target_id), do="save")


@ways
async def test_a_rule_is_added_tried_switched_and_removed(world: WebWorld, way: Way) -> None:
    target_id = await add_target(world)
    await world.add_item(await world.add_channel(), "Knight", minute=1)
    async with world.signed_in() as client:
        by = ways_of(client)
        assert "send everything" in await add(by, way, target_id, "")
        await add(by, way, target_id, "kind=package&sort=name")
        rule = await rule_of(world)
        assert (rule.name, rule.query, rule.target_title) == ("Keep", "kind=package", "Archive")
        assert not rule.enabled
        if way == "command":
            assert json.loads(await by.command("try", "Keep", "--json"))["tried"] == 1
            await by.command("on", "Keep", "--backfill")
        elif way == "api":
            wish = {"name": "Keep", "query": "kind=package", "target_id": str(target_id)}
            assert json.loads(await by.api("POST", "/try", **wish))["tried"] == 1
            await by.api("POST", f"/{rule.id}/on", backfill=True)
        else:
            assert 'value="tag=knight"' in await by.page("/new?tag=knight&q=x")
            tried = await by.post("", name="x", query="kind=package", target=str(target_id), do="try")
            assert "Nothing was sent" in tried
            assert "Also send what is there" in await by.page(f"/{rule.id}/on")
            await by.post(f"/{rule.id}/on", backfill="true")
        rule = await rule_of(world)
        assert (rule.enabled, rule.backfilling) == (True, True)
        if way == "command":
            await by.command("off", rule.name)
        else:
            await (by.api("POST", f"/{rule.id}/off") if way == "api" else by.post(f"/{rule.id}/off"))
        assert not (await rule_of(world)).enabled
        await by.remove(way, rule.id, rule.name)
        async with world.database.transaction() as tx:
            assert await rules.list_rules(tx) == []


@ways
async def test_a_rule_is_edited_only_while_it_is_off(world: WebWorld, way: Way) -> None:
    target_id = await add_target(world)
    async with world.signed_in() as client:
        by = ways_of(client)
        await add(by, way, target_id, "kind=package")
        rule = await rule_of(world)
        assert "send everything" in await edit(by, way, rule, "Keep", "sort=name")
        await edit(by, way, rule, "Keep zips", "type=zip")
        changed = await rule_of(world)
        assert (changed.id, changed.name, changed.query) == (rule.id, "Keep zips", "type=zip")
        assert changed.target_id == target_id
        assert 'value="type=zip"' in await by.page(f"/{rule.id}")
        async with world.database.transaction() as tx:
            await rules.switch_on(tx, rule.id, backfill=False, now=world.clock.now())
        assert "is in use" in await edit(by, way, changed, "Keep zips", "type=rar")
        assert (await rule_of(world)).query == "type=zip"
