"""Actions on channels: scan, switch, set how often, remove. Each works in the caller's transaction.

The order of locks: jobs, settings, streams. A job that ends holds its own row, then wants the settings and
the stream, and the opposite order would deadlock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.catalogue.files import retry_items
from headgate.domain.errors import NotFound, UserError
from headgate.domain.library.archive_sets.completeness import positions_to_search
from headgate.domain.library.archive_sets.volumes import read_volume_name
from headgate.domain.words.frequency import FrequencyChoice, chosen_tier
from headgate.intake.streams.head_checks import DISABLED, PERSON, refusal
from headgate.intake.streams.head_checks import KIND as CHECK
from headgate.intake.streams.scan import KIND as SCAN
from headgate.jobs.kinds import Wake
from headgate.jobs.wake import cancel, enqueue
from headgate.kernel.ids import Ids
from headgate.storage import events
from headgate.storage.catalogue.items import get_item
from headgate.storage.catalogue.sets import list_files_of, reassemble_items
from headgate.storage.channels import intake_settings, requests
from headgate.storage.channels.requests import Holdings, RequestedStream, ScanWish, Trigger
from headgate.storage.database import Tx
from headgate.storage.jobs import engine
from headgate.storage.listings import listings, series
from headgate.storage.streams.rechecks import ask_rechecks

RESET = "The channel is read again from the beginning"
NEAR_MESSAGES = 100
"""About so many messages before and after a volume are read again when a person looks for missing ones."""
NEAR_MESSAGES_ALONE = 10
"""So many, where each has to be asked for by itself."""
SWITCHED = (events.Event("channels"), events.Event("series"))
"""Pages of channels and of series show whether a channel is on."""


@dataclass(frozen=True)
class AskedScan:
    """The scan that does what was asked for; not new if one was under way already."""

    id: UUID
    new: bool
    reader: str
    reader_state: str


async def ask_scan(
    tx: Tx, channel_id: UUID, wish: ScanWish, *, ids: Ids, now: datetime, trigger: Trigger = "person"
) -> AskedScan:
    """Read a stream now, whatever the schedule says; refused while the channel is switched off."""
    if wish.page_limit < 1:
        raise UserError("A scan reads at least one message.", remedy="Use a limit above 0.")
    await _wake_checker(tx, channel_id)
    stream = await _enabled_stream(tx, channel_id)
    if wish.direction != "forward":
        await requests.want_history(tx, channel_id, auto_continue=wish.auto_continue)
    scan_id = ids.new()
    new = await requests.insert_scan(tx, channel_id, wish, scan_id=scan_id, trigger=trigger, now=now)
    if not new:
        scan_id = await requests.widen_scan(tx, channel_id, wish, now=now)
    await requests.request_check(tx, channel_id, now=now)
    await _publish_channels(tx)
    return AskedScan(scan_id, new, stream.reader, stream.reader_state)


async def retry_set(tx: Tx, item_id: UUID, *, ids: Ids, now: datetime) -> None:
    """Look for missing volumes again: read the messages near the set and what is new, fetch what failed."""
    item = await get_item(tx, item_id)
    if item is None:
        raise NotFound("There is no such item.", remedy="It may be a part of another set by now.")
    await ask_scan(tx, item.channel_id, ScanWish(), ids=ids, now=now)
    await _read_near(tx, item_id, item.channel_id, now=now)
    await retry_items(tx, [item_id], now=now)
    await reassemble_items(tx, [item_id], now=now)


async def _read_near(tx: Tx, item_id: UUID, channel_id: UUID, *, now: datetime) -> None:
    """Have the messages around a set's gaps read again, although they count as read."""
    volumes = [
        (name.number, file.position)
        for file in await list_files_of(tx, [item_id])
        if not file.vanished and (name := read_volume_name(file.file_name)) is not None
    ]
    positions = positions_to_search(volumes)
    if not positions:
        return
    await requests.reopen_near(tx, channel_id, positions, messages=NEAR_MESSAGES)
    keys = await requests.list_messages_near(tx, channel_id, positions, messages=NEAR_MESSAGES_ALONE)
    await ask_rechecks(tx, channel_id, keys, reason="asked", due_at=now, now=now)


async def reset_scan(tx: Tx, channel_id: UUID, wish: ScanWish, *, ids: Ids, now: datetime) -> AskedScan:
    """Forget what was read of a stream and read it again; what was caught stays."""
    await cancel(tx, [Wake(SCAN, str(channel_id))])
    await _wake_checker(tx, channel_id)
    await _enabled_stream(tx, channel_id)
    await requests.cancel_scans(tx, [channel_id], message=RESET, now=now)
    await requests.forget_reading(tx, channel_id)
    return await ask_scan(tx, channel_id, wish, ids=ids, now=now, trigger="reset")


async def disable(tx: Tx, channel_id: UUID, *, now: datetime) -> int:
    """Switch a channel off, or a parent with all its channels; returns how many scans that ended.

    What was read stays read, and reading goes on from there when the channel is switched on again.
    """
    family = await requests.list_family(tx, channel_id)
    await cancel(tx, [Wake(SCAN, str(member)) for member in family])
    await intake_settings.switch_channel(tx, channel_id, enabled=False, now=now)
    await requests.lock_streams(tx, family)
    cancelled = await requests.cancel_scans(tx, family, message=DISABLED, now=now)
    await requests.hold_streams(tx, family, reason="disabled")
    await listings.hold_listings(tx, family, now=now)
    await events.publish(tx, *SWITCHED)
    return cancelled


async def enable(tx: Tx, channel_id: UUID, *, now: datetime) -> int:
    """Switch a channel or a parent on; returns how many streams and listings are due now."""
    family = await requests.list_family(tx, channel_id)
    await intake_settings.switch_channel(tx, channel_id, enabled=True, now=now)
    await requests.lock_streams(tx, family)
    due = await requests.make_due(tx, family, now=now) + await listings.wake_listings(tx, family, now=now)
    await events.publish(tx, *SWITCHED)
    return due


async def judge_again(tx: Tx, channel_id: UUID, *, now: datetime) -> None:
    """Judge what was seen by the settings of today, without any call."""
    await intake_settings.announce_change(tx, channel_id, now=now)


async def remove_channel(tx: Tx, channel_id: UUID, *, now: datetime) -> Holdings:
    """Stop the work on a channel and delete it with all that hangs on it; returns what that was."""
    family = await requests.list_family(tx, channel_id)
    keys = [str(member) for member in family]
    await engine.cancel_jobs(tx, await requests.list_jobs_of(tx, keys))
    await requests.lock_streams(tx, family)
    holdings = await requests.count_holdings(tx, family)
    await requests.discard_letters(tx, keys, now=now)
    brought = await series.list_series_of_channels(tx, family)
    await requests.delete_channels(tx, family, now=now)
    await series.settle_latest(tx, brought)
    await _publish_channels(tx)
    await events.publish(tx, events.Event("items"))
    return holdings


async def set_frequency(tx: Tx, channel_id: UUID, choice: FrequencyChoice, *, now: datetime) -> None:
    """Set how often a channel is checked."""
    if not await requests.set_tier(tx, channel_id, tier=chosen_tier(choice), now=now):
        raise _no_stream()
    await _publish_channels(tx)


async def set_start(tx: Tx, channel_id: UUID, position: int, *, now: datetime) -> None:
    """Set the oldest position that is wanted."""
    if position < 0:
        raise UserError("Positions begin at 0.", field="start_at")
    if not await requests.set_floor(tx, channel_id, floor=position, now=now):
        raise _no_stream()
    await _publish_channels(tx)


async def _wake_checker(tx: Tx, channel_id: UUID) -> None:
    """Wake the account that reads the channel to fetch its head now."""
    if reader_id := await requests.get_reader_id(tx, channel_id):
        await enqueue(tx, [Wake(CHECK, str(reader_id), priority=PERSON)])


async def _enabled_stream(tx: Tx, channel_id: UUID) -> RequestedStream:
    # Wait here for a change of switches that is under way, so that the switches are current.
    await intake_settings.hold_settings(tx)
    stream = await requests.lock_stream(tx, channel_id)
    if stream is None:
        raise _no_stream()
    if stream.switched_off:
        raise refusal(stream.switched_off)
    return stream


def _no_stream() -> UserError:
    return UserError("This channel has no messages of its own.", remedy="Name one of its channels instead.")


async def _publish_channels(tx: Tx) -> None:
    await events.publish(tx, events.Event("channels"))
