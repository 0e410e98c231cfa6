"""What a command, a page and the API do is the same, and so is what each refuses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any, Literal
from uuid import UUID, uuid4

import httpx
import pytest
from outflow_pages import Fields, all_targets, plain_form, send_form, wrong
from programs import add_targets
from series_pages import add_series, raw, tell, user_id_of
from typer.testing import CliRunner
from webworld import ORIGIN, START, WebWorld, form_token, post

from headgate.cli.main import app
from headgate.outflow.reminders.targets import MAX_NAME

pytestmark = pytest.mark.usefixtures("settings_of_commands")

API = "/api/v1"
Way = Literal["command", "page", "api"]
ways = pytest.mark.parametrize("way", ["command", "page", "api"])


@dataclass
class Ada:
    """A person who signed in; every method returns what was refused, or nothing."""

    world: WebWorld
    client: httpx.AsyncClient
    way: Way
    headers: dict[str, str] = field(default_factory=dict[str, str])

    async def command(self, *arguments: str) -> str:
        done = await asyncio.to_thread(CliRunner().invoke, app, list(arguments))
        assert done.exit_code in {0, 1}, done.output
        return "" if done.exit_code == 0 else " ".join(done.stderr.split())

    async def page(self, path: str, **fields: str) -> str:
        answer = await post(self.client, path, **fields)
        return "" if answer.status_code < 400 else unescape(answer.text)

    async def api(self, method: str, path: str, **more: Any) -> str:
        answer = await self.client.request(method, API + path, headers=self.headers, **more)
        return "" if answer.status_code < 400 else answer.json()["detail"]

    async def form(self, fields: Fields, do: str, **more: Any) -> str:
        said = wrong(await send_form(self.client, fields, do, **more))
        return " ".join(said.get(name, "") for name in ("list_name", "part-1")).strip()

    async def read(self, notification_id: UUID) -> str:
        if self.way == "command":
            return await self.command("notifications", "read", str(notification_id))
        if self.way == "page":
            return await self.page(f"/notifications/{notification_id}/read")
        return await self.api("POST", f"/notifications/{notification_id}/read")

    async def read_all(self) -> str:
        if self.way == "command":
            return await self.command("notifications", "read", "--all", "--user", "ada")
        if self.way == "page":
            return await self.page("/notifications/read", until=START.isoformat())
        return await self.api("POST", "/notifications/read")

    async def follow(self, series_id: UUID) -> str:
        if self.way == "command":
            return await self.command("series", "follow", str(series_id))
        if self.way == "page":
            return await self.page(f"/series/{series_id}/follow")
        return await self.api("POST", "/follows", json={"series_id": str(series_id)})

    async def unfollow(self, series_id: UUID) -> str:
        if self.way == "command":
            return await self.command("series", "unfollow", str(series_id))
        if self.way == "page":
            return await self.page(f"/series/{series_id}/unfollow")
        follow_id = (await raw(self.world, "select id from follow"))[0]["id"]
        return await self.api("DELETE", f"/follows/{follow_id}")

    async def create_list(self, account_id: UUID, name: str, targets: list[str]) -> str:
        if self.way == "command":
            chosen = [str(UUID(target)) for target in targets]
            return await self.command("target", "list-save", name, *chosen)
        if self.way == "page":
            return await self.form(plain_form(account_id, targets, list_name=name), "save-list")
        return await self.api("POST", "/target-lists", json={"name": name, "targets": targets})

    async def add_file(self, account_id: UUID, folder: Path, name: str, content: bytes) -> str:
        if self.way == "command":
            file = folder / name
            file.write_bytes(content)
            plan = ("--title", name, "--account", "main", "--daily", "09:00", "--zone", "UTC")
            return await self.command("reminder", "create", *plan, "--media", str(file), "--target", "a")
        if self.way == "page":
            return await self.form(plain_form(account_id, []), "", files={"file-1": (name, content)})
        return await self.api("POST", "/media", files={"file": (name, content)})


@asynccontextmanager
async def ada_by(world: WebWorld, way: Way) -> AsyncGenerator[Ada, None]:
    async with world.signed_in() as client:
        headers = {"x-csrf-token": await form_token(client), "origin": ORIGIN}
        yield Ada(world, client, way, headers)


async def _unread(world: WebWorld) -> list[str]:
    rows = await raw(world, "select title from notification where read_at is null order by title")
    return [row["title"] for row in rows]


@ways
async def test_one_notification_is_marked_read(world: WebWorld, way: Way) -> None:
    async with ada_by(world, way) as ada:
        user_id = await user_id_of(world)
        first, _ = [await tell(world, user_id, title) for title in ("First", "Second")]
        assert await ada.read(first) == ""
        assert await _unread(world) == ["Second"]
        assert await ada.read(first) == ""
        refused = "ada has no notification" if way == "command" else "There is no such notification."
        assert refused in await ada.read(uuid4())
        assert await _unread(world) == ["Second"]


@ways
async def test_all_notifications_of_one_user_are_marked_read(world: WebWorld, way: Way) -> None:
    async with ada_by(world, way) as ada:
        await world.add_user("bob", "member")
        for name in ("ada", "bob"):
            await tell(world, await user_id_of(world, name), f"For {name}", at=START - timedelta(hours=1))
        assert await ada.read_all() == ""
    assert await _unread(world) == ["For bob"]


@ways
async def test_a_series_is_followed_and_no_longer_followed(world: WebWorld, way: Way) -> None:
    made = await add_series(world, "Tidewater")
    switches = "select in_app, push, per, languages from follow"
    async with ada_by(world, way) as ada:
        for _ in range(2):
            assert await ada.follow(made.series_id) == ""
            assert await raw(world, switches) == [
                {"in_app": True, "push": True, "per": "chapter", "languages": []}
            ]
        assert await ada.unfollow(made.series_id) == ""
    assert await raw(world, switches) == []


async def test_a_click_on_follow_keeps_how_a_person_is_notified(world: WebWorld) -> None:
    made = await add_series(world, "Tidewater")
    async with ada_by(world, "page") as ada:
        assert await ada.command("series", "follow", str(made.series_id), "--no-push") == ""
        assert await ada.follow(made.series_id) == ""
    assert await raw(world, "select push from follow") == [{"push": False}]


@ways
async def test_a_list_has_its_name_without_needless_spaces(world: WebWorld, way: Way) -> None:
    account_id = await add_targets(world, "a", "b")
    async with ada_by(world, way) as ada:
        assert await ada.create_list(account_id, "  Both   of them ", await all_targets(world)) == ""
    (listed,) = await raw(world, "select name, (select count(*) from target_list_member) from target_list")
    assert listed == {"name": "Both of them", "count": 2}


@ways
async def test_a_list_needs_a_name_of_its_own(world: WebWorld, way: Way) -> None:
    account_id = await add_targets(world, "a")
    async with ada_by(world, way) as ada:
        for name in (" ", "x" * (MAX_NAME + 1)):
            refused = await ada.create_list(account_id, name, await all_targets(world))
            assert "A list needs a name of 1 to 200 characters." in refused
    assert await raw(world, "select from target_list") == []


@ways
@pytest.mark.parametrize(
    ("name", "mime_type"), [("lake.PNG", "image/png"), ("notes", "application/octet-stream")]
)
async def test_a_file_has_the_type_that_its_name_says(
    world: WebWorld, way: Way, tmp_path: Path, name: str, mime_type: str
) -> None:
    account_id = await add_targets(world, "a")
    async with ada_by(world, way) as ada:
        for _ in range(2):
            assert await ada.add_file(account_id, tmp_path, name, b"content") == ""
        assert f"'{name}' is empty." in await ada.add_file(account_id, tmp_path, name, b"")
    stored = await raw(world, "select name, mime_type, size_bytes from media")
    assert stored == [{"name": name, "mime_type": mime_type, "size_bytes": 7}]
