"""How much may arrive of a file whose size nobody vouches for."""

from __future__ import annotations

from headgate.domain.errors import WorkError
from headgate.domain.words.file_words import over_limit_text
from headgate.intake.channels.rules import RulesCache
from headgate.storage.database import Database
from headgate.storage.library.fetch_lines import FetchFile
from headgate.storage.library.files import get_claimed


class TooLarge(WorkError):
    """More arrived than settings allow; the same would arrive again."""

    retryable = False


class ByteLimit:
    """What settings allow of one download; what a person asked for has no limit."""

    def __init__(self, file: FetchFile, *, max_bytes: int, left_bytes: int) -> None:
        self._file = file
        self._max_bytes = max_bytes
        self._left_bytes = left_bytes

    def check(self, length: int) -> None:
        """Raise `TooLarge` if so much must not be kept."""
        if self._max_bytes and length > self._left_bytes:
            raise TooLarge(over_limit_text(self._max_bytes, claimed_bytes=self._file.size_bytes))


async def find_limit(database: Database, rules: RulesCache, file: FetchFile) -> ByteLimit:
    """Return what settings allow now; the stored rest of a set counts, as their limit is for the whole."""
    async with database.transaction() as tx:
        claimed = await get_claimed(tx, file.sighting_id)
        if claimed is None or claimed.asked:
            return ByteLimit(file, max_bytes=0, left_bytes=0)
        max_bytes = (await rules.get(tx, file.channel_id)).fetch_for(claimed.topic).max_bytes
    return ByteLimit(file, max_bytes=max_bytes, left_bytes=max_bytes - claimed.others_bytes)
