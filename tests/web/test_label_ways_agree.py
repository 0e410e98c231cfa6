"""Labels and their rules: a command, a page and the API do the same, and refuse the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html import unescape
from typing import Any, Literal
from uuid import UUID, uuid4

import httpx
import pytest
from test_web_item import see
from typer.testing import CliRunner
from webworld import ORIGIN, WebWorld, form_token, post

from headgate.catalogue import label_rules, labels
from headgate.catalogue.labelling import find_in_items
from headgate.cli.main import app
from headgate.ingest.labels.labelling import read_batch
from headgate.storage.labels.labels import write_found
from headgate.storage.labels.queue import note_unlabelled
from headgate.storage.shelf.touched import touch_items

pytestmark = pytest.mark.usefixtures("settings_of_commands")

Way = Literal["command", "page", "api"]
ways = pytest.mark.parametrize("way", ["command", "page", "api"])
SCALE = {"name": "Scale", "field": "file_name", "kind": "tag", "pattern": "(otter)"}


async def label_all(world: WebWorld, channel_id: UUID, *item_ids: UUID) -> None:
    """Label items as the job does."""
    async with world.database.transaction() as tx:
        await note_unlabelled(tx, channel_id, item_ids=item_ids)
    batch = await read_batch(world.database, [channel_id])
    found = await find_in_items(batch.texts, batch.rules, clock=world.clock)
    used = [(item_id, label) for item_id in item_ids for label in found[item_id] if label.used]
    async with world.database.transaction() as tx:
        await write_found(tx, list(item_ids), used, rules_version=batch.rules_version)


@dataclass
class Person:
    """Somebody who changes labels in one of three ways; every method returns what was refused, or nothing."""

    world: WebWorld
    client: httpx.AsyncClient
    way: Way
    headers: dict[str, str]

    async def command(self, *arguments: str) -> str:
        done = await asyncio.to_thread(CliRunner().invoke, app, list(arguments))
        assert done.exit_code in {0, 1}, done.output
        return "" if done.exit_code == 0 else " ".join(done.stderr.split())

    async def page(self, path: str, **fields: str) -> str:
        answer = await post(self.client, path, **fields)
        return "" if answer.status_code < 400 else unescape(answer.text)

    async def api(self, method: str, path: str, body: Any = None) -> str:
        answer = await self.client.request(method, f"/api/v1{path}", headers=self.headers, json=body)
        return "" if answer.status_code < 400 else answer.text

    async def say(self, item_id: UUID, do: str, value: str = "") -> str:
        """Do one of the things that the form of an item offers."""
        if self.way == "page":
            return await self.page(f"/items/{item_id}/labels", do=do, creator=value, tags=value)
        if self.way == "command":
            options = {
                "creator": ["--creator", value],
                "add": ["--add", value],
                "remove": ["--remove", value],
            }
            options |= {"no-creator": ["--no-creator"], "reset-creator": ["--reset-creator"]}
            options |= {"reset": ["--reset", value]}
            return await self.command("library", "label", str(item_id), *options[do])
        bodies: dict[str, dict[str, Any]] = {
            "creator": {"creator": value},
            "no-creator": {"creator": ""},
            "reset-creator": {"reset_creator": True},
        }
        return await self.api("PATCH", f"/items/{item_id}/labels", bodies.get(do, {do: [value]}))

    async def rename(self, kind: str, name: str, to: str) -> str:
        if self.way == "command":
            return await self.command("label", "rename", kind, name, to)
        if self.way == "page":
            return await self.page("/labels/rename", kind=kind, name=name, to=to)
        return await self.api("POST", "/labels/rename", {"kind": kind, "name": name, "to": to})

    async def restore(self, kind: str, name: str) -> str:
        if self.way == "command":
            return await self.command("label", "restore", kind, name)
        if self.way == "page":
            return await self.page("/labels/restore", kind=kind, name=name)
        return await self.api("POST", "/labels/restore", {"kind": kind, "name": name})

    async def add_rule(self, typed: dict[str, str]) -> str:
        if self.way == "command":
            where = ["--in", typed["field"], "--kind", typed["kind"], "--pattern", typed["pattern"]]
            return await self.command("label-rule", "add", typed["name"], *where)
        if self.way == "page":
            return await self.page("/label-rules", **_form(typed))
        return await self.api("POST", "/label-rules", typed)

    async def edit_rule(self, rule_id: UUID, typed: dict[str, str]) -> str:
        if self.way == "command":
            return await self.command("label-rule", "edit", str(rule_id), "--pattern", typed["pattern"])
        if self.way == "page":
            return await self.page(f"/label-rules/{rule_id}", **_form(typed))
        return await self.api("PATCH", f"/label-rules/{rule_id}", {"pattern": typed["pattern"]})

    async def move_rule(self, rule_id: UUID, position: int) -> str:
        if self.way == "command":
            return await self.command("label-rule", "edit", str(rule_id), "--position", str(position))
        if self.way == "page":
            return await self.page(f"/label-rules/{rule_id}/move", position=str(position))
        return await self.api("PATCH", f"/label-rules/{rule_id}", {"position": position})

    async def switch_rule(self, rule_id: UUID, *, enabled: bool) -> str:
        if self.way == "command":
            return await self.command("label-rule", "edit", str(rule_id), "--on" if enabled else "--off")
        if self.way == "page":
            return await self.page(f"/label-rules/{rule_id}/switch", enabled=str(enabled).lower())
        return await self.api("PATCH", f"/label-rules/{rule_id}", {"enabled": enabled})

    async def remove_rule(self, rule_id: UUID) -> str:
        if self.way == "command":
            return await self.command("label-rule", "remove", str(rule_id), "--yes")
        if self.way == "page":
            return await self.page(f"/label-rules/{rule_id}/remove")
        return await self.api("DELETE", f"/label-rules/{rule_id}")

    async def try_rule(self, typed: dict[str, str]) -> str:
        """Return what a trial says, whichever way it is asked for."""
        if self.way == "command":
            where = ["--in", typed["field"], "--kind", typed["kind"], "--pattern", typed["pattern"]]
            arguments = ["label-rule", "try", typed["name"], *where]
            done = await asyncio.to_thread(CliRunner().invoke, app, arguments)
            return " ".join((done.stdout if done.exit_code == 0 else done.stderr).split())
        if self.way == "page":
            answer = await post(self.client, "/label-rules", **_form(typed), do="try")
            return unescape(answer.text)
        answer = await self.client.post("/api/v1/label-rules/try", headers=self.headers, json=typed)
        return answer.text


def _form(typed: dict[str, str]) -> dict[str, str]:
    """Return the fields of the page's form."""
    rest = {key: value for key, value in typed.items() if key != "field"}
    return {"source": typed["field"], "normalisation": "as_written", "enabled": "true", **rest}


@asynccontextmanager
async def person_by(world: WebWorld, way: Way) -> AsyncGenerator[Person, None]:
    async with world.signed_in() as client:
        headers = {"x-csrf-token": await form_token(client), "origin": ORIGIN}
        yield Person(world, client, way, headers)


async def add_pack(world: WebWorld) -> UUID:
    channel_id = await world.add_channel("Field recordings")
    item_id = await world.add_item(channel_id, "otter pack", kind="package")
    await see(world, channel_id, item_id, minute=1, text="Creator: Tidewater\n#otters")
    await label_all(world, channel_id, item_id)
    return item_id


async def shown(world: WebWorld, item_id: UUID) -> tuple[str, tuple[str, ...]]:
    async with world.database.transaction() as tx:
        found = await labels.show_labels(tx, item_id)
    return found.creator_name, found.tag_names


async def rules(world: WebWorld) -> list[tuple[str, str, bool]]:
    async with world.database.transaction() as tx:
        found = (await label_rules.list_rules(tx)).rules
    return [(rule.name, rule.pattern, rule.enabled) for rule in found]


async def rule_id_of(world: WebWorld, name: str) -> UUID:
    async with world.database.transaction() as tx:
        found = (await label_rules.list_rules(tx)).rules
    return next(rule.id for rule in found if rule.name == name)


@ways
async def test_the_creator_and_tags_of_an_item_are_set(world: WebWorld, way: Way) -> None:
    item_id = await add_pack(world)
    async with person_by(world, way) as ada:
        assert await shown(world, item_id) == ("Tidewater", ("otters",))
        assert await ada.say(item_id, "creator", "Northwind") == ""
        assert await ada.say(item_id, "add", "resin") == ""
        assert await ada.say(item_id, "remove", "otters") == ""
        assert await shown(world, item_id) == ("Northwind", ("resin",))
        assert await ada.say(item_id, "no-creator") == ""
        assert (await shown(world, item_id))[0] == ""
        assert await ada.say(item_id, "reset-creator") == ""
        assert await ada.say(item_id, "reset", "otters") == ""
        assert await shown(world, item_id) == ("Tidewater", ("otters", "resin"))


@ways
async def test_what_is_no_name_and_an_unknown_item_are_refused(world: WebWorld, way: Way) -> None:
    item_id = await add_pack(world)
    async with person_by(world, way) as ada:
        assert "'---' is not a name." in await ada.say(item_id, "add", "---")
        assert "A name has at most 100 characters." in await ada.say(item_id, "creator", "x" * 101)
        assert "There is no such item." in await ada.say(uuid4(), "add", "resin")
        assert await shown(world, item_id) == ("Tidewater", ("otters",))


@ways
async def test_a_tag_is_renamed_and_the_renaming_is_undone(world: WebWorld, way: Way) -> None:
    item_id = await add_pack(world)
    async with person_by(world, way) as ada:
        assert await ada.rename("tag", "otters", "Lutra lutra") == ""
        assert (await shown(world, item_id))[1] == ("Lutra lutra",)
        assert await ada.restore("tag", "otters") == ""
        assert (await shown(world, item_id))[1] == ("otters",)
        assert "No item has the creator 'nobody'." in await ada.rename("creator", "nobody", "x")
        assert "was not renamed" in await ada.restore("tag", "otters")


@ways
async def test_rules_are_added_edited_moved_switched_and_removed(world: WebWorld, way: Way) -> None:
    async with person_by(world, way) as ada:
        before = await rules(world)
        assert await ada.add_rule(SCALE) == ""
        rule_id = await rule_id_of(world, "Scale")
        assert await ada.edit_rule(rule_id, SCALE | {"pattern": "(owl)"}) == ""
        assert await ada.move_rule(rule_id, 2) == ""
        assert await ada.switch_rule(rule_id, enabled=False) == ""
        assert await rules(world) == [before[0], ("Scale", "(owl)", False), *before[1:]]
        assert await ada.switch_rule(rule_id, enabled=True) == ""
        assert (await rules(world))[1][2]
        assert "not a regular expression" in await ada.edit_rule(rule_id, SCALE | {"pattern": "("})
        assert "a name of its own" in await ada.add_rule(SCALE)
        assert await ada.remove_rule(rule_id) == ""
        assert await rules(world) == before
        assert "There is no" in await ada.remove_rule(rule_id)


@ways
async def test_a_rule_is_tried_without_being_saved(world: WebWorld, way: Way) -> None:
    await add_pack(world)
    async with person_by(world, way) as ada:
        before = await rules(world)
        said = await ada.try_rule(SCALE)
        assert await rules(world) == before
        if way == "api":
            trial = json.loads(said)
            assert (trial["tried"], trial["changed"], trial["matched"]) == (1, 1, 1)
            assert trial["examples"][0]["added_tags"] == ["otter"]
        else:
            assert ("1 of 1 items would change" in said) or ("1 item of 1 would change" in said)
            assert "otter pack" in said
        assert "not a regular expression" in await ada.try_rule(SCALE | {"pattern": "("})


async def test_items_carry_their_labels_in_every_list(world: WebWorld) -> None:
    item_id = await add_pack(world)
    async with world.database.transaction() as tx:
        # As the job does that follows what rules read.
        touch_items(tx, [item_id])
    async with person_by(world, "api") as ada:
        (listed,) = (await ada.client.get("/api/v1/items")).json()["items"]
        one = (await ada.client.get(f"/api/v1/items/{item_id}")).json()
        done = await asyncio.to_thread(CliRunner().invoke, app, ["library", "list", "--json"])
        told = await asyncio.to_thread(CliRunner().invoke, app, ["library", "show", str(item_id)])
        page = (await ada.client.get(f"/items/{item_id}")).text
        names = (await ada.client.get("/api/v1/labels?kind=tag")).json()
    assert (listed["creator"], listed["tags"]) == ("Tidewater", ["otters"])
    assert one["labels"]["creator"] == {"name": "Tidewater", "source": "rule", "rule": "Creator line"}
    assert json.loads(done.stdout)["rows"][0]["tags"] == ["otters"]
    assert "Creator: Tidewater (rule 'Creator line'). Tags: otters." in told.stdout
    assert "by the rule “Creator line”" in page
    assert [(name["name"], name["items"]) for name in names["names"]] == [("otters", 1)]


async def test_many_items_change_together_or_not_at_all(world: WebWorld) -> None:
    item_id = await add_pack(world)
    other = await world.add_item(await world.add_channel("Other"), "other")
    async with person_by(world, "api") as ada:
        body = {"items": [str(item_id), str(other)], "add": ["resin"]}
        assert await ada.api("POST", "/items/labels", body) == ""
        assert (await shown(world, other))[1] == ("resin",)
        unknown = {"items": [str(item_id), str(uuid4())], "add": ["more"]}
        assert "do not exist" in await ada.api("POST", "/items/labels", unknown)
        assert await shown(world, item_id) == ("Tidewater", ("otters", "resin"))


async def test_members_label_items_and_leave_rules_and_names_to_administrators(world: WebWorld) -> None:
    item_id = await add_pack(world)
    rule_id = await rule_id_of(world, "Hashtags")
    async with world.signed_in("mia", role="member") as client:
        answer = await post(client, f"/items/{item_id}/labels", do="add", tags="resin, 32mm")
        assert answer.status_code == 303
        assert (await shown(world, item_id))[1] == ("32mm", "otters", "resin")
        page = (await client.get("/label-rules")).text
        assert "Hashtags" in page
        assert "/label-rules/new" not in page
        assert "Rename" not in (await client.get("/labels?kind=tag")).text
        for path in ("/label-rules", f"/label-rules/{rule_id}", "/labels/rename"):
            assert (await post(client, path)).status_code == 403


async def test_a_form_sent_by_a_script_is_answered_in_place(world: WebWorld) -> None:
    item_id = await add_pack(world)
    async with person_by(world, "page") as ada:
        fields = {"do": "add", "tags": "---", "csrf_token": ada.headers["x-csrf-token"]}
        headers = {"hx-request": "true", "origin": ORIGIN}
        answer = await ada.client.post(f"/items/{item_id}/labels", data=fields, headers=headers)
        assert answer.status_code == 200
        assert 'role="alert"' in answer.text
        assert 'aria-invalid="true"' in answer.text
        answer = await ada.client.post(
            f"/items/{item_id}/labels", data=fields | {"tags": "resin"}, headers=headers
        )
        assert 'role="alert"' not in answer.text
        assert 'id="labels"' in answer.text
        assert (await post(ada.client, f"/items/{item_id}/labels", do="nonsense")).status_code == 422
