"""A process with stored files, and a hand that posts, stores and looks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from headgate.app.parts import Parts, open_parts
from headgate.jobs.stepper import Stepper
from headgate.kernel.clock import VirtualClock
from headgate.kernel.settings import load_settings
from headgate.storage.blobs.blobs import Blob
from headgate.storage.database import Connection, connect
from headgate.storage.library.inspections import Inspection, get_inspection, note_inspection
from headgate.storage.library.pictures import Picture, list_pictures
from headgate.storage.queries import QueryFile

START = datetime(2026, 3, 1, 12, tzinfo=UTC)

Q = QueryFile(
    "inspecting",
    """
-- name: add_channel
insert into channel (id, platform, key, kind, title, created_at)
values (%(id)s, 'simulated', %(key)s, 'stream', 'Packs', %(now)s)

-- name: add_item
insert into item (id, channel_id, content_key, kind, title, size_bytes, sent_at, caught_at)
values (%(id)s, %(channel_id)s, %(key)s, 'package', %(title)s, 0, %(now)s, %(now)s)

-- name: add_message
insert into message (channel_id, key, position, topic, album, author_key, author, text,
    reply_to, sent_at, version_at, seen_at)
values (%(channel_id)s, %(key)s, %(position)s, %(topic)s, %(album)s, %(author)s, %(author)s,
    %(text)s, %(reply_to)s, %(now)s, %(now)s, %(now)s)
on conflict do nothing

-- name: add_sighting
insert into sighting (id, channel_id, message_key, attachment_key, position, topic, file_name, size_bytes,
    mime_type, sent_at, version_at, seen_at, verdict, item_id)
values (%(id)s, %(channel_id)s, %(message_key)s, %(id)s::text, %(position)s, %(topic)s, %(file_name)s,
    %(size_bytes)s, %(mime_type)s, %(now)s, %(now)s, %(now)s, %(verdict)s, %(item_id)s)

-- name: add_file
insert into item_file (sighting_id, channel_id, state, blob_id)
values (%(id)s, %(channel_id)s, 'stored', %(blob_id)s)

-- name: drop_file
update item_file set state = 'dropped', blob_id = null where sighting_id = %(id)s

-- name: list_paths
select path from content_entry where item_id = %(item_id)s order by number

-- name: list_files_inside
select path from content_entry where item_id = %(item_id)s and not is_directory

-- name: list_references
select blob_id from blob_reference

-- name: list_picture_blobs
select distinct blob_id from picture where item_id = %(item_id)s

-- name: list_wanted
select sighting_id from item_file where state = 'wanted'

-- name: list_damaged
select id from blob where damaged_at is not null
""",
)


@dataclass
class InspectingBench:
    """Stored files of one channel, in hand-moved time."""

    parts: Parts
    clock: VirtualClock
    channel_id: UUID = field(default_factory=uuid4)
    position: int = 0
    _connections: list[Connection] = field(default_factory=list[Connection])

    async def start(self) -> None:
        await self.execute("add_channel", id=self.channel_id, key=self.channel_id.hex, now=START)

    async def close(self) -> None:
        for connection in self._connections:
            await connection.close()

    async def execute(self, query: str, **parameters: Any) -> None:
        async with self.parts.database.transaction() as tx:
            await tx.execute(Q[query], **parameters)

    async def add_item(self, title: str = "Dragon") -> UUID:
        item_id = self.parts.ids.new()
        await self.execute(
            "add_item", id=item_id, channel_id=self.channel_id, key=f"place:{item_id}", title=title, now=START
        )
        return item_id

    async def post(
        self, name: str, content: bytes | None, *, item_id: UUID | None, mime_type: str = "", **message: str
    ) -> UUID:
        """Post a file in a message of its own; with content, it is stored."""
        self.position += 1
        sighting_id, now = self.parts.ids.new(), START + timedelta(seconds=self.position)
        of_message = {"topic": "", "album": "", "author": "ann", "text": "", "reply_to": ""} | message
        key = of_message.pop("key", str(self.position))
        await self.execute(
            "add_message",
            channel_id=self.channel_id,
            key=key,
            position=self.position,
            now=now,
            **of_message,
        )
        await self.execute(
            "add_sighting",
            id=sighting_id,
            channel_id=self.channel_id,
            message_key=key,
            position=self.position,
            topic=of_message["topic"],
            file_name=name,
            size_bytes=len(content or b""),
            mime_type=mime_type,
            verdict="kept" if item_id else "mime_type",
            item_id=item_id,
            now=now,
        )
        if content is not None:
            await self.keep(sighting_id, content)
        return sighting_id

    async def keep(self, sighting_id: UUID, content: bytes) -> Blob:
        """Store the content of a file."""
        blob = await self.store(content)
        await self.execute("add_file", id=sighting_id, channel_id=self.channel_id, blob_id=blob.id)
        return blob

    async def store(self, content: bytes) -> Blob:
        files = self.parts.files
        spool = await files.spools.open(uuid4().hex, version="1")
        await spool.append(content)
        await spool.finish(size_bytes=len(content))
        blob = await files.writer.store(spool)
        await spool.discard()
        return blob

    async def post_all(self, files: Mapping[str, bytes | None], *, title: str = "Dragon") -> UUID:
        """Post the files of one item."""
        item_id = await self.add_item(title)
        for name, content in files.items():
            await self.post(name, content, item_id=item_id)
        return item_id

    async def note(self, *item_ids: UUID) -> None:
        async with self.parts.database.transaction() as tx:
            await note_inspection(tx, item_ids, self.clock.now())

    async def stepper(self) -> Stepper:
        connection = await connect(self.parts.url, name="test")
        self._connections.append(connection)
        return Stepper(self.parts.execution, connection, uuid4(), 30)

    async def work(self) -> int:
        """Carry out what is due; return how many jobs that were."""
        stepper, jobs = await self.stepper(), 0
        await self.parts.tick().tick(self.clock.now())
        while job := await stepper.claim():
            _, settlement = await stepper.execute(job)
            await stepper.settle(job, settlement)
            jobs += job.entrypoint == "inspect"
        return jobs

    async def look(self, item_id: UUID) -> Inspection:
        """Note the item and look into it."""
        await self.note(item_id)
        await self.work()
        return await self.get(item_id)

    async def get(self, item_id: UUID) -> Inspection:
        async with self.parts.database.transaction() as tx:
            found = await get_inspection(tx, item_id)
        assert found is not None
        return found

    async def paths(self, item_id: UUID) -> Sequence[str]:
        return await self.column("list_paths", item_id=item_id)

    async def pictures(self, item_id: UUID) -> list[Picture]:
        async with self.parts.database.transaction() as tx:
            return (await list_pictures(tx, [item_id])).get(item_id, [])

    async def column(self, query: str, **parameters: Any) -> list[Any]:
        async with self.parts.database.transaction() as tx:
            return await tx.column(Q[query], **parameters)


@asynccontextmanager
async def open_bench(
    url: str, data_dir: Path, environment: Mapping[str, str] | None = None
) -> AsyncGenerator[InspectingBench, None]:
    """Open a process on a database and a folder."""
    clock = VirtualClock(START)
    settings = load_settings({"HEADGATE_DATA_DIR": str(data_dir), **(environment or {})})
    async with open_parts(settings, url, clock=clock, connectors={}) as parts:
        bench = InspectingBench(parts, clock)
        await bench.start()
        try:
            yield bench
        finally:
            await bench.close()
