"""What people read about the files of items."""

from __future__ import annotations

from headgate.domain.library.fetching import FetchRule
from headgate.domain.library.inspections import FileState
from headgate.domain.streams.channel_settings import FetchWhat, OnDelete
from headgate.domain.words.times import size_text

_FETCH = {
    "none": "Files are listed, not downloaded.",
    "pictures": "Pictures are downloaded; other files are listed.",
    "all": "Files are downloaded.",
}

FETCH_CHOICES: dict[FetchWhat, str] = {
    "all": "Everything that is kept",
    "pictures": "Pictures; list other files",
    "none": "Nothing; list files only",
}
"""What to download, as a person chooses it."""

ON_DELETE_CHOICES: dict[OnDelete, str] = {
    "keep": "Keep everything",
    "forget_text": "Forget text and author, keep the files",
    "forget_all": "Forget it all, with its files",
}
"""What a message leaves behind that is deleted on its platform."""


ABSENCES: dict[FileState, str] = {
    "listed": "The settings of its channel do not download it.",
    "wanted": "",
    "stored": "",
    "dropped": "Its content was deleted. It is not downloaded again unless you ask for it.",
    "failed": "It could not be downloaded.",
    "gone": "Its message was deleted before it was downloaded.",
}
"""Why the content of a file is not there, where nothing more is known."""
DAMAGED = "Its stored content is missing or damaged. It is downloaded again if its message still exists."


def absence_text(state: FileState, *, needs_bytes: int = 0, error_message: str = "") -> str:
    """Say why the content of a file is not there; `needs_bytes` if it waits for room."""
    if state == "wanted" and needs_bytes:
        return no_room_text(needs_bytes)
    if state == "wanted" and error_message:
        return f"{_sentence(error_message)} Headgate tries again."
    return _sentence(error_message) if state == "failed" and error_message else ABSENCES[state]


def no_room_text(needs_bytes: int) -> str:
    """Say why something waits that has to be written first."""
    return f"The disk has no room: it needs {size_text(needs_bytes)}."


def freed_text(freed_bytes: int) -> str:
    """Say what deleting files frees, and when."""
    if not freed_bytes:
        return "Nothing becomes free: no file was stored, or other items have the same content."
    return f"{size_text(freed_bytes)} become free within two days."


def over_limit_text(max_bytes: int, *, claimed_bytes: int) -> str:
    """Say why a download was stopped whose sender claimed another size."""
    claim = f", although its sender claims {size_text(claimed_bytes)}" if claimed_bytes else ""
    return (
        f"It is larger than the limit for downloads of {size_text(max_bytes)}{claim}."
        " Ask for it to download it all the same."
    )


def fetch_text(rule: FetchRule) -> str:
    """Say what is downloaded of what is kept."""
    limit = f" Limit: {size_text(rule.max_bytes)}." if rule.max_bytes and rule.what != "none" else ""
    return _FETCH[rule.what] + limit


def _sentence(text: str) -> str:
    """Return what an error says as a sentence."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
