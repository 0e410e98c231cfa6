"""What every store of objects must keep: one suite, for folders and buckets alike.

Subclass `StoreConformance` in a test module and give it a fixture `store` that yields an empty `BlobStore`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

from headgate.storage.blobs.store import (
    CHUNK_BYTES,
    BlobStore,
    ObjectDamaged,
    ObjectMissing,
    Upload,
    is_object_name,
    name_object,
)
from headgate.testing.conformance.harness import expect

_SMALL = b"small content"
_LARGE = bytes(range(256)) * (9 * 2**20 // 256) + b"and an odd end"
"""More than one part of an upload."""


class StoreConformance:
    """An object is what was put, whole or any range of it, from the moment that `put` returns."""

    async def test_what_is_put_can_be_read_whole(self, store: BlobStore, tmp_path: Path) -> None:
        for number, content in enumerate((b"", b"x", _SMALL, _LARGE)):
            name = await _put(store, tmp_path, content, number)
            expect(await store.get_size(name) == len(content), "an object has the size of its content")
            expect(await _read(store, name, 0, len(content)) == content, "an object is what was put")

    async def test_any_range_can_be_read(self, store: BlobStore, tmp_path: Path) -> None:
        name = await _put(store, tmp_path, _LARGE)
        size = len(_LARGE)
        edges = (0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, 5 * CHUNK_BYTES + 3, size - 1, size)
        for start in edges:
            for end in edges:
                content = await _read(store, name, start, end)
                expect(content == _LARGE[start:end], f"bytes {start} to {end} are those of the content")

    async def test_a_reader_gets_pieces_that_fit_into_memory(self, store: BlobStore, tmp_path: Path) -> None:
        name = await _put(store, tmp_path, _LARGE)
        sizes = [len(chunk) async for chunk in store.read(name, start=0, end=len(_LARGE))]
        expect(max(sizes) <= 4 * CHUNK_BYTES, "a piece is never the whole of a large object")
        expect(sum(sizes) == len(_LARGE), "all pieces are the whole")

    async def test_a_reader_can_stop_early(self, store: BlobStore, tmp_path: Path) -> None:
        name = await _put(store, tmp_path, _LARGE)
        reader = store.read(name, start=0, end=len(_LARGE))
        first = await anext(reader)
        await reader.aclose()
        expect(first == _LARGE[: len(first)], "the first piece is the beginning")
        expect(await _read(store, name, 0, len(_LARGE)) == _LARGE, "others can read it as before")

    async def test_many_objects_are_put_together(self, store: BlobStore, tmp_path: Path) -> None:
        uploads = [_upload(tmp_path, f"content {n}".encode(), n) for n in range(40)]
        expect(await store.put(uploads) == {}, "all of them are made")
        expect(await store.put([]) == {}, "none is no error")
        names = [upload.object_name for upload in uploads]
        expect(await _list(store) == sorted(names), "all of them are there")
        for n in (0, 17, 39):
            content = f"content {n}".encode()
            expect(await _read(store, names[n], 0, len(content)) == content, "each has its own content")

    async def test_one_failed_upload_does_not_harm_the_others(self, store: BlobStore, tmp_path: Path) -> None:
        good, bad = _upload(tmp_path, b"good", 1), _upload(tmp_path, b"bad", 2)
        bad.path.unlink()
        failed = await store.put([good, bad])
        expect(list(failed) == [bad.object_name], "only the failed one is named, with its error")
        expect(await _read(store, good.object_name, 0, 4) == b"good", "the other is stored")
        expect(await store.get_size(bad.object_name) is None, "the failed one is not there")

    async def test_a_missing_object_is_told_from_a_damaged_one(
        self, store: BlobStore, tmp_path: Path
    ) -> None:
        missing = name_object(hashlib.sha256(b"nothing").digest(), upload_id=UUID(int=9))
        expect(await store.get_size(missing) is None, "a missing object has no size")
        expect(await _fault(store, missing, 0, 5) is ObjectMissing, "a missing object is missing")
        name = await _put(store, tmp_path, _SMALL)
        for start, end in ((0, 99), (len(_SMALL) - 1, 99), (len(_SMALL), 99), (50, 99)):
            fault = await _fault(store, name, start, end)
            expect(fault is ObjectDamaged, "what ends too early is damaged, never silently shorter")

    async def test_deleting_twice_is_deleting(self, store: BlobStore, tmp_path: Path) -> None:
        kept, gone = await _put(store, tmp_path, b"kept", 1), await _put(store, tmp_path, b"gone", 2)
        await store.delete([gone])
        await store.delete([gone])
        await store.delete([])
        expect(await store.get_size(gone) is None, "a deleted object is not there")
        expect(await _list(store) == [kept], "others stay")

    async def test_the_list_names_objects_alone(self, store: BlobStore, tmp_path: Path) -> None:
        expect(await _list(store) == [], "an empty store has none")
        name = await _put(store, tmp_path, _SMALL)
        await store.write_mark("whose it is")
        await store.check()
        expect(is_object_name(name), "a name is of the form that the list knows")
        expect(await _list(store) == [name], "marks and checks are no objects")

    async def test_the_mark_stays(self, store: BlobStore) -> None:
        expect(await store.read_mark() is None, "a new store has none")
        await store.write_mark("first")
        await store.write_mark("second")
        expect(await store.read_mark() == "second", "the last one counts")

    async def test_readers_do_not_disturb_each_other(self, store: BlobStore, tmp_path: Path) -> None:
        name = await _put(store, tmp_path, _LARGE)
        ranges = [(n * 100_000, len(_LARGE) - n * 50_000) for n in range(12)]
        contents = await asyncio.gather(*(_read(store, name, start, end) for start, end in ranges))
        expect(
            contents == [_LARGE[start:end] for start, end in ranges],
            "each gets its range, all at the same time",
        )


def _upload(folder: Path, content: bytes, number: int) -> Upload:
    path = folder / f"upload-{number}"
    path.write_bytes(content)
    name = name_object(hashlib.sha256(content).digest(), upload_id=UUID(int=number))
    return Upload(name, path, len(content))


async def _put(store: BlobStore, folder: Path, content: bytes, number: int = 0) -> str:
    upload = _upload(folder, content, number)
    expect(await store.put([upload]) == {}, "the object is made")
    upload.path.unlink()
    return upload.object_name


async def _read(store: BlobStore, name: str, start: int, end: int) -> bytes:
    return b"".join([chunk async for chunk in store.read(name, start=start, end=end)])


async def _fault(store: BlobStore, name: str, start: int, end: int) -> type[BaseException] | None:
    try:
        await _read(store, name, start, end)
    except (ObjectMissing, ObjectDamaged) as error:
        return type(error)
    return None


async def _list(store: BlobStore) -> list[str]:
    return sorted([name async for name in _names(store)])


async def _names(store: BlobStore) -> AsyncIterator[str]:
    async for names in store.list_names():
        for name in names:
            yield name
