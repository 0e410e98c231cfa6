"""Places in a list as they stand in addresses: opaque to the reader, refused if damaged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import quote, unquote
from uuid import UUID

from fastapi import HTTPException

from headgate.storage.catalogue.items import Place
from headgate.storage.channels.channel_overview import ChannelPlace
from headgate.storage.listings.series import SeriesName
from headgate.storage.notifications.follows import FollowPlace
from headgate.storage.notifications.notifications import Place as NotificationPlace
from headgate.storage.notifications.push_addresses import PushPlace
from headgate.storage.reminders.reminder_overview import ReminderPlace
from headgate.storage.reminders.targets import TargetPlace
from headgate.storage.sending.run_overview import RunPlace

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def write_place(place: Place) -> str:
    """Return a place in the library, exact to the microsecond."""
    return f"{(place.caught_at - _EPOCH) // _MICROSECOND}.{place.id.hex}"


def read_place(cursor: str) -> Place:
    micros, _, identity = cursor.partition(".")
    try:
        return Place(_EPOCH + int(micros) * _MICROSECOND, UUID(identity))
    except (ValueError, OverflowError):
        raise HTTPException(400, "This place in the list is not known.") from None


def write_channel_place(place: ChannelPlace) -> str:
    return f"{place.id.hex}.{quote(place.title, safe='')}"


def read_channel_place(cursor: str) -> ChannelPlace:
    identity, _, quoted = cursor.partition(".")
    title = unquote(quoted)
    try:
        place = ChannelPlace(title, UUID(identity))
    except ValueError:
        raise HTTPException(400, "This place in the list is not known.") from None
    if "\x00" in title:
        raise HTTPException(400, "This place in the list is not known.")
    return place


def write_reminder_place(place: ReminderPlace) -> str:
    return write_place(Place(place.created_at, place.id))


def read_reminder_place(cursor: str) -> ReminderPlace:
    place = read_place(cursor)
    return ReminderPlace(place.caught_at, place.id)


def write_run_place(place: RunPlace) -> str:
    return write_place(Place(place.created_at, place.id))


def read_run_place(cursor: str) -> RunPlace:
    place = read_place(cursor)
    return RunPlace(place.caught_at, place.id)


def write_target_place(place: TargetPlace) -> str:
    return write_channel_place(ChannelPlace(place.title, place.id))


def read_target_place(cursor: str) -> TargetPlace:
    place = read_channel_place(cursor)
    return TargetPlace(place.title, place.id)


def write_series_place(place: SeriesName) -> str:
    return write_channel_place(ChannelPlace(place.title, place.id))


def read_series_place(cursor: str) -> SeriesName:
    place = read_channel_place(cursor)
    return SeriesName(place.id, place.title)


def write_notification_place(place: NotificationPlace) -> str:
    return write_place(Place(place.at, place.id))


def read_notification_place(cursor: str) -> NotificationPlace:
    place = read_place(cursor)
    return NotificationPlace(place.caught_at, place.id)


def write_follow_place(place: FollowPlace) -> str:
    return write_channel_place(ChannelPlace(place.title, place.id))


def read_follow_place(cursor: str) -> FollowPlace:
    place = read_channel_place(cursor)
    return FollowPlace(place.title, place.id)


def write_push_place(place: PushPlace) -> str:
    return write_place(Place(place.made_at, place.id))


def read_push_place(cursor: str) -> PushPlace:
    place = read_place(cursor)
    return PushPlace(place.caught_at, place.id)
