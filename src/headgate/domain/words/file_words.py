"""What people read about the files of items."""

from __future__ import annotations

from headgate.domain.library.fetching import FetchRule
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


def freed_text(freed_bytes: int) -> str:
    """Say what deleting files frees, and when."""
    if not freed_bytes:
        return "Nothing becomes free: no file was stored, or other items have the same content."
    return f"{size_text(freed_bytes)} become free within two days."


def fetch_text(rule: FetchRule) -> str:
    """Say what is downloaded of what is kept."""
    limit = f" Limit: {size_text(rule.max_bytes)}." if rule.max_bytes and rule.what != "none" else ""
    return _FETCH[rule.what] + limit
