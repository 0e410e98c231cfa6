"""File names are bytes; keys and texts are not."""

from __future__ import annotations

import os
from hashlib import sha256

from headgate.domain.text import MAX_KEY_BYTES, is_key, is_stand_in, storable

_SHOWN_CHARACTERS = 150


def path_key(path: bytes) -> str:
    """Return the key of a relative path: the path itself if it can be stored, otherwise one with its hash.

    The key depends on the path alone, so an index that was lost finds the same keys again.
    """
    text = os.fsdecode(path)
    if is_key(text) and len(text.encode()) <= MAX_KEY_BYTES - _SUFFIX_BYTES and not is_stand_in(text):
        return text
    return f"{show_path(path)[:_SHOWN_CHARACTERS]}~{sha256(path).hexdigest()[:32]}"


_SUFFIX_BYTES = 20
"""Room for the number that tells apart a new file from one that was moved away from its path."""


def show_path(path: bytes) -> str:
    """Return a path as people see it; bytes that are no characters show as replacement characters."""
    return storable(os.fsdecode(path))


def split_path(path: bytes) -> tuple[bytes, bytes]:
    """Return the folder and the name of a relative path."""
    folder, _, name = path.rpartition(b"/")
    return folder, name


def top_folder(path: bytes) -> bytes:
    """Return the first folder of a relative path; empty for a file at the top."""
    first, slash, _ = path.partition(b"/")
    return first if slash else b""
