"""What people do about sets: join what names keep apart, separate what they join, dismiss a problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import NotFound, UserError
from headgate.domain.library.archive_sets.completeness import Completeness
from headgate.domain.library.archive_sets.joining import JoinedVolume, find_join_conflict
from headgate.domain.library.archive_sets.volumes import read_volume_name
from headgate.domain.words.volume_words import (
    SET_REASONS,
    SET_STATES,
    join_conflict_text,
    join_remedy_text,
    missing_text,
    volumes_text,
)
from headgate.storage.catalogue import sets
from headgate.storage.catalogue.sets import Bucket, ItemSet, SetFile, TouchedVolume
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.streams.streams import lock_stream


@dataclass(frozen=True)
class SetDetails:
    """How complete a set is, in words."""

    state: Completeness
    state_text: str
    reason: str
    volumes: str
    """How many volumes are here, of how many."""
    missing: str
    """The names of missing volumes; empty if none is known to be missing."""
    problem: bool
    """A person should look at it."""
    arrived_at: datetime
    """When the latest volume was found."""
    dismissed_at: datetime | None


async def show_set(tx: Tx, item_id: UUID) -> SetDetails | None:
    """Return what is known of an item's volumes; nothing for a single file."""
    return (await show_sets(tx, [item_id])).get(item_id)


async def show_sets(tx: Tx, item_ids: Sequence[UUID]) -> dict[UUID, SetDetails]:
    """Return what is known of the volumes of items, for those that are sets."""
    return {item_id: _details(found) for item_id, found in (await sets.list_sets(tx, item_ids)).items()}


def _details(found: ItemSet) -> SetDetails:
    return SetDetails(
        state=found.state,
        state_text=SET_STATES[found.state],
        reason=SET_REASONS[found.reason],
        volumes=volumes_text(
            here=found.present, total=found.total, complete=found.state in {"proven", "assumed"}
        ),
        missing=missing_text(found.missing, count=found.missing_count),
        problem=found.problem and found.dismissed_at is None,
        arrived_at=found.arrived_at,
        dismissed_at=found.dismissed_at,
    )


async def join_items(tx: Tx, item_ids: Sequence[UUID], *, now: datetime) -> UUID:
    """Make one set of several items of a channel, whatever their names say; returns the item that stays.

    It is the first one. The files are assembled by the job that is due now.
    """
    if len(set(item_ids)) < 2:
        raise UserError("Choose at least two items to join.", field="items")
    files = await _lock_files(tx, item_ids)
    _require_one_numbering(files)
    target = item_ids[0]
    home = next(file for file in files if file.item_id == target)
    bucket = Bucket(home.volume_key, home.author_key)
    await sets.choose(tx, [file.id for file in files], item_id=target, bucket=bucket)
    await _touch(tx, files, now=now)
    await publish(tx, Event("items"))
    return target


async def separate_files(
    tx: Tx, item_id: UUID, file_ids: Sequence[UUID] | None = None, *, now: datetime
) -> int:
    """Take files out of a set, or all of them; returns how many. They stay single from then on."""
    files = await _lock_files(tx, [item_id])
    chosen = [file for file in files if file_ids is None or file.id in file_ids]
    if not chosen:
        raise NotFound("This set has no such file.", remedy="It may have been moved to another set.")
    await sets.choose(tx, [file.id for file in chosen], item_id=None, bucket=None)
    await _touch(tx, files, now=now)
    await publish(tx, Event("items"))
    return len(chosen)


async def dismiss_problem(tx: Tx, item_id: UUID, *, now: datetime) -> None:
    """Let a set be as incomplete as it is; a further volume makes it a problem again, if it stays one."""
    if not await sets.dismiss(tx, item_id, now=now):
        raise NotFound("This item has no open problem.", remedy="It may have been solved meanwhile.")
    await publish(tx, Event("items"))


async def _lock_files(tx: Tx, item_ids: Sequence[UUID]) -> list[SetFile]:
    """Return the files of items under their stream's lock, each item with at least one."""
    channels = {file.channel_id for file in await sets.list_files_of(tx, item_ids)}
    if len(channels) > 1:
        raise UserError("Items of different channels cannot be joined.", field="items")
    for channel_id in channels:
        await lock_stream(tx, channel_id)
    files = await sets.list_files_of(tx, item_ids)
    if missing := set(item_ids) - {file.item_id for file in files}:
        raise NotFound(
            f"There is no item {min(missing)} with files.", remedy="It may be part of another set by now."
        )
    unnumbered = [file for file in files if not file.volume_key]
    if unnumbered:
        raise UserError(
            "Only files with a volume's name can be joined or separated, such as pack.part1.rar.",
            field="items",
        )
    return files


def _require_one_numbering(files: Sequence[SetFile]) -> None:
    volumes = [
        JoinedVolume(file.item_id, name, file.size_bytes, file.content_id, vanished=file.vanished)
        for file in files
        if (name := read_volume_name(file.file_name)) is not None
    ]
    if conflict := find_join_conflict(volumes):
        raise UserError(join_conflict_text(conflict), remedy=join_remedy_text(conflict), field="items")


async def _touch(tx: Tx, files: Sequence[SetFile], *, now: datetime) -> None:
    """Have all buckets that the files come from or go to assembled anew."""
    touched = [TouchedVolume(file.volume_key, file.author_key, file.position) for file in files]
    await sets.touch_buckets(tx, files[0].channel_id, touched, now=now)
