"""The requests that Headgate makes, mostly built by matrix-nio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, cast
from urllib.parse import parse_qsl, quote, urlencode

from nio import Api

from headgate.connectors.matrix.http import Request
from headgate.connectors.matrix.shapes import Shape

# Half of nio's requests are annotated with bare `dict`s.
_NIO = cast("Any", Api)
_MEDIA = "/_matrix/client/v1/media"
_OLD_MEDIA = "/_matrix/media/v3"


def versions() -> Request:
    return Request("GET", "/_matrix/client/versions")


def discovery() -> Request:
    return _built(_NIO.discovery_info())


def login(user: str, password: str, *, device_id: str) -> Request:
    return _built(_NIO.login(user, password=password, device_name="Headgate", device_id=device_id))


def whoami() -> Request:
    return _built(_NIO.whoami(""))


def logout() -> Request:
    return _built(_NIO.logout(""), body="{}")


def joined_rooms() -> Request:
    return _built(_NIO.joined_rooms(""))


def join(room: str) -> Request:
    return _built(_NIO.join("", room), body="{}")


def sync(*, since: str, wait_ms: int, only: Shape) -> Request:
    """Build a sync; it never shows the account as online."""
    return _built(_NIO.sync("", since=since or None, timeout=wait_ms, filter=only, set_presence="offline"))


def messages(room: str, *, start: str, limit: int, only: Shape) -> Request:
    """Build a reading of the history backwards; without a start it begins at the newest event."""
    return _built(_NIO.room_messages("", room, start=start or None, limit=limit, message_filter=only))


def event(room: str, key: str) -> Request:
    return _built(_NIO.room_get_event("", room, key))


def state(room: str, kind: str) -> Request:
    return _built(_NIO.room_get_state_event("", room, kind))


def send(room: str, content: Mapping[str, object], *, key: str) -> Request:
    return _built(_NIO.room_send("", room, "m.room.message", content, key))


def upload_limit(*, old: bool = False) -> Request:
    return Request("GET", f"{_OLD_MEDIA if old else _MEDIA}/config")


def upload(name: str, mime_type: str, size_bytes: int, body: AsyncIterator[bytes]) -> Request:
    headers = {"Content-Type": mime_type, "Content-Length": str(size_bytes)}
    return Request("POST", f"{_OLD_MEDIA}/upload?{urlencode({'filename': name})}", body, headers)


def download(place: str, *, old: bool = False) -> Request:
    """Build the download of what `mxc://<place>` names; `old` is for servers before Matrix 1.11."""
    server, _, media = place.partition("/")
    where = f"{quote(server, safe='')}/{quote(media, safe='')}"
    return Request("GET", f"{_OLD_MEDIA if old else _MEDIA}/download/{where}")


def _built(built: tuple[str, ...], *, body: str | None = None) -> Request:
    """Take a request from nio, without the empty token that it writes into the address."""
    method, path = built[0], built[1]
    path, _, query = path.partition("?")
    kept = [(name, value) for name, value in parse_qsl(query) if name != "access_token"]
    address = f"{path}?{urlencode(kept)}" if kept else path
    return Request(method, address, built[2] if len(built) > len(("method", "path")) else body)
