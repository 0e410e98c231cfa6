"""A stream whose items are indexed, and searched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from missing import STREAM, Missing

from headgate.catalogue.search.searching import SearchPage, search_library
from headgate.catalogue.search.verifying import SearchDifference, list_differences
from headgate.domain.streams.messages import Message
from headgate.ingest.labels.labelling import Labelling
from headgate.ingest.search.indexing import Indexing
from headgate.ingest.shelf.refreshing import ShelfRefreshing
from headgate.storage.queries import QueryFile
from headgate.storage.search.queue import note_due
from headgate.testing import file_of

Q = QueryFile(
    "tests of search",
    """
-- name: inspect
insert into inspection (item_id, state) select id, 'ok' from item where title = %(title)s

-- name: add_entry
insert into content_entry (item_id, number, path, is_directory)
select i.id, e.number, e.path, e.path like '%%/'
from item i cross join unnest(%(paths)s::text[]) with ordinality as e (path, number) where i.title = %(title)s

-- name: item_id
select id from item where title = %(title)s

-- name: hide
update item set hidden = %(hidden)s where title = %(title)s

-- name: group_id
select group_id from item where title = %(title)s

-- name: documents
select id from search_document order by id

-- name: versions
select xmin::text from search_document order by id

-- name: slices
select slice from search_document order by posted_at, id

-- name: words
select word from search_word order by word

-- name: due
select count(*) from search_due

-- name: damage
update search_document set words = array_to_tsvector('{000wrong}') where id = %(id)s

-- name: empty
truncate search_document, search_slice, search_word, search_due

-- name: give_content
update item set content_hash = '\\x01' where title = any(%(titles)s::text[])
""",
)


class SearchBench:
    """Posts, works and searches."""

    def __init__(self, missing: Missing) -> None:
        self.missing = missing
        for kind in (
            ShelfRefreshing().kind(),
            Labelling(missing.clock).kind(),
            Indexing(missing.clock).kind(),
        ):
            missing.kinds.add(kind)

    def message(self, name: str, text: str = "", *, size: int = 100, seed: str = "", **more: Any) -> Message:
        self.missing.clock.advance(60)
        file = file_of(name, f"{seed}{name}".encode().ljust(size, b"."))
        return self.missing.world.post(STREAM, files=[file], text=text, **more)

    async def post(self, name: str, text: str = "", **more: Any) -> None:
        await self.take_in(self.message(name, text, **more))

    async def take_in(self, *messages: Message) -> None:
        await self.missing.accept(*messages)
        await self.missing.work()

    async def look_inside(self, title: str, paths: Sequence[str]) -> None:
        await self.run("inspect", title=title)
        await self.run("add_entry", title=title, paths=list(paths))
        await self.note(await self.item_id(title))

    async def note(self, *item_ids: UUID) -> None:
        async with self.missing.database.transaction() as tx:
            await note_due(tx, item_ids, ())
        await self.missing.work()

    async def search(self, typed: str, **more: Any) -> SearchPage:
        async with self.missing.database.transaction() as tx:
            return await search_library(tx, typed, clock=self.missing.clock, **more)

    async def names(self, typed: str, **more: Any) -> list[str]:
        return [hit.name for hit in (await self.search(typed, **more)).hits]

    async def run(self, name: str, **parameters: Any) -> None:
        async with self.missing.database.transaction() as tx:
            await tx.execute(Q[name], **parameters)

    async def column(self, name: str, **parameters: Any) -> list[Any]:
        async with self.missing.database.transaction() as tx:
            return await tx.column(Q[name], **parameters)

    async def item_id(self, title: str) -> UUID:
        (item_id,) = await self.column("item_id", title=title)
        return item_id

    async def differences(self) -> list[SearchDifference]:
        return [difference async for difference in list_differences(self.missing.database)]
