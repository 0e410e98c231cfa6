"""What people read about the files of items."""

from __future__ import annotations

from headgate.domain.library.fetching import FetchRule
from headgate.domain.words.times import size_text

_FETCH = {
    "none": "Files are listed, not downloaded.",
    "pictures": "Pictures are downloaded; other files are listed.",
    "all": "Files are downloaded.",
}


def fetch_text(rule: FetchRule) -> str:
    """Say what is downloaded of what is kept."""
    limit = f" Limit: {size_text(rule.max_bytes)}." if rule.max_bytes and rule.what != "none" else ""
    return _FETCH[rule.what] + limit
