"""What is taken together: small files are written, stored and noted together."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from headgate.intake.fetching.storing import PulledFile
from headgate.storage.blobs.spools import Spool
from headgate.storage.library.fetch_lines import FetchFile
from headgate.storage.library.files import ReleasedFile


@dataclass
class FetchBatch:
    """Files that are fetched one after the other and stored together."""

    released: list[ReleasedFile]
    """Those that are given back without their content."""
    room_keys: tuple[str, ...] = ()
    """Whose room they have already, their own and that of the rest of their sets; empty: each asks."""
    pulled: list[PulledFile] = field(default_factory=list[PulledFile])
    stored: set[UUID] = field(default_factory=set[UUID])
    spools: dict[str, Spool | Exception] = field(default_factory=dict[str, "Spool | Exception"])
    """Opened together, by their keys; empty if each is opened in its turn."""

    def take_spool(self, file: FetchFile) -> Spool | None:
        """Return the open spool of a file, which is the caller's from now on, or raise why there is none."""
        spool = self.spools.pop(file.key, None)
        if isinstance(spool, Exception):
            raise spool
        return spool

    async def until_written(self) -> None:
        """Wait while the disk is behind by a file."""
        for _, spool in self.pulled[-2:-1]:
            await spool.until_written()

    async def close(self) -> None:
        for _, spool in self.pulled:
            await spool.close()
        for spool in self.spools.values():
            if isinstance(spool, Spool):
                await spool.close()
