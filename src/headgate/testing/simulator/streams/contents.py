"""Judges stored content by its hash: what should be stored is, once and whole, and nothing is left over."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from headgate.domain.streams.filters import KEPT
from headgate.storage.blobs.spools import FOLDER, SpoolFolder
from headgate.storage.database import Connection, Tx
from headgate.storage.queries import QueryFile
from headgate.testing.content.content import Content, file_bytes, write_out
from headgate.testing.platform.world import World
from headgate.testing.simulator.streams.truth import Channel, SightingRow, read_channels

Q = QueryFile(
    "contents",
    """
-- name: files
select s.channel_id, s.message_key, s.attachment_key, f.state,
       coalesce(encode(b.sha256, 'hex'), '') as sha256, f.error_message
from item_file f join sighting s on s.id = f.sighting_id left join blob b on b.id = f.blob_id

-- name: blobs
select object_name, encode(sha256, 'hex') as sha256 from blob where damaged_at is null

-- name: wanted
select sighting_id::text from item_file where sighting_id::text = any(%(names)s::text[]) and state = 'wanted'

-- name: objects
select object_name from blob union select object_name from doomed_object
union select object_name from upload_intent
""",
)


@dataclass(frozen=True)
class FileRow:
    """What is known of the content of a file."""

    channel_id: UUID
    message_key: str
    attachment_key: str
    state: str
    sha256: str
    error_message: str


@dataclass(frozen=True)
class BlobRow:
    """Content that can be read, as its row says."""

    object_name: str
    sha256: str


@dataclass
class Contents:
    """Compares what is stored with what the world holds."""

    world: World
    _hashes: dict[tuple[Content, int], str] = field(default_factory=dict[tuple[Content, int], str])
    _whole: set[str] = field(default_factory=set[str])
    """Objects that were read and are what their rows say; objects never change."""

    async def check_always(self, director: Connection, data_dir: Path) -> list[str]:
        """Return what is never allowed: stored content that is not whole, or was never posted there."""
        broken = await self._check_objects(director, data_dir)
        return [*broken, *await self._check_posted(director)]

    async def _check_objects(self, director: Connection, data_dir: Path) -> list[str]:
        """Read what can be read, and return what is not what its row says."""
        blobs = await Tx(director).all(BlobRow, Q["blobs"])
        return [
            f"stored, but {found}: {blob.object_name}"
            for blob in blobs
            if blob.object_name not in self._whole
            and (found := self._read_object(blob, data_dir / "blobs" / blob.object_name))
        ]

    def _read_object(self, blob: BlobRow, path: Path) -> str:
        """Return what is wrong with an object; empty if it is whole."""
        if not path.is_file():
            return "not there"
        if hashlib.sha256(path.read_bytes()).hexdigest() != blob.sha256:
            return "not what its hash says"
        self._whole.add(blob.object_name)
        return ""

    async def _check_posted(self, director: Connection) -> list[str]:
        rows = await Tx(director).all(FileRow, Q["files"])
        channels = await read_channels(self.world, director)
        return [
            f"stored, but never posted: {row.message_key}/{row.attachment_key} in {channel.name}"
            for channel in channels
            for row in rows
            if row.channel_id == channel.row.id
            and row.state == "stored"
            and row.sha256 not in self._hashes_of(channel, row)
        ]

    async def _clean_up(self, tx: Tx, data_dir: Path) -> None:
        """Clean up as the next start does: the spool of a download that was given up stays until then."""

        async def list_wanted(names: Sequence[str]) -> Collection[str]:
            return await tx.column(Q["wanted"], names=list(names))

        spools = SpoolFolder(data_dir / FOLDER)
        await spools.clean_up(list_wanted)
        await spools.close()

    async def check_rest(self, director: Connection, data_dir: Path) -> list[str]:
        """Return what is not stored although it should be, and what is left over."""
        tx = Tx(director)
        rows = await tx.all(FileRow, Q["files"])
        # At rest everything is read once more: nothing that is in use may have been deleted.
        self._whole.clear()
        failures = await self.check_always(director, data_dir)
        for channel in await read_channels(self.world, director):
            files = {
                (row.message_key, row.attachment_key): row for row in rows if row.channel_id == channel.row.id
            }
            failures += self._check_stored(channel, files)
        if failures:
            return failures
        await self._clean_up(tx, data_dir)
        spools = [path.name for path in (data_dir / FOLDER).glob("*@*") if path.is_file()]
        waiting = any(row.state == "wanted" for row in rows)
        failures += [f"a spool is left: {name}" for name in spools if not waiting]
        known = set(await tx.column(Q["objects"]))
        stored = {f"{path.parent.name}/{path.name}" for path in (data_dir / "blobs").glob("??/*")}
        return [*failures, *(f"an object is left that no row knows: {name}" for name in stored - known)]

    def _check_stored(self, channel: Channel, files: dict[tuple[str, str], FileRow]) -> Iterator[str]:
        for held in channel.held:
            if held.garbled:
                continue
            for place in held.forms[-1].places:
                sighting = channel.sightings.get((held.key, place.key))
                if sighting is None or not place.is_in(sighting) or not _is_wanted(channel, sighting):
                    continue
                row = files.get((held.key, place.key))
                state = "not wanted" if row is None else f"{row.state} {row.error_message}"
                if row is None or row.state != "stored":
                    where = f"message {held.key} in {channel.name}"
                    yield f"not stored ({state}): {sighting.file_name} of {where}"

    def _hashes_of(self, channel: Channel, row: FileRow) -> set[str]:
        """Return the hashes of all that an attachment has ever been."""
        shift = self.world.accounts[channel.row.owner].shift if channel.row.owner else 0
        position = int(row.message_key) - shift
        number = int(row.attachment_key.removeprefix("a"))
        posted = self.world.stream(channel.row.key).row_at(position, now_ms=self.world.now_ms)
        forms = () if posted is None else posted.forms(self.world.now_ms)
        return {self._hash(content, number) for content in forms}

    def _hash(self, content: Content, number: int) -> str:
        key = (content, number)
        if key not in self._hashes:
            files = write_out(content).files
            self._hashes[key] = (
                hashlib.sha256(file_bytes(files[number])).hexdigest() if number < len(files) else ""
            )
        return self._hashes[key]


def _is_wanted(channel: Channel, sighting: SightingRow) -> bool:
    """Say whether the settings of now want the content of what was seen; sets are left to their sum."""
    if sighting.url or sighting.verdict != KEPT or sighting.item_id is None:
        return False
    rule = channel.rules.topics.get(sighting.topic, channel.rules.base).fetch
    if sighting.volume_of and rule.max_bytes:
        return False
    return rule.wants(
        mime_type=sighting.mime_type, file_name=sighting.file_name, size_bytes=sighting.size_bytes
    )
