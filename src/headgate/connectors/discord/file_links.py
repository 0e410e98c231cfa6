"""Where the files of messages are: links that Discord signs for about a day."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

_MAX_MESSAGES = 5000


class FileLinks:
    """The links of the messages that were seen last."""

    def __init__(self) -> None:
        self._links: OrderedDict[tuple[str, str], Mapping[str, str]] = OrderedDict()

    def learn(self, stream: str, message_key: str, links: Mapping[str, str]) -> None:
        if not links:
            return
        self._links[stream, message_key] = links
        self._links.move_to_end((stream, message_key))
        if len(self._links) > _MAX_MESSAGES:
            self._links.popitem(last=False)

    def find(self, stream: str, message_key: str) -> Mapping[str, str] | None:
        return self._links.get((stream, message_key))

    def forget(self, stream: str, message_key: str) -> None:
        self._links.pop((stream, message_key), None)


def expires_at(link: str) -> datetime | None:
    """Return when a signed link runs out: its parameter `ex` holds the second in hexadecimal."""
    written = parse_qs(urlsplit(link).query).get("ex", [""])[0]
    try:
        return datetime.fromtimestamp(int(written, 16), UTC)
    except (ValueError, OverflowError, OSError):
        return None
