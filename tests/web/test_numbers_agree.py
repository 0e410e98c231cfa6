"""Figures that several places show are the same in all of them, at every moment of a history."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from bench import Bench, build_bench
from typer.testing import CliRunner
from webworld import WebWorld

from headgate.cli.main import app
from headgate.intake import requests
from headgate.storage.requests import ScanWish
from headgate.testing import PRESETS, file_of
from headgate.testing.errors import SimTimeout
from headgate.web.wording import count, share


@pytest.fixture
async def lensed(database_url: str, world: WebWorld) -> AsyncIterator[Bench]:
    """The product on the database of the pages, on a platform that can be asked for documents alone."""
    bench = build_bench(world.database, database_url, PRESETS["telegram_like"])
    yield bench
    await bench.close()


@pytest.fixture(autouse=True)
def settings(database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADGATE_DATABASE_URL", database_url)
    monkeypatch.setenv("HEADGATE_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("HEADGATE_CONFIG", raising=False)


async def command(*arguments: str) -> Any:
    """Return the document that a command prints, which has a loop of its own."""
    result = await asyncio.to_thread(CliRunner().invoke, app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


async def compare(client: httpx.AsyncClient) -> dict[str, Any]:
    """Compare all places; returns what they agree on."""
    explained = await command("explain", "packs")
    (listed,) = [line for line in await command("channel", "list") if line["key"] == "packs"]
    misses = await command("miss", "list")
    (answered,) = (await client.get("/api/v1/channels")).json()["channels"]
    items = (await client.get("/api/v1/items?limit=200")).json()["items"]
    page = (await client.get("/channels")).text
    library = (await client.get("/")).text
    progress = explained["progress"]
    assert listed["progress"] == progress
    assert (answered["covered_share"], answered["messages_read"]) == (
        progress["share"],
        progress["messages_read"],
    )
    for name in ("complete_from", "complete_to"):
        assert str(answered[name]) == str(progress[name])
    assert explained["total_messages_scanned"] == progress["messages_read"]
    assert figures(library) == [len(items), 1, progress["messages_read"]]
    assert explained["items"] == len(items)
    assert explained["message_count"] == listed["message_count"] == answered["message_count"]
    assert explained["message_count"] <= progress["messages_read"]
    assert count(progress["messages_read"]) in cells(page, "scanned")
    if progress["share"] is not None:
        assert share(progress["share"]) in page
    due_at = [text and text.replace("Z", "+00:00") for text in (explained["due_at"], answered["due_at"])]
    assert due_at[0] == due_at[1]
    assert sum(one["misses"] for one in explained["miss_counts"]) == sum(
        one["misses"] for one in misses["counts"]
    )
    assert progress["complete"] == (explained["head"] is not None and not explained["holes"])
    return progress


def figures(library: str) -> list[int]:
    """Return items, channels and messages read, as the library's page shows them."""
    (shown,) = re.findall(r'id="counts">(.*?)</p>', library, re.DOTALL)
    return [int(figure.replace("\u202f", "")) for figure in re.findall(r"<b>(.*?)</b>", shown)]


def cells(page: str, name: str) -> list[str]:
    return re.findall(rf'<td class="number {name}"[^>]*>(.*?)</td>', page)


async def test_what_was_read_is_the_same_number_everywhere(world: WebWorld, lensed: Bench) -> None:
    bench = lensed
    bench.world.fill("packs", 120, shape="archive")
    for number in range(5):
        picture = file_of(f"{number}.png", f"p{number}".encode(), mime_type="image/png")
        bench.world.post("packs", files=[picture])
        bench.world.post("packs", text="chat")
    broken = bench.world.post("packs", files=[file_of("broken.zip", b"x")])
    bench.world.garble("packs", broken.key)
    await bench.follow()
    async with world.signed_in() as client:
        assert (await compare(client))["messages_read"] == 0
        await bench.set(extensions=["zip"])
        while bench.calls("read") < 1:
            await bench.step()
        assert not (await compare(client))["complete"]
        await bench.catch_up()
        assert (await compare(client))["share"] == 1.0
        bench.fail("read.before_effect", SimTimeout("read"))
        await bench.set(mime_types=["image/*"])
        await bench.work()
        bench.mend()
        assert (await compare(client))["share"] == 0.0
        for _ in range(3):
            await bench.rest()
        read = (await compare(client))["messages_read"]
        assert read == 125
        stream = await bench.stream()
        await bench.do(
            lambda tx: requests.reset_scan(
                tx, stream.id, ScanWish(), ids=bench.parts.ids, now=bench.clock.now()
            )
        )
        assert (await compare(client))["messages_read"] == read
        await bench.catch_up()
        await bench.rest()
        after = await compare(client)
        assert (after["messages_read"], after["complete"]) == (read, True)
