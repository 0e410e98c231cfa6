"""The file of a backup: a zip of `manifest.json` and, in COPY's text format, `tables/<name>` for each table.

It holds rows and nothing else. No part of it is ever run: a restore makes the tables by its own migrations
and refuses an entry, table or column that they do not make. Readable without Headgate, with the columns of
the manifest: `unzip -p FILE tables/lease | psql -c 'copy lease (name, …) from stdin'`.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, cast

from headgate.domain.errors import UserError
from headgate.storage.migrate import Applied, list_migrations

MANIFEST = "manifest.json"
_FORMAT = 2
# Shown in messages, so nothing in it may speak to a terminal.
_VERSION = re.compile(r"[\w.+-]{1,40}", re.ASCII)
CHUNK_BYTES = 256 * 1024
_MAX_MANIFEST_BYTES = 4 * 2**20
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What zipfile raises for a damaged file, or one that is packed or encrypted in another way."""


@dataclass(frozen=True)
class TableRows:
    """The rows of a table: what they are made of, and how many there are."""

    columns: list[str]
    rows: int


@dataclass(frozen=True)
class SequenceState:
    """Where a sequence goes on."""

    last_value: int
    is_called: bool


@dataclass(frozen=True)
class BackupManifest:
    """What is in a backup, as of one snapshot."""

    headgate: str
    server_version: int
    taken_at: datetime
    database: str
    migrations: list[Applied]
    tables: dict[str, TableRows]
    sequences: dict[str, SequenceState]
    left_out: list[str]
    """Tables and columns of the database that Headgate did not make."""

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables.values())


def entry_of(table: str) -> str:
    return f"tables/{table}"


def open_table(archive: zipfile.ZipFile, table: str) -> IO[bytes]:
    return archive.open(entry_of(table), "w", force_zip64=True)


def write_manifest(archive: zipfile.ZipFile, manifest: BackupManifest) -> None:
    document = {"format": _FORMAT, **asdict(manifest), "taken_at": manifest.taken_at.isoformat()}
    archive.writestr(MANIFEST, json.dumps(document, indent=2))


def read_manifest(source: Path) -> BackupManifest:
    """Return what the backup says of itself, or say why the file is none."""
    try:
        with zipfile.ZipFile(source) as archive:
            with archive.open(MANIFEST) as file:
                manifest = _parse(json.loads(file.read(_MAX_MANIFEST_BYTES)))
            _check_entries(source, archive.namelist(), manifest)
    except FileNotFoundError:
        raise UserError(f"There is no file {source}.", remedy="Give the path of a backup file.") from None
    except OSError as error:
        raise UserError(f"{source} cannot be read: {error.strerror or error}.") from error
    except (*_BROKEN, KeyError, ValueError, TypeError, AttributeError) as error:
        raise damaged(source, str(error)) from error
    return manifest


def read_table(source: Path, table: str) -> Iterator[bytes]:
    """Go through the rows of a table in pieces; the checksum is verified at the end."""
    try:
        with zipfile.ZipFile(source) as archive, archive.open(entry_of(table)) as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk
    except _BROKEN as error:
        raise damaged(source, str(error)) from error


def damaged(source: Path, reason: str) -> UserError:
    return UserError(
        f"{source} is not a complete backup of Headgate ({reason}).",
        remedy="Nothing was changed. Use another backup, or another copy of this one.",
    )


def foreign(names: list[str]) -> UserError:
    return UserError(
        f"The backup contains what Headgate does not create: {', '.join(map(repr, names))}.",
        remedy="Nothing was changed. Restore an unchanged backup file.",
    )


def check_origin(manifest: BackupManifest) -> None:
    """Refuse what a newer or an edited Headgate made: this one cannot read its tables."""
    known = list_migrations()
    for applied in manifest.migrations:
        if applied.number > len(known):
            raise UserError(
                f"The backup was made by a newer Headgate ({manifest.headgate}, with migration"
                f" {applied.number} {applied.name!r}).",
                remedy=f"Nothing was changed. Install Headgate {manifest.headgate} or newer, then restore.",
            )
    if [applied.number for applied in manifest.migrations] != [
        migration.number for migration in known[: len(manifest.migrations)]
    ]:
        raise foreign(["migrations in another order"])
    for applied, migration in zip(manifest.migrations, known, strict=False):
        if applied.checksum != migration.checksum:
            raise UserError(
                f"The backup was made by a modified Headgate ({manifest.headgate}): its migration"
                f" {applied.number} {applied.name!r} differs.",
                remedy=f"Nothing was changed. Restore it with an unmodified Headgate {manifest.headgate}.",
            )


def _check_entries(source: Path, found: list[str], manifest: BackupManifest) -> None:
    expected = {MANIFEST, *(entry_of(table) for table in manifest.tables)}
    twice = [name for name, count in Counter(found).items() if count > 1]
    if strange := sorted({*found} - expected) + twice:
        raise foreign([f"entry {name}" for name in strange])
    if missing := sorted(expected - {*found}):
        raise damaged(source, f"it lacks {', '.join(missing)}")


def _parse(document: dict[str, Any]) -> BackupManifest:
    if document["format"] != _FORMAT:
        raise UserError(
            f"The backup has format {document['format']}, but this Headgate knows only {_FORMAT}.",
            remedy="Restore it with the Headgate that made it, or a newer one.",
        )
    if not _VERSION.fullmatch(document["headgate"]):
        raise ValueError("it names no version")
    tables = cast("dict[str, dict[str, Any]]", document["tables"])
    sequences = cast("dict[str, dict[str, Any]]", document["sequences"])
    return BackupManifest(
        headgate=str(document["headgate"]),
        server_version=int(document["server_version"]),
        taken_at=datetime.fromisoformat(document["taken_at"]),
        database=str(document["database"]),
        migrations=[
            Applied(int(row["number"]), str(row["name"]), str(row["checksum"]))
            for row in document["migrations"]
        ],
        tables={
            name: TableRows([str(column) for column in table["columns"]], int(table["rows"]))
            for name, table in tables.items()
        },
        sequences={
            name: SequenceState(int(state["last_value"]), bool(state["is_called"]))
            for name, state in sequences.items()
        },
        left_out=[str(name) for name in document["left_out"]],
    )
