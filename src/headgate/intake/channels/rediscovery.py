"""Listing an account's channels again, now and then: what is new, renamed or gone since the last time.

New channels of a parent are followed if the account watches others of it, and inherit the parent's settings.
What has vanished is marked, and nothing of it is deleted. What a person removed stays removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.connectors.protocol import FoundChannel
from headgate.domain.errors import AccountTrouble, Elsewhere, RateLimited, WorkError
from headgate.domain.streams.schedule import JITTER
from headgate.intake.channels.discovery import follow, home_of, streams_of
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.lanes.links import AccountRef, Links
from headgate.lanes.places import ask_platform
from headgate.storage.channels import discovery
from headgate.storage.channels.following import list_followed
from headgate.storage.database import Tx
from headgate.storage.streams.watches import get_watcher

KIND = "discover"
RETRY_S = 900.0
NOTHING_LISTED = "no channel at all was listed, so those that are known are kept"


class DiscoveryRows:
    """Accounts whose channels are to be listed again, as the work of the kind `discover`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await discovery.list_discovering(tx, now=now, limit=limit)

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        await discovery.set_discovery_due(tx, key, due_at=until)

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        await discovery.set_discovery_due(tx, key, due_at=now)


@dataclass
class Discoverer:
    """Lists the channels of accounts again."""

    links: Links
    clock: Clock
    ids: Ids
    randomness: Randomness
    every_s: float | None = None
    """How often channels are listed again; empty: as the platform's connector says."""

    def kind(self) -> Kind[UUID]:
        return Kind(name=KIND, parse_key=UUID, handle=self.discover, rows=DiscoveryRows())

    async def discover(self, job: Job[UUID]) -> None:
        """List an account's channels by one call, and follow what belongs to what is followed."""
        async with job.database.transaction() as tx:
            reader = await get_watcher(tx, job.key)
            wish = await discovery.get_discovery(tx, job.key)
        if reader is None or reader.state != "active" or wish is None or wish.due_at is None:
            return
        account = AccountRef(reader.id, reader.platform, reader.name, reader.established, reader.sign_in)
        found: Sequence[FoundChannel] | None = None
        message = ""
        try:
            found = streams_of(await ask_platform(self.links, account))
        except (RateLimited, Elsewhere, AccountTrouble):
            raise
        except WorkError as error:
            message = str(error)
        if found is not None and not found:
            # A platform in trouble may answer so; that everything is gone is not believed.
            message = NOTHING_LISTED
        async with job.finish() as tx:
            now = self.clock.now()
            if found:
                await self._take_in(tx, account, found, now=now)
            every_s = self.every_s or self.links.manifest(account.platform).discover_every_s
            rest_s = self.randomness.jittered(RETRY_S if found is None else every_s, part=JITTER)
            await discovery.end_discovery(
                tx,
                account.id,
                seen=wish.seq,
                due_at=now + timedelta(seconds=rest_s),
                discovered_at=now if found else None,
                error=message,
                now=now,
            )

    async def _take_in(
        self, tx: Tx, account: AccountRef, found: Sequence[FoundChannel], *, now: datetime
    ) -> None:
        home, keys = home_of(self.links, account), [channel.key for channel in found]
        watched = {one.key for one in await list_followed(tx, keys, home) if one.watched}
        parents = await discovery.list_watched_parents(tx, [one.parent for one in found if one.parent], home)
        removed = await discovery.list_removed(tx, keys, home)
        new = await discovery.note_seen(tx, account.id, keys, now=now) - removed
        wanted = [one for one in found if one.key in watched or (one.key in new and one.parent in parents)]
        await follow(tx, wanted, home, ids=self.ids, now=now)
        await discovery.mark_gone(tx, account.id, keys, now=now)
