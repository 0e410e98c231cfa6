"""Rules of creators and tags in words."""

from __future__ import annotations

from collections.abc import Mapping

FIELD_WORDS: Mapping[str, str] = {
    "topic": "Topic",
    "caption": "Caption",
    "hashtag": "Hashtags",
    "file_name": "File name",
}
KIND_WORDS: Mapping[str, str] = {"creator": "Creator", "tag": "Tag"}
NORMALISATION_WORDS: Mapping[str, str] = {
    "as_written": "As written",
    "spaced": "Spaces for underscores",
    "lower": "Lower case, with spaces",
}
