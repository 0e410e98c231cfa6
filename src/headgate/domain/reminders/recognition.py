"""Which message of a history is one that may have been sent: most histories do not show the key of a send."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Sought:
    """A message to look for, and what is known of others to the same target."""

    text: str = ""
    file_name: str = ""
    forwarded: str = ""
    """Key of the message that was sent on; empty for others."""
    claimed: frozenset[str] = frozenset()
    """Keys of messages in the target that are known to be other sends of the account."""
    rivals: int = 0
    """Other sends of the account to the target that may have arrived unnoticed."""
    message_key: str = ""
    """The key that the platform gave it, where it is known; then nothing else counts."""


@dataclass(frozen=True)
class HistoryMessage:
    """A message of the account in the target's history."""

    key: str
    text: str = ""
    file_name: str = ""
    forwarded: str = ""


def recognise(sought: Sought, candidates: Iterable[HistoryMessage]) -> HistoryMessage | None:
    """Return the message that can only be the sought one; None if there is any doubt."""
    if sought.message_key:
        return next((one for one in candidates if one.key == sought.message_key), None)
    content = (sought.text.strip(), sought.file_name, sought.forwarded)
    if sought.rivals or not any(content):
        return None
    alike = [
        one
        for one in candidates
        if (one.text.strip(), one.file_name, one.forwarded) == content and one.key not in sought.claimed
    ]
    return alike[0] if len(alike) == 1 else None
