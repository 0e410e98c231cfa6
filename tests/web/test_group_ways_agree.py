"""Groups: a command and the API do the same, and refuse the same."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from uuid import UUID, uuid4

import httpx
import pytest
from PIL import Image
from typer.testing import CliRunner
from webworld import ORIGIN, WebWorld, form_token

from headgate.catalogue.groups.details import GroupDetails, show_group
from headgate.cli.main import app
from headgate.storage.blobs.disk import DiskStore
from headgate.storage.blobs.opening import DEFAULT_FOLDER

pytestmark = pytest.mark.usefixtures("settings_of_commands")

Way = Literal["command", "api"]
ways = pytest.mark.parametrize("way", ["command", "api"])


@dataclass
class Person:
    """Somebody who groups in one of the ways; every method returns what was refused, or the answer."""

    world: WebWorld
    client: httpx.AsyncClient
    way: Way
    headers: dict[str, str]
    folder: Path

    async def _command(self, *arguments: object) -> Any:
        typed = ["library", "group", *map(str, arguments)]
        done = await asyncio.to_thread(CliRunner().invoke, app, typed)
        assert done.exit_code in {0, 1}, done.output
        if done.exit_code:
            return " ".join(done.stderr.split())
        return json.loads(done.stdout) if "--json" in typed else ""

    async def _api(self, method: str, path: str, **more: Any) -> Any:
        answer = await self.client.request(method, f"/api/v1/groups{path}", headers=self.headers, **more)
        assert answer.status_code < 500
        if answer.status_code >= 400:
            return answer.text
        return answer.json() if answer.content else ""

    async def create(self, name: str, *things: UUID) -> Any:
        if self.way == "command":
            return await self._command("create", name, *things, "--json")
        return await self._api("POST", "", json={"name": name, "items": [str(one) for one in things]})

    async def show(self, group_id: object) -> Any:
        if self.way == "command":
            return await self._command("show", group_id, "--json")
        return await self._api("GET", f"/{group_id}")

    async def add(self, group_id: object, *things: object) -> Any:
        if self.way == "command":
            return await self._command("add", group_id, *things, "--json")
        return await self._api("POST", f"/{group_id}/members", json={"items": [str(one) for one in things]})

    async def remove(self, group_id: object, *items: UUID) -> Any:
        if self.way == "command":
            return await self._command("remove", group_id, *items, "--json")
        body = {"items": [str(one) for one in items]}
        return await self._api("POST", f"/{group_id}/members/remove", json=body)

    async def rename(self, group_id: object, name: str) -> Any:
        if self.way == "command":
            return await self._command("rename", group_id, name, "--json")
        return await self._api("PATCH", f"/{group_id}", json={"name": name})

    async def merge(self, group_id: object, *others: object) -> Any:
        if self.way == "command":
            return await self._command("merge", group_id, *others, "--json")
        return await self._api("POST", f"/{group_id}/merge", json={"groups": [str(one) for one in others]})

    async def dissolve(self, group_id: object) -> Any:
        if self.way == "command":
            return await self._command("dissolve", group_id, "--yes", "--json")
        return await self._api("POST", f"/{group_id}/dissolve")

    async def restore(self, group_id: object) -> Any:
        if self.way == "command":
            return await self._command("undo", group_id, "--json")
        return await self._api("POST", f"/{group_id}/restore")

    async def pick_cover(self, group_id: object, item_id: UUID) -> Any:
        if self.way == "command":
            return await self._command("cover", group_id, "--item", item_id)
        return await self._api("POST", f"/{group_id}/cover/pick", json={"item": str(item_id)})

    async def upload_cover(self, group_id: object, content: bytes) -> Any:
        if self.way == "command":
            file = self.folder / "cover"
            file.write_bytes(content)
            return await self._command("cover", group_id, "--file", file)
        return await self._api("POST", f"/{group_id}/cover", files={"file": ("cover.png", content)})

    async def reset_cover(self, group_id: object) -> Any:
        if self.way == "command":
            return await self._command("cover", group_id, "--reset")
        return await self._api("DELETE", f"/{group_id}/cover")

    async def tag(self, group_id: object, *, add: str = "", remove: str = "") -> Any:
        if self.way == "command":
            typed = [*(["--add", add] if add else []), *(["--remove", remove] if remove else [])]
            done = await asyncio.to_thread(
                CliRunner().invoke, app, ["library", "tag", str(group_id), *typed, "--json"]
            )
            return json.loads(done.stdout) if done.exit_code == 0 else done.stderr
        body = {"add": [add] if add else [], "remove": [remove] if remove else []}
        return await self._api("PATCH", f"/{group_id}/labels", json=body)


@asynccontextmanager
async def person_by(world: WebWorld, way: Way, folder: Path) -> AsyncGenerator[Person, None]:
    async with world.signed_in() as client:
        headers = {"x-csrf-token": await form_token(client), "origin": ORIGIN}
        yield Person(world, client, way, headers, folder)


async def add_items(world: WebWorld, *titles: str) -> list[UUID]:
    channel_id = await world.add_channel()
    return [await world.add_item(channel_id, title, minute=n) for n, title in enumerate(titles)]


async def look(world: WebWorld, group_id: object) -> GroupDetails:
    async with world.database.transaction() as tx:
        return await show_group(tx, UUID(str(group_id)))


async def titles(world: WebWorld, group_id: object) -> list[str]:
    return [member.title for member in (await look(world, group_id)).members]


@ways
async def test_a_group_is_made_changed_and_shown(world: WebWorld, way: Way, tmp_path: Path) -> None:
    one, two, three = await add_items(world, "one", "two", "three")
    async with person_by(world, way, tmp_path) as ada:
        made = await ada.create(" Both  of them ", one, two)
        assert (made["name"], made["items"], made["dissolved"]) == ("Both of them", 2, [])
        shown = await ada.show(made["id"])
        assert shown["reason"].startswith("Made by hand ")
        assert [member["title"] for member in shown["members"]] == ["one", "two"]
        assert (await ada.add(made["id"], three))["items"] == 1
        assert await ada.remove(made["id"], one) == {"items": 1, "dissolved": False}
        assert await ada.rename(made["id"], "Others") == {"name": "Others"}
        assert await titles(world, made["id"]) == ["two", "three"]
        assert (await look(world, made["id"])).name == "Others"


@ways
async def test_groups_are_merged_dissolved_and_restored(world: WebWorld, way: Way, tmp_path: Path) -> None:
    one, two, three, four = await add_items(world, "one", "two", "three", "four")
    async with person_by(world, way, tmp_path) as ada:
        first, second = await ada.create("First", one, two), await ada.create("Second", three, four)
        merged = await ada.merge(first["id"], second["id"])
        assert (merged["items"], merged["dissolved"]) == (2, [second["id"]])
        assert (await ada.dissolve(first["id"]))["items"] == 4
        assert await titles(world, first["id"]) == []
        assert "was dissolved" in await ada.rename(first["id"], "Late")
        assert (await ada.restore(first["id"]))["items"] == 4
        assert await titles(world, first["id"]) == ["one", "two", "three", "four"]
        assert "Nothing of the group 'Second' is left" in await ada.restore(second["id"])


@ways
async def test_what_makes_no_sense_is_refused(world: WebWorld, way: Way, tmp_path: Path) -> None:
    one, two = await add_items(world, "one", "two")
    async with person_by(world, way, tmp_path) as ada:
        assert "two or more items" in await ada.create("Alone", one)
        for name in (" ", "x" * 201):
            assert "1 to 200 characters" in await ada.create(name, one, two)
        assert "There is no such group." in await ada.rename(uuid4(), "Name")
        assert "There is no such group." in await ada.dissolve(uuid4())
        assert "do not exist" in await ada.create("Strangers", one, uuid4())
        made = await ada.create("Pair", one, two)
        assert "has no picture" in await ada.pick_cover(made["id"], one)
        assert "No picture can be made" in await ada.upload_cover(made["id"], b"<html>no picture</html>")
        assert "The file is empty." in await ada.upload_cover(made["id"], b"")


@ways
async def test_a_tag_of_a_group_is_a_tag_of_all_members(world: WebWorld, way: Way, tmp_path: Path) -> None:
    one, two = await add_items(world, "one", "two")
    async with person_by(world, way, tmp_path) as ada:
        made = await ada.create("Pair", one, two)
        assert await ada.tag(made["id"], add="Terrain") == {"items": 2}
        assert (await look(world, made["id"])).tags == ("Terrain",)
        assert await ada.tag(made["id"], remove="Terrain") == {"items": 2}
        assert (await look(world, made["id"])).tags == ()


@ways
async def test_an_uploaded_cover_is_shown_until_it_is_reset(
    world: WebWorld, way: Way, tmp_path: Path
) -> None:
    one, two = await add_items(world, "one", "two")
    await DiskStore(tmp_path / DEFAULT_FOLDER, make=True).check()
    picture = io.BytesIO()
    Image.new("RGB", (640, 320), "teal").save(picture, "PNG")
    async with person_by(world, way, tmp_path) as ada:
        made = await ada.create("Pair", one, two)
        assert await ada.upload_cover(made["id"], picture.getvalue()) == ""
        shown = await look(world, made["id"])
        assert (shown.cover_by, shown.cover[0].width_px) == ("person", 320)
        answer = await ada.client.get(shown.cover[0].url)
        assert answer.headers["content-type"] == "image/webp"
        assert Image.open(io.BytesIO(answer.content)).size == (320, 160)
        assert await ada.reset_cover(made["id"]) == ""
        assert (await look(world, made["id"])).cover == ()
