"""Volumes read as one file, with holes where volumes are missing."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Self

_SMALL, _WINDOW = 1024, 16 * 1024


class MissingVolume(Exception):
    """Bytes are needed that lie in a volume that is not there."""


class JoinedVolumes(io.RawIOBase):
    """A seekable reader over volumes in their order.

    A missing volume counts with the size of the first one that is there: all but the last are equally large.
    """

    def __init__(self, paths: Sequence[Path | None]) -> None:
        super().__init__()
        self._files: list[io.FileIO | None] = []
        try:
            for path in paths:
                self._files.append(path.open("rb", buffering=0) if path else None)
        except BaseException:
            self.close()
            raise
        sizes = [file.seek(0, io.SEEK_END) if file else None for file in self._files]
        usual = next((size for size in sizes if size is not None), 0)
        self.sizes = [usual if size is None else size for size in sizes]
        self.starts = [0, *accumulate(self.sizes)]
        self._position = 0
        self._window_start, self._window = 0, b""

    @property
    def size(self) -> int:
        return self.starts[-1]

    @property
    def is_gapless(self) -> bool:
        return all(self._files)

    @property
    def count(self) -> int:
        return len(self._files)

    def has(self, volume: int) -> bool:
        return self._files[volume] is not None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        if base + offset < 0:
            raise ValueError("before the beginning")
        self._position = base + offset
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read from one volume; a buffered reader on top asks again for the rest."""
        if self._position >= self.size or not len(buffer):
            return 0
        volume = bisect_right(self.starts, self._position) - 1
        file = self._files[volume]
        if file is None:
            raise MissingVolume(f"volume {volume + 1} is missing")
        within = self._position - self.starts[volume]
        file.seek(within)
        count = file.readinto(memoryview(buffer)[: self.sizes[volume] - within]) or 0
        self._position += count
        return count

    def read_at(self, position: int, length: int) -> bytes:
        """Return bytes at a place; fewer at the end."""
        at = position - self._window_start
        if at >= 0 and at + length <= len(self._window):
            return self._window[at : at + length]
        self.seek(position)
        if length <= _SMALL:
            # Headers stand close together; one reading serves many.
            self._window_start, self._window = position, self.read(_WINDOW)
            if length <= len(self._window):
                return self._window[:length]
            self.seek(position)
        pieces: list[bytes] = []
        while length > 0 and (piece := self.read(length)):
            pieces.append(piece)
            length -= len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        for file in self._files:
            if file:
                file.close()
        super().close()

    def __enter__(self) -> Self:
        return self
