"""A bench that imports real folders, with the connector of the product."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from bench import START
from fetch_bench import FetchBench

from headgate.app.connectors import load_connectors
from headgate.app.parts import Parts, build_parts
from headgate.connectors.folder import own_folders
from headgate.connectors.folder.link import FolderLink
from headgate.intake.channels.importing import StartedImport, start_import
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import Settings, load_settings
from headgate.storage.blobs.blobs import get_blobs
from headgate.storage.database import Database
from headgate.storage.library.imports import ImportProgress, get_progress
from headgate.testing import PRESETS, VirtualClock, World

SQL = {
    "stored": """
select s.message_key as key, s.file_name, s.item_id, f.blob_id from sighting s
left join item_file f on f.sighting_id = s.id order by s.message_key
""",
    "counts": """
select (select count(*) from sighting) as sightings, (select count(*) from item) as items,
       (select count(*) from blob) as blobs, (select count(*) from message) as messages
""",
    "sets": """
select i.title, count(*) as volumes, s.author_key from item i join sighting s on s.item_id = i.id
where s.assembled group by i.id, i.title, s.author_key order by s.author_key
""",
    "reasons": """
select f.state || ' ' || f.error_class || ' ' || f.error_message from item_file f
join sighting s on s.id = f.sighting_id where f.state <> 'stored' order by s.message_key
""",
}


@dataclass
class FolderBench(FetchBench):
    """The product with folders alone."""

    folder: Path = field(default_factory=Path)

    @property
    def settings(self) -> Settings:
        assert self.data_dir is not None
        return folder_settings(self.data_dir)

    async def restart(self) -> None:
        self.claimer = self._ticker = None
        self._processes += 1
        self.parts = _make(self.database, self.url, self.clock, self.settings, seed=self._processes)

    async def start_import(self, folder: Path | None = None, **options: Any) -> StartedImport:
        return await start_import(
            self.database,
            folder or self.folder,
            own_folders=own_folders(self.settings),
            ids=self.parts.ids,
            clock=self.clock,
            **options,
        )

    async def import_all(self, **options: Any) -> StartedImport:
        """Import the folder, and do all that follows from it."""
        # A scan that ended in the same moment would join this one.
        await self.pass_time(1)
        started = await self.start_import(**options)
        await self.work()
        return started

    async def progress(self, started: StartedImport) -> ImportProgress:
        return await self.do(
            lambda tx: get_progress(tx, started.channel_id, since=started.started_at, now=self.clock.now())
        )

    async def contents(self) -> dict[str, bytes | None]:
        """Return what is stored, by the keys of messages; each is verified by its hash."""
        async with self.database.transaction() as tx:
            rows = await tx.raw(SQL["stored"])
            blobs = await get_blobs(tx, {row["blob_id"] for row in rows if row["blob_id"]})
        found: dict[str, bytes | None] = {}
        for row in rows:
            blob = blobs.get(row["blob_id"])
            found[row["key"]] = None
            if blob is not None:
                store = self.parts.files.store
                chunks = store.read(blob.object_name, start=0, end=blob.size_bytes)
                content = b"".join([chunk async for chunk in chunks])
                assert hashlib.sha256(content).digest() == blob.sha256
                found[row["key"]] = content
        return found

    async def ask_rows(self, name: str) -> list[tuple[Any, ...]]:
        async with self.database.transaction() as tx:
            return [tuple(row.values()) for row in await tx.raw(SQL[name])]


def folder_settings(data_dir: Path) -> Settings:
    return load_settings(
        {
            "HEADGATE_DATA_DIR": str(data_dir),
            "HEADGATE_FILES_KEEP_FREE_GIB": "0",
            "HEADGATE_FILES_KEEP_FREE_PERCENT": "0",
        }
    )


def _make(database: Database, url: str, clock: VirtualClock, settings: Settings, *, seed: int = 1) -> Parts:
    return build_parts(
        settings,
        url,
        database,
        clock=clock,
        randomness=Randomness(seed),
        connectors={"folder": load_connectors(settings)["folder"]},
    )


@asynccontextmanager
async def open_folder_bench(database: Database, url: str, place: Path) -> AsyncGenerator[FolderBench, None]:
    """Open a bench on an empty folder beside its data folder."""
    data_dir, folder = place / "data", place / "collection"
    folder.mkdir()
    clock = VirtualClock(START)
    world = World(1, clock, PRESETS["telegram_like"])
    parts = _make(database, url, clock, folder_settings(data_dir))
    bench = FolderBench(database, url, clock, world, parts, data_dir=data_dir, folder=folder)
    await bench.start()
    try:
        yield bench
    finally:
        await bench.close()
        await bench.parts.reader.close()
        await bench.parts.files.close()


def fill_folder(folder: Path, count: int) -> dict[str, bytes]:
    """Make nested files with contents of their own; returns them by their paths."""
    made: dict[str, bytes] = {}
    for number in range(count):
        path = folder / f"maker {number % 7}" / f"pack {number % 50}" / f"model {number}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        content = f"content {number}".encode() * (number % 5)
        path.write_bytes(content)
        made[str(path.relative_to(folder))] = content
    return made


def write_file(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def count_downloads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Count what is read from files, by the keys."""
    read: list[str] = []
    original = FolderLink.download

    def counting(
        self: FolderLink, stream: str, *, message_key: str, attachment_key: str, offset: int = 0
    ) -> object:
        read.append(message_key)
        return original(self, stream, message_key=message_key, attachment_key=attachment_key, offset=offset)

    monkeypatch.setattr(FolderLink, "download", counting)
    return read
