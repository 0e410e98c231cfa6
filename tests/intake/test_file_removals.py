"""Asking for files, giving them up, removing things for ever, and what deleted messages leave."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fetch_bench import FetchBench, content_of, named, open_fetch_bench

from headgate.catalogue.files import drop_items, fetch_items, remove_items
from headgate.domain.errors import NotFound
from headgate.storage.database import Database


@pytest.fixture
async def fetching(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[FetchBench]:
    async with open_fetch_bench(database, database_url, tmp_path) as bench:
        yield bench


async def _items(bench: FetchBench) -> list[UUID]:
    return [row["id"] for row in await bench.rows("select id from item order by title")]


async def _shown(bench: FetchBench) -> list[str]:
    return [row["title"] for row in await bench.rows("select title from item where not hidden order by 1")]


async def _do(bench: FetchBench, action: Any, *item_ids: UUID) -> Any:
    return await bench.do(lambda tx: action(tx, item_ids, now=bench.clock.now()))


async def test_dropped_files_stay_listed_and_tell_what_they_free(fetching: FetchBench) -> None:
    await fetching.hear(fetching.world.post("packs", files=[named("a.zip", 5000), named("b.zip", 700)]))
    await fetching.work()
    first, _ = await _items(fetching)
    freed = await _do(fetching, drop_items, first)
    assert (freed.items, freed.files, freed.bytes) == (1, 1, 5000)
    assert await fetching.states() == ["a.zip dropped", "b.zip stored"]
    assert await _shown(fetching) == ["a", "b"]
    await fetching.rest(300)
    assert await fetching.states() == ["a.zip dropped", "b.zip stored"]


async def test_content_that_something_else_uses_is_not_counted_as_freed(fetching: FetchBench) -> None:
    fetching.world.add_stream("other")
    await fetching.follow()
    await fetching.hear(fetching.world.post("packs", files=[named("a.zip", 5000)]))
    await fetching.hear(fetching.world.post("other", files=[named("a.zip", 5000)]), stream="other")
    await fetching.work()
    first, second = await _items(fetching)
    assert (await _do(fetching, drop_items, first)).bytes == 0
    assert (await _do(fetching, drop_items, second)).bytes == 5000


async def test_what_was_dropped_can_be_asked_for_again(fetching: FetchBench) -> None:
    await fetching.hear(fetching.world.post("packs", files=[named("a.zip")]))
    await fetching.work()
    items = await _items(fetching)
    await _do(fetching, drop_items, *items)
    assert await _do(fetching, fetch_items, *items) == 1
    await fetching.work()
    assert await fetching.states() == ["a.zip stored"]
    assert await fetching.read_stored() == {content_of(named("a.zip"))}
    assert await _do(fetching, fetch_items, *items) == 0


async def test_an_ask_outranks_settings_that_download_nothing(fetching: FetchBench) -> None:
    await fetching.set(fetch="none")
    await fetching.work()
    await fetching.hear(fetching.world.post("packs", files=[named("a.zip")]))
    await _do(fetching, fetch_items, *await _items(fetching))
    await fetching.work()
    assert await fetching.states() == ["a.zip stored"]


async def test_what_was_removed_for_ever_does_not_come_back(fetching: FetchBench) -> None:
    message = fetching.world.post("packs", files=[named("a.zip", 5000)])
    await fetching.hear(message)
    await fetching.work()
    freed = await _do(fetching, remove_items, *await _items(fetching))
    assert freed.bytes == 5000
    await fetching.hear(message, fetching.world.repost("packs", message.key))
    await fetching.set(extensions=["zip"])
    await fetching.rest(300)
    assert await _shown(fetching) == []
    assert "a.zip stored" not in await fetching.states()
    with pytest.raises(NotFound):
        await _do(fetching, fetch_items, *await _items(fetching))


async def test_an_unknown_item_changes_nothing(fetching: FetchBench) -> None:
    await fetching.hear(fetching.world.post("packs", files=[named("a.zip")]))
    await fetching.work()
    with pytest.raises(NotFound):
        await _do(fetching, drop_items, *await _items(fetching), UUID(int=1))
    assert await fetching.states() == ["a.zip stored"]


@pytest.mark.parametrize(
    ("on_delete", "text", "shown", "state"),
    [
        ("keep", "hello", ["a"], "stored"),
        ("forget_text", "", ["a"], "stored"),
        ("forget_all", "", [], "dropped"),
    ],
)
async def test_a_deleted_message_leaves_what_the_setting_says(
    fetching: FetchBench, on_delete: str, text: str, shown: list[str], state: str
) -> None:
    await fetching.set(on_delete=on_delete)
    message = fetching.world.post("packs", files=[named("a.zip")], text="hello")
    await fetching.hear(message)
    await fetching.work()
    async with fetching.listening():
        fetching.world.delete("packs", message.key)
    assert [row["text"] for row in await fetching.rows("select text from message")] == [text]
    assert await _shown(fetching) == shown
    assert await fetching.states() == [f"a.zip {state}"]
