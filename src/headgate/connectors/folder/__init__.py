"""Folders of this machine: a stream for each, with a message for each file in it.

link         heads, pages, single messages and downloads
walking      the files of a tree, and how many others it holds
index        which file is which message, kept between walks
names        file names as keys and as texts
"""

from pathlib import Path

from headgate.connectors.folder.connector import FolderConnector
from headgate.kernel.clock import Clock
from headgate.kernel.settings import Settings

__all__ = ["FolderConnector", "connect", "own_folders"]


def connect(settings: Settings, clock: Clock) -> FolderConnector:
    """Return the connector that the settings describe."""
    return FolderConnector(settings.data.dir, clock, own_folders=own_folders(settings))


def own_folders(settings: Settings) -> tuple[Path, ...]:
    """Return where Headgate keeps its own files, which are never imported."""
    url = settings.files.url
    store = () if not url or "://" in url else (Path(url),)
    return (settings.data.dir, *store)
