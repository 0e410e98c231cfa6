"""What can go wrong with a folder, and what it means to the core."""

from __future__ import annotations

import errno

from headgate.domain.errors import Absent, Gone, Malformed, Transient, WorkError


class FolderError(Exception):
    """Anything that keeps a folder or a file from being read as it was listed."""


class FolderUnknown(FolderError):
    """There is no such folder, and none was imported from there."""


class FolderAway(FolderError):
    """An imported folder is not there at the moment."""


class FileVanished(FolderError):
    """The file is not there any more, or is another one since it was listed."""


class FileChanging(FolderError):
    """The file changed while it was read."""


def classify(error: BaseException) -> WorkError:
    """Return what an error of the connector or of the system means."""
    if isinstance(error, WorkError):
        return error
    if isinstance(error, FolderUnknown | FileVanished):
        return Gone(str(error))
    if isinstance(error, FolderAway):
        return Absent(str(error))
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Gone("the file is not there any more")
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return Gone("a link is in the place of the file")
    if isinstance(error, PermissionError):
        return Malformed("the file cannot be read: permission denied")
    if isinstance(error, OSError):
        return Transient(f"the file cannot be read: {error.strerror or error}")
    return Transient(str(error) or type(error).__name__)
