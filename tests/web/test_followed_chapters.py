"""Chapters of followed series beside the things of the library."""

from __future__ import annotations

import asyncio
import json

import pytest
from series_pages import add_series, user_id_of
from typer.testing import CliRunner
from webworld import WebWorld

from headgate.cli.main import app
from headgate.storage.listings.followed_chapters import ChapterCursor, list_newest

pytestmark = pytest.mark.usefixtures("settings_of_commands")


async def follow(world: WebWorld, series_id: object) -> None:
    user_id = await user_id_of(world)
    async with world.database.transaction() as tx:
        await tx.raw(
            "insert into follow (id, user_id, series_id, since) values (gen_random_uuid(), $1, $2, now())",
            [user_id, series_id],
        )


async def test_chapters_of_followed_series_are_shown_in_every_way(world: WebWorld) -> None:
    async with world.signed_in() as client:
        followed = await add_series(world, "Tidewater", "1", "2", "3")
        await add_series(world, "Other", "7")
        await follow(world, followed.series_id)
        page = (await client.get("/library/chapters")).text
        assert [f"Chapter {number}" in page for number in (1, 2, 3, 7)] == [True, True, True, False]
        assert 'href="/library/chapters"' in (await client.get("/")).text
        answer = (await client.get("/api/v1/library/chapters", params={"limit": 2})).json()
        older = (await client.get("/api/v1/library/chapters", params={"before": answer["next"]})).json()
        numbers = [one["number"] for one in (*answer["chapters"], *older["chapters"])]
        assert (sorted(numbers), older["next"]) == (["1", "2", "3"], None)
        done = await asyncio.to_thread(CliRunner().invoke, app, ["library", "chapters", "--json"])
        assert [one["number"] for one in json.loads(done.stdout)["chapters"]] == numbers


async def test_pages_of_chapters_neither_repeat_nor_skip(world: WebWorld) -> None:
    await world.add_user()
    for title in ("Tidewater", "Berserk", "Frieren"):
        made = await add_series(world, title, "1", "2", "3", "4")
        await follow(world, made.series_id)
    user_id = await user_id_of(world)
    seen: list[object] = []
    below: ChapterCursor | None = None
    while True:
        async with world.database.transaction() as tx:
            page = await list_newest(tx, user_id, below=below, limit=5)
        if not page:
            break
        seen += [one.id for one in page]
        below = ChapterCursor(page[-1].seen_at, page[-1].id)
    assert len(seen) == len(set(seen)) == 12
