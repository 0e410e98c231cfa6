"""Places in a list as they stand in addresses: opaque to the reader, refused if damaged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import quote, unquote
from uuid import UUID

from fastapi import HTTPException

from headgate.storage.catalogue.items import LibraryCursor
from headgate.storage.channels.channel_overview import ChannelCursor
from headgate.storage.listings.series import SeriesName
from headgate.storage.notifications.follows import FollowCursor
from headgate.storage.notifications.notifications import NotificationCursor
from headgate.storage.notifications.push_addresses import PushCursor
from headgate.storage.reminders.reminder_overview import ReminderCursor
from headgate.storage.reminders.targets import TargetCursor
from headgate.storage.sending.run_overview import RunCursor

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def write_place(place: LibraryCursor) -> str:
    """Return a place in the library, exact to the microsecond."""
    return f"{(place.caught_at - _EPOCH) // _MICROSECOND}.{place.id.hex}"


def read_place(cursor: str) -> LibraryCursor:
    micros, _, identity = cursor.partition(".")
    try:
        return LibraryCursor(_EPOCH + int(micros) * _MICROSECOND, UUID(identity))
    except (ValueError, OverflowError):
        raise HTTPException(400, "This place in the list is not known.") from None


def write_channel_place(place: ChannelCursor) -> str:
    return f"{place.id.hex}.{quote(place.title, safe='')}"


def read_channel_place(cursor: str) -> ChannelCursor:
    identity, _, quoted = cursor.partition(".")
    title = unquote(quoted)
    try:
        place = ChannelCursor(title, UUID(identity))
    except ValueError:
        raise HTTPException(400, "This place in the list is not known.") from None
    if "\x00" in title:
        raise HTTPException(400, "This place in the list is not known.")
    return place


def write_reminder_place(place: ReminderCursor) -> str:
    return write_place(LibraryCursor(place.created_at, place.id))


def read_reminder_place(cursor: str) -> ReminderCursor:
    place = read_place(cursor)
    return ReminderCursor(place.caught_at, place.id)


def write_run_place(place: RunCursor) -> str:
    return write_place(LibraryCursor(place.created_at, place.id))


def read_run_place(cursor: str) -> RunCursor:
    place = read_place(cursor)
    return RunCursor(place.caught_at, place.id)


def write_target_place(place: TargetCursor) -> str:
    return write_channel_place(ChannelCursor(place.title, place.id))


def read_target_place(cursor: str) -> TargetCursor:
    place = read_channel_place(cursor)
    return TargetCursor(place.title, place.id)


def write_series_place(place: SeriesName) -> str:
    return write_channel_place(ChannelCursor(place.title, place.id))


def read_series_place(cursor: str) -> SeriesName:
    place = read_channel_place(cursor)
    return SeriesName(place.id, place.title)


def write_notification_place(place: NotificationCursor) -> str:
    return write_place(LibraryCursor(place.at, place.id))


def read_notification_place(cursor: str) -> NotificationCursor:
    place = read_place(cursor)
    return NotificationCursor(place.caught_at, place.id)


def write_follow_place(place: FollowCursor) -> str:
    return write_channel_place(ChannelCursor(place.title, place.id))


def read_follow_place(cursor: str) -> FollowCursor:
    place = read_channel_place(cursor)
    return FollowCursor(place.title, place.id)


def write_push_place(place: PushCursor) -> str:
    return write_place(LibraryCursor(place.made_at, place.id))


def read_push_place(cursor: str) -> PushCursor:
    place = read_place(cursor)
    return PushCursor(place.caught_at, place.id)
