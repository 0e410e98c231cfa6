"""Forms of reminders as browsers send them, and runs to look at."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from uuid import UUID

import httpx
from webworld import ORIGIN, WebWorld, form_token

from headgate.storage.reminders.targets import search_targets

Fields = dict[str, Any]


async def all_targets(world: WebWorld) -> list[str]:
    """Return the ids of all groups by title."""
    async with world.database.transaction() as tx:
        return [one.id.hex for one in await search_targets(tx, limit=10_000)]


def plain_form(account_id: UUID, targets: list[str], **changes: Any) -> Fields:
    """Return a form that can be saved."""
    fields: Fields = {
        "title": "Water",
        "account": str(account_id),
        "text-1": "Dear {group}",
        "media-1": "",
        "chosen": " ".join(targets),
        "shown": "",
        "zone": "UTC",
        "repeat": "daily",
        "date": "",
        "time": "09:00",
        "day": "1",
        "cron": "",
        "window_start": "06:00",
        "window_end": "18:00",
        "at_close": "stop",
    }
    return fields | {name.replace("__", "-"): value for name, value in changes.items()}


async def send_form(
    client: httpx.AsyncClient, fields: Fields, do: str = "save", path: str = "/reminders/new", **more: Any
) -> httpx.Response:
    """Press a button of the form."""
    token = await form_token(client)
    return await client.post(
        path, data={"csrf_token": token, "do": do, **fields}, headers={"origin": ORIGIN}, **more
    )


def text_of(page: httpx.Response) -> str:
    """Return what stands on a page, without its tags."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page.text)).split())


def wrong(page: httpx.Response) -> dict[str, str]:
    """Return what is said beside which field."""
    found = re.findall(r'<p class="wrong" id="wrong-([^"]+)">(.*?)</p>', page.text)
    return {name: unescape(text) for name, text in found}


def value_of(page: httpx.Response, name: str) -> str:
    """Return what stands in a field."""
    area = re.search(rf'<textarea name="{name}"[^>]*>(.*?)</textarea>', page.text, re.DOTALL)
    if area is not None:
        return unescape(area[1])
    field = re.search(rf'<input[^>]*name="{name}"[^>]*? value="([^"]*)"', page.text)
    assert field is not None, name
    return unescape(field[1])
