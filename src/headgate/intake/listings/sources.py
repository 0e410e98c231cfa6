"""Beginning to follow listings: who looks at them, which host answers, and which series they bring."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.connectors.protocol import FoundChannel
from headgate.domain.errors import UserError
from headgate.domain.listings.title_patterns import TitlePattern
from headgate.intake.listings.addresses import ListingAddresses, is_sealed
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.logs import mask_url
from headgate.lanes.links import AccountRef, Links
from headgate.storage.channels.channels import list_accounts, upsert_account
from headgate.storage.database import Database, Tx
from headgate.storage.listings import hosts, listings, series
from headgate.storage.listings.hosts import HostName
from headgate.storage.listings.listings import Added

ANONYMOUS = "anonymous"
"""The account of platforms that need no sign-in."""


@dataclass(frozen=True)
class NewSource:
    """What a person wants a listing to bring."""

    found: FoundChannel
    series_id: UUID | None = None
    """An existing series; without one the listing's own, if it is one."""
    series_title: str = ""
    pattern: str = ""
    language: str = ""


@dataclass(frozen=True)
class SourceAdded:
    """A listing that is followed now, and the series it brings, if any."""

    channel_id: UUID
    is_new: bool
    series_id: UUID | None


@dataclass
class ListingSources:
    """Finds listings and follows them."""

    links: Links
    database: Database
    clock: Clock
    ids: Ids

    async def reader_of(self, platform: str) -> AccountRef:
        """Return the account that looks at a platform's listings: one that is signed in, or nobody's."""
        anonymous = "anonymous" in self.links.manifest(platform).capabilities
        async with self.database.transaction() as tx:
            accounts = [a for a in await list_accounts(tx) if a.platform == platform and a.state == "active"]
            accounts.sort(key=lambda account: account.name == ANONYMOUS)
            if accounts:
                first = accounts[0]
                return AccountRef(first.id, platform, first.name, first.established, first.sign_in)
            if not anonymous:
                raise UserError(
                    f"No account of the platform {platform!r} can look at it.",
                    remedy="Add an account first.",
                    command="headgate account add",
                )
            account_id = await upsert_account(
                tx, self.ids.new(), platform=platform, name=ANONYMOUS, established=True, now=self.clock.now()
            )
        return AccountRef(account_id, platform, ANONYMOUS, established=True)

    async def find(self, platform: str, query: str) -> list[FoundChannel]:
        """Return the listings that a person may mean, the likeliest first."""
        account = await self.reader_of(platform)
        async with self.links.call(account, "find", host=self.links.host_of(platform, query)) as link:
            return [found for found in await link.find(query) if found.kind == "listing"]

    async def add(self, platform: str, source: NewSource) -> SourceAdded:
        """Follow a listing, and let it bring a series if it is one or a person says so."""
        if source.pattern:
            TitlePattern.parse(source.pattern)
        account = await self.reader_of(platform)
        async with self.database.transaction() as tx:
            return await self.add_in(tx, account, source, now=self.clock.now())

    async def add_in(self, tx: Tx, account: AccountRef, source: NewSource, *, now: datetime) -> SourceAdded:
        """Follow a listing in the caller's transaction; one that is followed already keeps everything."""
        added = await self._insert(tx, account, source.found, now=now)
        if not (source.series_id or source.series_title or source.found.is_series):
            return SourceAdded(added.channel_id, added.is_new, None)
        series_id = source.series_id
        if series_id is None:
            known = (await listings.list_sources(tx, [added.channel_id]))[added.channel_id]
            series_id = next((one.series_id for one in known if one.pattern == source.pattern), None)
        if series_id is None:
            series_id = self.ids.new()
            title = source.series_title or source.found.title
            await series.insert_series(tx, series_id, title=title, now=now)
        await series.upsert_source(
            tx,
            series_id=series_id,
            channel_id=added.channel_id,
            pattern=source.pattern,
            language=source.language,
            now=now,
        )
        return SourceAdded(added.channel_id, added.is_new, series_id)

    async def _insert(self, tx: Tx, account: AccountRef, found: FoundChannel, *, now: datetime) -> Added:
        platform = account.platform
        address = self.links.key_of(platform, found.key)
        addresses = ListingAddresses(tx, self.links.secrets)
        key = await addresses.key_of(address)
        host = HostName(platform, self.links.host_of(platform, address))
        swept = "sweep" in self.links.manifest(platform).capabilities
        await hosts.upsert_host(tx, host, swept=swept, now=now)
        added = await listings.insert_listing(
            tx,
            self.ids.new(),
            platform=platform,
            key=key,
            title=mask_url(found.title) or key,
            host=host.name,
            reader_id=account.id,
            now=now,
        )
        if added is None:
            raise UserError(f"{key} is followed already, but not as a listing.")
        if is_sealed(key):
            await addresses.keep(added.channel_id, address)
        return added
