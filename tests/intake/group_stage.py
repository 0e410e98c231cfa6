"""A channel whose items people group, with what the library shows of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from missing import STREAM, Missing

from headgate.catalogue.groups import editing
from headgate.domain.streams.messages import Message
from headgate.storage.shelf.verify import verify_shelf
from headgate.testing import file_of


@dataclass(frozen=True)
class GroupStage:
    """What tests of groups do again and again."""

    missing: Missing

    @property
    def now(self) -> Any:
        return self.missing.clock.now()

    def post(self, name: str, **more: Any) -> Message:
        mime_type = "image/jpeg" if name.endswith(".jpg") else "application/octet-stream"
        file = file_of(name, name.encode().ljust(100, b"."), mime_type=mime_type)
        return self.missing.world.post(STREAM, files=[file], **more)

    def album(self, *names: str, key: str = "a1", text: str = "") -> list[Message]:
        said = [text, *[""] * (len(names) - 1)]
        return [self.post(name, album=key, text=words) for name, words in zip(names, said, strict=True)]

    async def accept(self, *messages: Message) -> None:
        await self.missing.accept(*messages)
        await self.missing.work()

    async def items(self, *names: str) -> list[UUID]:
        """Post files that are not related, and return their items."""
        await self.accept(*(self.post(f"{name}.zip") for name in names))
        return [await self.item(name) for name in names]

    async def ask(self, sql: str, *arguments: Any) -> list[dict[str, Any]]:
        async with self.missing.database.transaction() as tx:
            return await tx.raw(sql, arguments)

    async def item(self, title: str) -> UUID:
        (row,) = await self.ask("select id from item where title = $1", title)
        return row["id"]

    async def group_of(self, title: str) -> UUID | None:
        (row,) = await self.ask("select group_id from item where title = $1", title)
        return row["group_id"]

    async def shelf(self) -> dict[str, list[str]]:
        """Return the names of the rows that are shown, each with the titles of its members."""
        rows = await self.ask(
            """
            select s.name, array(
                select i.title from item i
                where not i.hidden and (i.group_id = s.group_id or i.id = s.id) order by i.title
            ) as titles
            from shelf s order by s.name_key
            """
        )
        return {row["name"]: row["titles"] for row in rows}

    async def wait_for_lock(self) -> None:
        """Return when somebody waits for a lock."""
        waiting = (
            "select count(*) from (select pg_stat_clear_snapshot() offset 0) as forgotten, pg_stat_activity"
            " where datname = current_database() and wait_event_type = 'Lock'"
        )
        while (await self.ask(waiting))[0]["count"] == 0:
            pass

    async def is_sound(self) -> bool:
        return [found async for found in verify_shelf(self.missing.database, repair=False)][-1].sound

    async def create(self, name: str, *things: UUID) -> UUID:
        async with self.missing.database.transaction() as tx:
            made = await editing.create_group(tx, things, name=name, ids=self.missing.ids, now=self.now)
        return made.id

    async def add(self, group_id: UUID, *things: UUID) -> editing.Grouped:
        async with self.missing.database.transaction() as tx:
            return await editing.add_to_group(tx, group_id, things, now=self.now)

    async def remove(self, group_id: UUID, *items: UUID) -> editing.Ungrouped:
        async with self.missing.database.transaction() as tx:
            return await editing.remove_from_group(tx, group_id, items, now=self.now)

    async def rename(self, group_id: UUID, name: str) -> str:
        async with self.missing.database.transaction() as tx:
            return await editing.rename_group(tx, group_id, name)

    async def merge(self, group_id: UUID, *others: UUID) -> editing.Grouped:
        async with self.missing.database.transaction() as tx:
            return await editing.merge_groups(tx, group_id, others, now=self.now)

    async def dissolve(self, group_id: UUID) -> editing.Dissolved:
        async with self.missing.database.transaction() as tx:
            return await editing.dissolve_group(tx, group_id, now=self.now)

    async def restore(self, group_id: UUID) -> editing.Grouped:
        async with self.missing.database.transaction() as tx:
            return await editing.restore_group(tx, group_id, now=self.now)
