"""The file of a backup: a zip of `database.dump` (pg_dump's custom format) and `manifest.json`.

One file, so that the two cannot be parted; stored without a second compression, with checksums; and readable
without Headgate: `unzip -p FILE database.dump | pg_restore --dbname=…`.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, cast

from headgate.domain.errors import UserError
from headgate.storage.migrate import Applied, list_migrations

DUMP = "database.dump"
_MANIFEST = "manifest.json"
_FORMAT = 1
CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True)
class Manifest:
    """What is in a backup, as counted in the same snapshot."""

    headgate: str
    server_version: int
    taken_at: datetime
    database: str
    migrations: list[Applied]
    tables: dict[str, int]

    @property
    def rows(self) -> int:
        return sum(self.tables.values())


def write_manifest(archive: zipfile.ZipFile, manifest: Manifest) -> None:
    document = {"format": _FORMAT, **asdict(manifest), "taken_at": manifest.taken_at.isoformat()}
    archive.writestr(_MANIFEST, json.dumps(document, indent=2))


def read_manifest(source: Path) -> Manifest:
    """Return what the backup says of itself, or say why the file is none."""
    try:
        with zipfile.ZipFile(source) as archive:
            document = json.loads(archive.read(_MANIFEST))
            archive.getinfo(DUMP)
        return _parse(document)
    except FileNotFoundError:
        raise UserError(f"There is no file {source}.", remedy="Name the file of a backup.") from None
    except OSError as error:
        raise UserError(f"{source} cannot be read: {error.strerror or error}.") from error
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, EOFError) as error:
        raise damaged(source, str(error)) from error


def read_dump(source: Path) -> Iterator[bytes]:
    """Go through the dump in pieces; its checksum is verified at the end."""
    try:
        with zipfile.ZipFile(source) as archive, archive.open(DUMP) as dump:
            while chunk := dump.read(CHUNK_BYTES):
                yield chunk
    except (zipfile.BadZipFile, EOFError) as error:
        raise damaged(source, str(error)) from error


def open_dump(archive: zipfile.ZipFile) -> IO[bytes]:
    return archive.open(DUMP, "w", force_zip64=True)


def damaged(source: Path, reason: str) -> UserError:
    return UserError(
        f"{source} is not a whole backup of Headgate ({reason}).",
        remedy="Nothing was changed. Use another backup, or another copy of this one.",
    )


def check_origin(manifest: Manifest) -> None:
    """Refuse what a newer or an edited Headgate made: this one cannot read its tables."""
    known = {migration.number: migration.checksum for migration in list_migrations()}
    for applied in manifest.migrations:
        if applied.number not in known:
            raise UserError(
                f"The backup was made by a newer Headgate ({manifest.headgate}, with migration"
                f" {applied.number} {applied.name!r}).",
                remedy=f"Nothing was changed. Install Headgate {manifest.headgate} or newer, then restore.",
            )
        if applied.checksum != known[applied.number]:
            raise UserError(
                f"The backup was made by another edition of Headgate ({manifest.headgate}): its migration"
                f" {applied.number} {applied.name!r} differs.",
                remedy=f"Nothing was changed. Restore it with an unmodified Headgate {manifest.headgate}.",
            )


def _parse(document: dict[str, Any]) -> Manifest:
    if document["format"] != _FORMAT:
        raise UserError(
            f"The backup has format {document['format']}, and this Headgate knows {_FORMAT}.",
            remedy="Restore it with the Headgate that made it, or a newer one.",
        )
    return Manifest(
        headgate=str(document["headgate"]),
        server_version=int(document["server_version"]),
        taken_at=datetime.fromisoformat(document["taken_at"]),
        database=str(document["database"]),
        migrations=[Applied(**row) for row in document["migrations"]],
        tables={str(name): int(count) for name, count in cast("dict[str, Any]", document["tables"]).items()},
    )
