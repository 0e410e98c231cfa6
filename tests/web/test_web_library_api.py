"""The library for programs: pages, filters, counts, members and saved views."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import httpx
from programs import program
from webworld import WebWorld

from headgate.storage.shelf.touched import touch_items

API = "/api/v1/library"


async def fill(world: WebWorld, *titles: str, channel: str = "Minis", size_bytes: int = 1000) -> list[UUID]:
    channel_id = await world.add_channel(channel)
    ids = [await world.add_item(channel_id, title, minute=number) for number, title in enumerate(titles)]
    async with world.database.transaction() as tx:
        for number, item_id in enumerate(ids):
            await tx.raw(
                "update item set type = 'zip', name_key = lower(title), size_bytes = $2 where id = $1",
                [item_id, size_bytes + number],
            )
        touch_items(tx, ids)
    return ids


async def get(client: httpx.AsyncClient, path: str = "", **query: Any) -> Any:
    answer = await client.get(API + path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def names(answer: Any) -> list[str]:
    return [row["name"] for row in answer["rows"]]


async def test_pages_lead_on_and_back_in_every_order(world: WebWorld) -> None:
    await fill(world, "b", "d", "a", "c")
    orders = {"newest": "cadb", "oldest": "bdac", "name": "abcd", "size": "cadb", "smallest": "bdac"}
    async with program(world, "read") as client:
        for sort, expected in orders.items():
            first = await get(client, sort=sort, limit=3)
            assert names(first) == list(expected[:3]), sort
            assert first["previous"] is None
            second = await get(client, sort=sort, limit=3, after=first["next"])
            assert (names(second), second["next"]) == ([expected[3]], None)
            back = await get(client, sort=sort, limit=3, before=second["previous"])
            assert names(back) == list(expected[:3])


async def test_filters_of_different_fields_must_all_match(world: WebWorld) -> None:
    await fill(world, "knight", size_bytes=5000)
    (dragon,) = await fill(world, "dragon", channel="Terrain", size_bytes=9000)
    async with program(world, "read") as client:
        rows = (await get(client))["rows"]
        terrain = next(row["channels"][0]["id"] for row in rows if row["name"] == "dragon")
        assert names(await get(client, channel=terrain, min_size="5 kB")) == ["dragon"]
        assert names(await get(client, channel=terrain, max_size="5 kB")) == []
        assert await get(client, "/count", channel=terrain) == {"rows": 1, "more": False}
        assert await get(client, "/count") == {"rows": 2, "more": False}
        (member,) = (await get(client, "/members", row=str(dragon)))["members"][str(dragon)]
        assert (member["title"], member["channel_title"], member["state"]) == ("dragon", "Terrain", "listed")


async def test_new_rows_above_a_place_are_counted(world: WebWorld) -> None:
    await fill(world, "a", "b", "c")
    async with program(world, "read") as client:
        first = await get(client, limit=1)
        second = await get(client, limit=1, after=first["next"])
        assert await get(client, "/count", before=second["previous"]) == {"rows": 1, "more": False}


async def test_values_that_make_no_sense_are_refused_with_their_field(world: WebWorld) -> None:
    async with program(world, "read") as client:
        for query, status in (
            ({"kind": "thing"}, 422),
            ({"from": "yesterday"}, 422),
            ({"sort": "best"}, 422),
            ({"after": "x"}, 400),
            ({"sort": "size", "after": "99999999999999999999." + uuid4().hex}, 400),
            ({"sort": "name", "after": "x"}, 400),
            ({"after": f"1.{uuid4().hex}", "before": f"1.{uuid4().hex}"}, 422),
            ({"limit": 201}, 422),
        ):
            answer = await client.get(API, params=query)
            assert answer.status_code == status, (query, answer.text)
        refused = (await client.get(API, params={"kind": "thing"})).json()
        assert "package" in refused["detail"]


async def test_views_are_saved_changed_and_deleted(world: WebWorld) -> None:
    async with program(world, "write") as client:
        made = (await client.post(f"{API}/views", json={"name": "Clips", "query": "kind=clip"})).json()
        assert (made["name"], made["query"], made["is_default"]) == ("Clips", "kind=clip", False)
        path = f"{API}/views/{made['id']}"
        changed = await client.patch(
            path, json={"name": "Short", "query": "kind=clip&sort=size", "is_default": True}
        )
        assert changed.json()["is_default"] is True
        assert [view["query"] for view in (await get(client, "/views"))["views"]] == ["kind=clip&sort=size"]
        assert (await client.patch(path, json={})).status_code == 422
        assert (await client.post(f"{API}/views", json={"name": "short"})).status_code == 422
        assert (await client.delete(path)).status_code == 204
        assert (await client.delete(path)).status_code == 404
        assert (await get(client, "/views")) == {"views": []}
