"""Rules that group items: commands, the API and pages do the same, and refuse the same."""

from __future__ import annotations

import json

import httpx
import pytest
from rule_ways import RuleWays, Way, ways
from webworld import WebWorld

from headgate.catalogue.groups import rules
from headgate.storage.groups.rules import StoredGroupRule

pytestmark = pytest.mark.usefixtures("settings_of_commands")

PATTERN = r"^(.+?) part \d+$"


def ways_of(client: httpx.AsyncClient) -> RuleWays:
    return RuleWays(client, ("library", "group", "rules"), "/group-rules", "/group-rules")


async def rule_of(world: WebWorld) -> StoredGroupRule:
    async with world.database.transaction() as tx:
        (rule,) = await rules.list_rules(tx)
    return rule


async def add(by: RuleWays, way: Way, pattern: str) -> str:
    if way == "command":
        return await by.command("add", "Parts", "--by", "title", "--pattern", pattern)
    if way == "api":
        return await by.api("POST", "", name="Parts", kind="title", pattern=pattern)
    return await by.post("", name="Parts", kind="title", pattern=pattern, do="save")


@ways
async def test_a_rule_is_added_tried_switched_and_removed(world: WebWorld, way: Way) -> None:
    async with world.signed_in() as client:
        by = ways_of(client)
        assert "regular expression" in await add(by, way, "(")
        await add(by, way, PATTERN)
        rule = await rule_of(world)
        assert (rule.name, rule.kind, rule.pattern, rule.enabled) == ("Parts", "title", PATTERN, False)
        assert "already" in await add(by, way, PATTERN)
        if way == "command":
            assert "0 groups of 0 items would be made" in await by.command("try", "Parts")
            assert json.loads(await by.command("try", "Parts", "--json"))["groups"] == 0
            await by.command("on", "Parts")
        elif way == "api":
            tried = await by.api("POST", "/try", name="Parts", pattern=PATTERN)
            assert json.loads(tried)["groups"] == 0
            await by.api("POST", f"/{rule.id}/on")
        else:
            for path in ("", "/new", f"/{rule.id}"):
                assert (await client.get(f"/group-rules{path}")).status_code == 200
            tried = await by.post(f"/{rule.id}", name="Parts", kind="title", pattern=PATTERN, do="try")
            assert "No groups would be made" in tried
            await by.post(f"/{rule.id}/on")
        assert (await rule_of(world)).enabled
        if way == "command":
            assert "is in use" in await by.command("edit", "Parts", "--pattern", "x")
            said = await by.command("off", "Parts", "--dissolve")
            assert "apart from those that someone has changed" in said
        elif way == "api":
            assert "is in use" in await by.api("PATCH", f"/{rule.id}", pattern="x")
            await by.api("POST", f"/{rule.id}/off", dissolve=True)
        else:
            refused = await by.post(f"/{rule.id}", name="Parts", kind="title", pattern="x", do="save")
            assert "is in use" in refused
            assert "Dissolve its groups" in await by.page(f"/{rule.id}/off")
            await by.post(f"/{rule.id}/off", dissolve="true")
        rule = await rule_of(world)
        assert (rule.enabled, rule.doing) == (False, "dissolve")
        await by.remove(way, rule.id, rule.name)
        assert (await rule_of(world)).id == rule.id, "its groups are still being dissolved"
        async with world.database.transaction() as tx:
            await rules.switch_on(tx, rule.id)
            await rules.switch_off(tx, rule.id, dissolve=False)
        await by.remove(way, rule.id, rule.name)
        async with world.database.transaction() as tx:
            assert await rules.list_rules(tx) == []
