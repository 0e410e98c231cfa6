"""Sends on the platform's side: what arrives, and what a repeat of a key does."""

from __future__ import annotations

from datetime import datetime, timedelta

from headgate.connectors.protocol import MediaHandle, OutgoingFile, Part
from headgate.domain.reminders.recognition import HistoryMessage, Sought, recognise
from headgate.testing.platform.call_log import Call
from headgate.testing.platform.errors import (
    SimBadRequest,
    SimDuplicate,
    SimMediaLapsed,
    SimNotFound,
    SimSlowMode,
)
from headgate.testing.platform.places import GroupMessage, SimGroup, Upload
from headgate.testing.platform.platform_state import PlatformState
from headgate.testing.platform.streams.positions import to_ms


def find_group(world: PlatformState, *, account: str, key: str) -> SimGroup:
    group = world.groups.get(key)
    if group is None or (group.members is not None and account not in group.members):
        raise SimNotFound(f"there is no group {key} for {account}")
    return group


def accept_upload(world: PlatformState, call: Call, file: OutgoingFile, content: bytes) -> MediaHandle:
    """Keep a file, for as long as the platform keeps files."""
    if len(content) != file.size_bytes:
        raise SimBadRequest(f"{file.name} was announced with {file.size_bytes} bytes and has {len(content)}")
    if len(content) > world.profile.upload_max_bytes:
        raise SimBadRequest(f"{file.name} is larger than {world.profile.upload_max_bytes} bytes")
    now = world.clock.now()
    handle = f"m{len(world.uploads) + 1}"
    world.uploads[handle] = Upload(call.account, file.name, file.mime_type, content, now)
    world.log.record(call, "uploaded", place="", key=file.name, message_key="", text="", media=handle)
    life_s = world.profile.media_life_s
    return MediaHandle(handle, None if life_s is None else now + timedelta(seconds=life_s))


def accept_send(world: PlatformState, call: Call, group: SimGroup, part: Part, *, key: str) -> GroupMessage:
    """Put a message into a group, unless the platform knows its key and refuses repeats."""
    if not part.text and not part.media:
        raise SimBadRequest("a message needs a text or a file")
    if part.media:
        _check_media(world, account=call.account, handle=part.media)
    dedupe = world.profile.dedupe
    now = world.clock.now()
    earlier = group.find(account=call.account, send_key=key)
    # In real seconds, like the sender's doubt: a demo's product time may be much quicker.
    window = timedelta(seconds=dedupe.window_s) * world.clock.speed
    if earlier is not None and now - earlier.sent_at <= window:
        if dedupe.kind == "same_message":
            return earlier
        if dedupe.kind == "error":
            raise SimDuplicate(f"{key} was sent before")
    _check_slow_mode(world, group, account=call.account)
    message = GroupMessage(
        key=f"{to_ms(now)}-{len(group.messages) + 1}",
        account=call.account,
        send_key=key,
        text=part.text,
        media=part.media,
        sent_at=now,
    )
    group.messages.append(message)
    world.log.record(
        call, "sent", place=group.key, key=key, message_key=message.key, text=part.text, media=part.media
    )
    return message


def _check_slow_mode(world: PlatformState, group: SimGroup, *, account: str) -> None:
    sent_at = [message.sent_at for message in group.messages if message.account == account]
    if world.profile.slow_mode_s and sent_at:
        waited_s = (world.clock.now() - sent_at[-1]).total_seconds() / world.clock.speed
        if waited_s < world.profile.slow_mode_s:
            raise SimSlowMode(world.profile.slow_mode_s - waited_s)


def find_in_history(
    world: PlatformState, group: SimGroup, sought: Sought, *, account: str, key: str, since: datetime
) -> GroupMessage | None:
    """Look for a message by its key, or by its content where the history shows nothing else."""
    mine = {one.key: one for one in group.messages if one.account == account and one.sent_at >= since}
    if world.profile.keyless_history:
        found = recognise(sought, [_candidate(world, one) for one in mine.values()])
        return None if found is None else mine[found.key]
    if world.profile.dedupe.kind == "none":
        return None
    return next((one for one in reversed(mine.values()) if one.send_key == key), None)


def _candidate(world: PlatformState, message: GroupMessage) -> HistoryMessage:
    upload = world.uploads.get(message.media)
    return HistoryMessage(message.key, message.text, upload.name if upload else "")


def _check_media(world: PlatformState, *, account: str, handle: str) -> None:
    upload = world.uploads.get(handle)
    life_s = world.profile.media_life_s
    if upload is None or upload.account != account:
        raise SimMediaLapsed(f"there is no upload {handle} of {account}")
    if life_s is not None and world.clock.now() - upload.uploaded_at > timedelta(seconds=life_s):
        raise SimMediaLapsed(f"upload {handle} is not kept any longer")
