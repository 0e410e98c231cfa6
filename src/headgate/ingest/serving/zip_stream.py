"""A zip that is written while it is sent: nothing is compressed, and little of it is ever in memory."""

from __future__ import annotations

import zipfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from headgate.domain.library.shown_paths import shown_path

_FLUSH_BYTES = 2**18


@dataclass(frozen=True)
class ZipMember:
    """A file of the zip, read when its turn comes."""

    name: str
    size_bytes: int
    modified_at: datetime
    read: Callable[[], AsyncIterator[bytes]]


class _Sink:
    """Takes what the writer writes; it cannot go back, so sizes and checksums follow their file."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.pending_bytes = 0

    def write(self, piece: bytes) -> int:
        self._pieces.append(bytes(piece))
        self.pending_bytes += len(piece)
        return len(piece)

    def flush(self) -> None: ...

    def take(self) -> bytes:
        taken, self._pieces, self.pending_bytes = b"".join(self._pieces), [], 0
        return taken


async def stream_zip(members: Sequence[ZipMember]) -> AsyncGenerator[bytes, None]:
    """Yield a zip of stored files; beyond 4 GiB it has the records of ZIP64."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:  # type: ignore[call-overload] - only write is needed
        for member, name in zip(members, distinct_names([each.name for each in members]), strict=True):
            entry = zipfile.ZipInfo(name, min(max(member.modified_at, _EARLIEST), _LATEST).timetuple()[:6])
            entry.file_size = member.size_bytes
            entry.external_attr = 0o644 << 16
            large = member.size_bytes >= zipfile.ZIP64_LIMIT
            with archive.open(entry, "w", force_zip64=large) as file:
                async for chunk in member.read():
                    file.write(chunk)
                    if sink.pending_bytes >= _FLUSH_BYTES:
                        yield sink.take()
    yield sink.take()


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return names that are harmless and of which no two are alike on any disk."""
    taken: set[str] = set()
    distinct: list[str] = []
    for name in names:
        safe = safe_name(name)
        stem, dot, ending = safe.partition(".")
        number = 2
        while safe.casefold() in taken:
            safe, number = f"{stem} ({number}){dot}{ending}", number + 1
        taken.add(safe.casefold())
        distinct.append(safe)
    return distinct


def safe_name(name: str) -> str:
    """Return the name of a file without folders, and without what leads elsewhere or cannot be written."""
    return shown_path(name.replace("\\", "/").rpartition("/")[2]) or "file"


_EARLIEST = datetime.fromisoformat("1980-01-02T00:00:00+00:00")
_LATEST = datetime.fromisoformat("2107-12-30T00:00:00+00:00")
"""Zips know no other times, and a platform may claim any."""
