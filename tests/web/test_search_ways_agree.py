"""Search: the command and the API find the same, and refuse the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import httpx
import pytest
from test_web_item import see
from typer.testing import CliRunner, Result
from webworld import WebWorld

from headgate.catalogue.search.indexing import index_next, start_reindex
from headgate.cli.main import app
from headgate.storage.shelf.touched import touch_items

pytestmark = pytest.mark.usefixtures("settings_of_commands")


async def add_items(world: WebWorld, *titles: str) -> list[UUID]:
    channel_id = await world.add_channel("Packs")
    ids = [await world.add_item(channel_id, title, kind="package") for title in titles]
    for minute, item_id in enumerate(ids):
        await see(world, channel_id, item_id, minute=minute, text="all <b>otters</b>")
    async with world.database.transaction() as tx:
        touch_items(tx, ids)
    while await index_next(world.database, clock=world.clock):
        pass
    return ids


async def command(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, app, ["library", *arguments])


@pytest.fixture
async def client(world: WebWorld) -> AsyncIterator[httpx.AsyncClient]:
    async with world.signed_in() as client:
        yield client


async def ask_api(client: httpx.AsyncClient, **query: str) -> tuple[int, dict[str, Any]]:
    answer = await client.get("/api/v1/library/search", params=query)
    return answer.status_code, answer.json()


async def test_both_ways_find_the_same_and_say_what_matched(
    world: WebWorld, client: httpx.AsyncClient
) -> None:
    _, otter = await add_items(world, "castle", "knight_base")
    done = await command("search", "knihgt", "otters", "--json")
    printed = json.loads(done.stdout)
    status, answer = await ask_api(client, q="knihgt otters")
    assert status == 200
    for found in (printed, answer):
        (hit,) = found["hits"]
        assert (hit["item_id"], hit["shelf_id"], hit["group_id"]) == (str(otter), str(otter), None)
        assert [(match["field"], match["words"]) for match in hit["matches"]] == [
            ("name", ["knihgt"]),
            ("caption", ["otters"]),
        ]
        assert (found["found"], found["searched_back_to"]) == (1, None)
        assert found["meant"] == {"knihgt": ["knight"]}


async def test_pages_of_both_ways_follow_one_another(world: WebWorld, client: httpx.AsyncClient) -> None:
    await add_items(world, "knight a", "knight b", "knight c")
    names: list[str] = []
    after = ""
    for _ in range(3):
        _, answer = await ask_api(client, q="knight", limit="1", after=after)
        done = await command("search", "knight", "--limit", "1", "--after", after, "--json")
        printed = json.loads(done.stdout)
        assert [hit["shelf_id"] for hit in printed["hits"]] == [hit["shelf_id"] for hit in answer["hits"]]
        assert printed["following"] == answer["next"]
        names += [hit["name"] for hit in answer["hits"]]
        after = answer["next"] or ""
    assert (sorted(names), after) == (["knight a", "knight b", "knight c"], "")


async def test_filters_are_those_of_the_library(world: WebWorld, client: httpx.AsyncClient) -> None:
    await add_items(world, "knight")
    for kind, found in (("package", 1), ("clip", 0)):
        _, answer = await ask_api(client, q="knight", kind=kind)
        done = await command("search", "knight", "--kind", kind, "--channel", "Packs", "--json")
        assert len(answer["hits"]) == len(json.loads(done.stdout)["hits"]) == found


@pytest.mark.parametrize(
    ("typed", "query", "options"),
    [
        ("--", {}, []),
        ("knight", {"after": "x"}, ["--after", "x"]),
        ("knight", {"kind": "cup"}, ["--kind", "cup"]),
    ],
)
async def test_both_ways_refuse_the_same(
    client: httpx.AsyncClient, typed: str, query: dict[str, str], options: list[str]
) -> None:
    status, answer = await ask_api(client, q=typed, **query)
    done = await command("search", *options, "--", typed)
    assert (status, done.exit_code) == (422, 1)
    assert str(answer["detail"]).split(".")[0] in " ".join(done.stderr.split())


async def test_the_command_prints_where_it_found_words(world: WebWorld) -> None:
    await add_items(world, "knight")
    done = await command("search", "otters")
    assert "caption: all <b>otters</b>" in " ".join(done.stdout.split())
    assert "Nothing was found." in (await command("search", "unicorn")).stdout


async def test_the_command_rebuilds_the_index_and_goes_on_with_a_rebuild(
    world: WebWorld, client: httpx.AsyncClient
) -> None:
    await add_items(world, "knight", "castle")
    async with world.database.transaction() as tx:
        await tx.raw("truncate search_document, search_slice, search_word")
    await start_reindex(world.database)
    done = await command("reindex")
    assert "it continues" in done.stdout
    assert "2 items and groups are indexed." in done.stdout
    assert len((await ask_api(client, q="knight"))[1]["hits"]) == 1
    assert json.loads((await command("reindex", "--json")).stdout) == {"indexed": 2}
