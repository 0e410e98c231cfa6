"""Opens what lies below a folder without following links: whoever writes there cannot lead us elsewhere."""

from __future__ import annotations

import os

_PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Opening a pipe does not wait for its other end."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def open_beneath(root: bytes, path: bytes) -> int:
    """Return a descriptor of a file or folder; the root alone may be a link, and an empty path means it.

    Each step starts from an open folder: a folder that is replaced by a link meanwhile is noticed, and paths
    may be longer than the system takes at once.
    """
    descriptor = os.open(root, _FOLDER)
    *folders, name = path.split(b"/")
    if not name:
        return descriptor
    for folder in folders:
        descriptor = _step(descriptor, folder, _FOLDER | os.O_NOFOLLOW)
    return _step(descriptor, name, _PLAIN)


def stat_beneath(root: bytes, path: bytes) -> os.stat_result:
    """Return how a file is, which need not be readable; of a link, the link itself."""
    folder, _, name = path.rpartition(b"/")
    descriptor = open_beneath(root, folder)
    try:
        return os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    finally:
        os.close(descriptor)


def _step(parent: int, name: bytes, flags: int) -> int:
    try:
        return os.open(name, flags, dir_fd=parent)
    finally:
        os.close(parent)
