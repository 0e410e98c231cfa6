"""A folder of backups of everything: for each a folder with its dump and manifest, and beside them the files.

Files are shared by all backups of the folder: an object never changes, so only new ones are copied. A backup
without a manifest was broken off, and is removed by the next one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from headgate.domain.errors import UserError
from headgate.domain.library.places import is_place
from headgate.storage.backup.file import read_manifest, read_table
from headgate.storage.blobs.store import is_object_name
from headgate.storage.embedded.locks import try_lock

MARK = "headgate-backups"
DUMP = "database.backup"
MANIFEST = "backup.json"
FILES = "files"
COPYING = "copying"
_FORMAT = 1
_NAME = re.compile(r"\d{8}T\d{6}Z")
_CHUNK_BYTES = 2**20


@dataclass(frozen=True)
class FullBackup:
    """A whole backup: a dump of the database, and the files that its rows name."""

    name: str
    taken_at: datetime
    headgate: str
    dump_bytes: int
    dump_sha256: str
    files: int
    size_bytes: int
    damaged: list[str]
    """Objects that were missing or damaged already when the backup was taken."""


@dataclass(frozen=True)
class StoredObject:
    """An object that a row of the dump names."""

    name: str
    sha256: bytes
    size_bytes: int


class BackupFolder:
    """Where backups are kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def files(self) -> Path:
        return self.folder / FILES

    @property
    def copying(self) -> Path:
        """Where files are written before they have their name."""
        return self.folder / COPYING

    def dump_of(self, name: str) -> Path:
        return self.folder / name / DUMP

    @contextmanager
    def begin(self, name: str) -> Generator[None, None, None]:
        """Prepare the folder for a new backup and keep others away; refuse one that holds anything else."""
        self._mark()
        with self._alone():
            self._clean_up()
            for folder in (self.files, self.copying, self.folder / name):
                folder.mkdir(mode=0o700, exist_ok=True)
            yield
            self._clean_up()

    def list_backups(self) -> list[FullBackup]:
        """Return the whole backups, newest first."""
        names = (path.name for path in self.folder.iterdir() if _NAME.fullmatch(path.name))
        found = (_read(self.folder / name) for name in sorted(names, reverse=True))
        return [backup for backup in found if backup is not None]

    def write(self, backup: FullBackup) -> None:
        """Make a backup count: from now on it is whole."""
        document = {"format": _FORMAT, **asdict(backup), "taken_at": backup.taken_at.isoformat()}
        _write_small(self.folder / backup.name / MANIFEST, json.dumps(document, indent=2))
        sync_folder(self.folder)

    def remove(self, backup: FullBackup) -> None:
        """Remove a backup, its manifest first; its files stay."""
        (self.folder / backup.name / MANIFEST).unlink()
        shutil.rmtree(self.folder / backup.name)

    def _mark(self) -> None:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if not (self.folder / MARK).exists():
            if any(self.folder.iterdir()):
                raise UserError(
                    f"{self.folder} is not empty, and it holds no backups of Headgate.",
                    remedy="Choose an empty folder, or one that holds earlier backups.",
                )
            _write_small(self.folder / MARK, "Backups of Headgate, database and files.\n")

    @contextmanager
    def _alone(self) -> Generator[None, None, None]:
        descriptor = os.open(self.folder / MARK, os.O_RDWR | os.O_CLOEXEC)
        try:
            if not try_lock(descriptor, exclusive=True):
                raise UserError(
                    f"Another backup into {self.folder} is running.", remedy="Wait until it has ended."
                )
            yield
        finally:
            os.close(descriptor)

    def _clean_up(self) -> None:
        """Remove what a backup left that was broken off."""
        shutil.rmtree(self.copying, ignore_errors=True)
        for path in self.folder.iterdir():
            if _NAME.fullmatch(path.name) and not (path / MANIFEST).exists():
                shutil.rmtree(path)


def find_backup(path: Path) -> tuple[BackupFolder, FullBackup]:
    """Return the newest backup of a folder, or the one whose own folder is named; raise if there is none."""
    if (path / DUMP).exists() or (path / MANIFEST).exists():
        backup = _read(path)
        if backup is None:
            raise UserError(
                f"The backup in {path} is not complete.",
                remedy="Nothing was changed. Restore another one of the same folder.",
            )
        return BackupFolder(path.parent), backup
    if not (path / MARK).exists():
        raise UserError(f"{path} holds no backup of Headgate.", remedy="Give the folder of the backups.")
    backups = BackupFolder(path).list_backups()
    if not backups:
        raise UserError(
            f"No backup in {path} is complete.",
            remedy="Nothing was changed. Use another folder, or take a new backup if you can.",
        )
    return BackupFolder(path), backups[0]


def count_placed(dump: Path) -> int:
    """Return how many files the rows of a dump leave where they lie: no backup has them."""
    table = read_manifest(dump).tables.get("blob")
    if table is None:
        return 0
    place = table.columns.index("object_name")
    return sum(is_place(line.split("\t")[place]) for line in _lines(dump))


def read_objects(dump: Path) -> Iterator[StoredObject]:
    """Go through the objects that the rows of a dump name."""
    table = read_manifest(dump).tables.get("blob")
    if table is None:
        return
    places = [table.columns.index(column) for column in ("object_name", "sha256", "size_bytes")]
    for line in _lines(dump):
        cells = line.split("\t")
        name, sha256, size_bytes = (cells[place] for place in places)
        if is_place(name):
            # It lies in a folder of its owner's, which no backup of ours touches.
            continue
        # A name out of a file must never lead anywhere else.
        if not is_object_name(name) or sha256 != f"\\\\x{name[3:67]}":
            raise UserError(f"The backup names a file in a way that Headgate does not: {name!r}.")
        yield StoredObject(name, bytes.fromhex(name[3:67]), int(size_bytes))


def read_store_id(dump: Path) -> str | None:
    """Return the ID of the store that the dump's files were in."""
    table = read_manifest(dump).tables.get("blob_store")
    rows = list(_lines(dump, "blob_store")) if table is not None else []
    return rows[0].split("\t")[table.columns.index("id")] if table is not None and rows else None


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file, for people to compare."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lines(dump: Path, table: str = "blob") -> Iterator[str]:
    left = b""
    for chunk in read_table(dump, table):
        *lines, left = (left + chunk).split(b"\n")
        for line in lines:
            yield line.decode()


def _read(folder: Path) -> FullBackup | None:
    """Return what a manifest says; nothing if there is none that can be read."""
    try:
        document = json.loads((folder / MANIFEST).read_text("utf-8"))
        if document["format"] != _FORMAT:
            raise UserError(
                f"The backup in {folder} has another format.",
                remedy="Restore it with the Headgate that made it, or a newer one.",
            )
        backup = _parse(document)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return backup if backup.name == folder.name else None


def _parse(document: dict[str, Any]) -> FullBackup:
    return FullBackup(
        name=str(document["name"]),
        taken_at=datetime.fromisoformat(document["taken_at"]),
        headgate=str(document["headgate"]),
        dump_bytes=int(document["dump_bytes"]),
        dump_sha256=str(document["dump_sha256"]),
        files=int(document["files"]),
        size_bytes=int(document["size_bytes"]),
        damaged=[str(name) for name in document["damaged"]],
    )


def _write_small(path: Path, text: str) -> None:
    """Write a file that appears whole."""
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    Path(draft).replace(path)
    sync_folder(path.parent)
