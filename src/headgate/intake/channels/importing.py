"""Importing a folder: it becomes a channel whose files are read, stored and looked into like any others."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID

from headgate.connectors.protocol import FoundChannel
from headgate.domain.errors import UserError
from headgate.domain.library.places import IN_PLACE
from headgate.domain.text import MAX_TITLE_LENGTH, is_key, typed_text
from headgate.intake.channels import requests
from headgate.intake.channels.discovery import follow
from headgate.intake.channels.settings import SettingsLayer, change_settings
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.storage.channels.channels import upsert_account
from headgate.storage.channels.discovery import forget_removed
from headgate.storage.channels.following import Whose
from headgate.storage.channels.requests import ScanWish
from headgate.storage.database import Database, Tx
from headgate.storage.events import Event, publish
from headgate.storage.library.imports import ImportedFolder, list_folders, retry_files

PLATFORM = "folder"
COPIED = "local"
"""The account of folders whose files are copied."""
PAGE = 1000
"""Files that are listed at once."""


@dataclass(frozen=True)
class StartedImport:
    """A folder whose import has begun."""

    channel_id: UUID
    account_id: UUID
    scan_id: UUID
    title: str
    path: str
    new: bool
    """Whether it was not imported before."""
    started_at: datetime


async def start_import(
    database: Database,
    folder: Path,
    *,
    own_folders: Sequence[Path],
    title: str = "",
    in_place: bool = False,
    ids: Ids,
    clock: Clock,
) -> StartedImport:
    """Make a folder a channel, if it is none, and ask for a scan; what failed before is tried again.

    Files of a folder `in_place` are not copied. The account that reads a folder tells which it is.
    Requests lock jobs before settings, so each step has a transaction of its own.
    """
    path = check_folder(folder, own_folders=own_folders)
    now = clock.now()
    name = IN_PLACE if in_place else COPIED
    async with database.transaction() as tx:
        account_id = await upsert_account(
            tx, ids.new(), platform=PLATFORM, name=name, established=True, now=now
        )
        channel, new = await _follow_folder(tx, path, account_id, title=title, ids=ids, now=now)
    async with database.transaction() as tx:
        wish = ScanWish(page_limit=PAGE)
        asked = await requests.ask_scan(tx, channel.id, wish, ids=ids, now=now)
    async with database.transaction() as tx:
        await retry_files(tx, channel.id, now=now)
    return StartedImport(channel.id, account_id, asked.id, channel.title, str(path), new, now)


def check_folder(folder: Path, *, own_folders: Sequence[Path]) -> Path:
    """Return the real path of a folder that can be imported, or say why it cannot."""
    path = folder.expanduser().absolute()
    if not path.exists():
        raise UserError(f"{path} does not exist.", remedy="Name an existing folder.", field="folder")
    if not path.is_dir():
        raise UserError(f"{path} is not a folder.", remedy="Name the folder that it is in.", field="folder")
    path = path.resolve()
    try:
        with os.scandir(path) as entries:
            next(entries, None)
    except OSError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror}.",
            remedy="Let the user that runs Headgate read it.",
            field="folder",
        ) from error
    for own in own_folders:
        if path.is_relative_to(own.resolve()):
            raise UserError(
                f"{path} is inside {own}, where Headgate keeps its own files.",
                remedy="Name a folder outside of it.",
                field="folder",
            )
    if not is_key(str(path)):
        raise UserError(
            f"The path of {path.name!a} is not valid UTF-8, or longer than 1,000 bytes.",
            remedy="Rename the folder; names inside it may be anything.",
            field="folder",
        )
    return path


async def _follow_folder(
    tx: Tx, path: Path, account_id: UUID, *, title: str, ids: Ids, now: datetime
) -> tuple[ImportedFolder, bool]:
    """Return the channel of a folder, and whether it is new; a new one stores everything."""
    known = {folder.key: folder for folder in await list_folders(tx)}
    before = known.pop(str(path), None)
    _refuse_overlap(path, list(known.values()))
    if before is not None and before.reader_id != account_id:
        raise UserError(
            f"{path} is imported already, {'in place' if before.in_place else 'as copies'}.",
            remedy="Import it the same way, or remove its channel first.",
            field="in_place",
        )
    if before is not None and before.has_files:
        _refuse_empty(path)
    shown = typed_text(title, max_length=MAX_TITLE_LENGTH) or (before.title if before else path.name or "/")
    whose = Whose(account_id, PLATFORM, "")
    await forget_removed(tx, [str(path)], whose)
    found = FoundChannel(str(path), typed_text(shown) or "Folder", "stream")
    followed = await follow(tx, [found], whose, ids=ids, now=now)
    for channel_id in followed.streams:
        await change_settings(tx, SettingsLayer(channel_id), {"fetch": "all", "fetch_max_bytes": 0}, now=now)
    await publish(tx, Event("channels"))
    (channel,) = [folder for folder in await list_folders(tx) if folder.key == str(path)]
    return channel, before is None


def _refuse_empty(path: Path) -> None:
    """Refuse a folder whose disk is probably not mounted: it would never be listed."""
    if not any(path.iterdir()):
        raise UserError(
            f"{path} is empty, but it had files when it was imported.",
            remedy="Mount its disk, or remove its channel if the files are gone for good.",
            field="folder",
        )


def _refuse_overlap(path: Path, imported: Sequence[ImportedFolder]) -> None:
    """Refuse a folder whose files are imported already, or would be twice."""
    for other in imported:
        if path.is_relative_to(other.key):
            raise UserError(
                f"{path} is part of {other.key}, which is imported as {other.title!r}.",
                remedy="Import that folder again to pick up new files.",
                command=f"headgate import {other.key}",
                field="folder",
            )
        if Path(other.key).is_relative_to(path):
            raise UserError(
                f"{other.key} inside {path} is imported already, as {other.title!r}.",
                remedy="Import the other folders one by one, or remove that channel first.",
                field="folder",
            )
