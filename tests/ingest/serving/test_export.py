"""Copying stored files out: verified, resumable, never over what is there."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from headgate.domain.errors import UserError
from headgate.domain.library.inspections import ItemFile
from headgate.ingest.serving.export import PART, export_files
from headgate.storage.blobs.disk import DiskStore
from headgate.storage.blobs.store import Upload, name_object

CONTENT = bytes(range(256)) * 4096


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[DiskStore]:
    (tmp_path / "store").mkdir()
    store = DiskStore(tmp_path / "store")
    yield store
    await store.close()


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    (tmp_path / "spool").write_bytes(CONTENT)
    return tmp_path / "spool"


async def _put(store: DiskStore, name: str, spool: Path) -> ItemFile:
    sha256, upload_id = hashlib.sha256(CONTENT).digest(), uuid4()
    object_name = name_object(sha256, upload_id=upload_id)
    assert not await store.put([Upload(object_name, spool, len(CONTENT))])
    return ItemFile(uuid4(), name, len(CONTENT), "stored", upload_id, sha256, object_name)


async def test_files_are_copied_once(store: DiskStore, spool: Path, tmp_path: Path) -> None:
    file = await _put(store, "pack.zip", spool)
    seen: list[tuple[int, int]] = []
    first = await export_files(store, [file], tmp_path / "out", show=lambda done, of: seen.append((done, of)))
    again = await export_files(store, [file], tmp_path / "out")
    assert (first.written, again.written, again.already_there) == (["pack.zip"], [], ["pack.zip"])
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["pack.zip"]
    assert (tmp_path / "out" / "pack.zip").read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))


async def test_what_is_there_is_never_overwritten(store: DiskStore, spool: Path, tmp_path: Path) -> None:
    file = await _put(store, "pack.zip", spool)
    target = tmp_path / "out" / "pack.zip"
    target.parent.mkdir()
    for other in (b"mine", bytes(len(CONTENT))):
        target.write_bytes(other)
        with pytest.raises(UserError, match="has other content"):
            await export_files(store, [file], target.parent)
        assert target.read_bytes() == other
    target.unlink()
    target.symlink_to(tmp_path / "nowhere")
    with pytest.raises(UserError):
        await export_files(store, [file], target.parent)
    assert not (tmp_path / "nowhere").exists()


async def test_an_interrupted_copy_goes_on(store: DiskStore, spool: Path, tmp_path: Path) -> None:
    file = await _put(store, "pack.zip", spool)
    part = tmp_path / "out" / f"pack.zip{PART}"
    part.parent.mkdir()
    part.write_bytes(CONTENT[:-1])
    asked: list[int] = []
    read = store.read

    def note_start(name: str, *, start: int, end: int) -> AsyncIterator[bytes]:
        asked.append(start)
        return read(name, start=start, end=end)

    store.read = note_start  # type: ignore[method-assign,assignment]
    await export_files(store, [file], part.parent)
    assert (part.parent / "pack.zip").read_bytes() == CONTENT
    assert not part.exists()
    assert asked == [len(CONTENT) - 1]


async def test_a_start_of_another_file_is_found_out(store: DiskStore, spool: Path, tmp_path: Path) -> None:
    file = await _put(store, "pack.zip", spool)
    part = tmp_path / "out" / f"pack.zip{PART}"
    part.parent.mkdir()
    part.write_bytes(b"something else")
    with pytest.raises(UserError, match="damaged"):
        await export_files(store, [file], part.parent)
    await export_files(store, [file], part.parent)
    assert (part.parent / "pack.zip").read_bytes() == CONTENT


@pytest.mark.parametrize("name", ["../../evil.zip", "/etc/evil.zip", "..", "a\\..\\evil.zip", "nul.zip"])
async def test_names_lead_nowhere(store: DiskStore, spool: Path, tmp_path: Path, name: str) -> None:
    file = await _put(store, name, spool)
    await export_files(store, [file], tmp_path / "in" / "out")
    (copied,) = (tmp_path / "in" / "out").iterdir()
    assert copied.parent == tmp_path / "in" / "out"
    assert copied.read_bytes() == CONTENT
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["out"]
