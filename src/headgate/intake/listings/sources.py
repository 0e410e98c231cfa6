"""Actions that find feeds and series on platforms, and add them as sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from headgate.connectors.protocol import Connector, FoundChannel
from headgate.domain.errors import UserError
from headgate.domain.listings.title_patterns import MAX_PATTERN, TitlePattern
from headgate.domain.text import MAX_TITLE_LENGTH, check_languages, typed_text
from headgate.intake.listings.addresses import ListingAddresses, is_sealed
from headgate.intake.listings.series import check_title, get_series
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.logs import mask_url
from headgate.lanes.links import AccountRef, Links
from headgate.storage.channels.channels import list_accounts, upsert_account
from headgate.storage.database import Database, Tx
from headgate.storage.events import Event, publish
from headgate.storage.listings import hosts, listings, series
from headgate.storage.listings.hosts import HostName
from headgate.storage.listings.listings import Added

ANONYMOUS = "anonymous"
"""The account of platforms that need no sign-in."""
FEEDS = "feeds"
SIMULATED = "simulated"
KNOWN_BY_TITLE = (SIMULATED, "mangadex")
"""Platforms on which a title finds a series; a demo's own comes first."""


def guess_platform(connectors: Mapping[str, Connector], query: str) -> str:
    """Return where something is most likely found: an address by its site, a title where titles are known."""
    if "://" in query:
        return next((name for name, connector in connectors.items() if connector.owns(query)), FEEDS)
    return next((name for name in KNOWN_BY_TITLE if name in connectors), KNOWN_BY_TITLE[-1])


@dataclass(frozen=True)
class NewSource:
    """What a person wants a listing to bring: posts, chapters of its own series, or of the one named here."""

    found: FoundChannel
    series_id: UUID | None = None
    series_title: str = ""
    """A series that has this title gets one more source; if there is none, it is created."""
    pattern: str = ""
    language: str = ""
    needs_series: bool = False
    """It must bring a series, so a feed needs a title or a pattern."""


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
        """Return the account that polls a platform's listings: a signed-in one, or the anonymous one."""
        anonymous = "anonymous" in self.links.manifest(platform).capabilities
        async with self.database.transaction() as tx:
            accounts = [a for a in await list_accounts(tx) if a.platform == platform and a.state == "active"]
            accounts.sort(key=lambda account: account.name == ANONYMOUS)
            if accounts:
                first = accounts[0]
                return AccountRef(first.id, platform, first.name, first.established, first.sign_in)
            if not anonymous:
                raise UserError(
                    f"No account of the platform {platform!r} can read it.",
                    remedy="Add an account first.",
                    command="headgate account add",
                )
            account_id = await upsert_account(
                tx, self.ids.new(), platform=platform, name=ANONYMOUS, established=True, now=self.clock.now()
            )
        return AccountRef(account_id, platform, ANONYMOUS, established=True)

    async def find(self, platform: str, query: str) -> list[FoundChannel]:
        """Ask a platform which listings a person may mean, the likeliest first."""
        query = query.strip()
        manifest = self.links.manifest(platform)
        if not {"listings", "find"} <= manifest.capabilities:
            raise UserError(
                f"{manifest.title} has no series or feeds to find.",
                remedy="Choose another platform.",
                field="platform",
            )
        account = await self.reader_of(platform)
        async with self.links.call(account, "find", host=self.links.host_of(platform, query)) as link:
            return [found for found in await link.find(query) if found.kind == "listing"]

    async def add(self, platform: str, source: NewSource) -> SourceAdded:
        """Add a listing; one that was added before keeps everything, and can bring one more series."""
        source = _check(source)
        account = await self.reader_of(platform)
        async with self.database.transaction() as tx:
            if source.series_id is not None:
                await get_series(tx, source.series_id)
            elif source.series_title:
                source = replace(source, series_id=await _find_titled(tx, source.series_title))
            added = await self.add_in(tx, account, source, now=self.clock.now())
            await publish(tx, Event("series"))
        return added

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
            title = source.series_title or typed_text(source.found.title, max_length=MAX_TITLE_LENGTH)
            await series.insert_series(tx, series_id, title=title or mask_url(source.found.key), now=now)
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
            raise UserError(f"{key} is already followed as something other than a feed or series.")
        if is_sealed(key):
            await addresses.keep(added.channel_id, address)
        return added


def check_entries(pattern: str, language: str) -> tuple[str, str]:
    """Return which entries a source takes and their language as they are stored, or say what is wrong."""
    text = typed_text(pattern, max_length=MAX_PATTERN + 1)
    return TitlePattern.parse(text).text if text else "", next(iter(check_languages([language])), "")


def _check(source: NewSource) -> NewSource:
    """Return a source as it is stored; a new series is called as a person says, else as its pattern."""
    pattern, language = check_entries(source.pattern, source.language)
    title = check_title(source.series_title) if source.series_title else ""
    if not (title or source.series_id or source.found.is_series):
        if pattern:
            title = TitlePattern(pattern).series_title
        elif source.needs_series:
            raise UserError(
                f"{source.found.title or mask_url(source.found.key)} is a feed and does not name a series.",
                remedy="Give the series a title, or a pattern if only some entries are its chapters; or add"
                " it as a feed.",
                command="headgate feed add ADDRESS",
                field="title",
            )
    return replace(source, series_title=title, pattern=pattern, language=language)


async def _find_titled(tx: Tx, title: str) -> UUID | None:
    found = [one for one in await series.find_series(tx, title) if one.title.lower() == title.lower()]
    if len(found) > 1:
        raise UserError(
            f"{len(found)} series are called “{title}”.",
            remedy="Choose one of them and add the source to it.",
            field="title",
        )
    return found[0].id if found else None
