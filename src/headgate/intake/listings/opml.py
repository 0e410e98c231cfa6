"""Lists of feeds in and out: many listings at once, and the series that they bring."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from headgate.connectors.protocol import FoundChannel
from headgate.domain.errors import Elsewhere, UserError, WorkError
from headgate.domain.listings.opml import MAX_ADDRESS, OpmlFeed, parse_opml, write_opml
from headgate.domain.listings.title_patterns import TitlePattern
from headgate.intake.listings.addresses import ListingAddresses, shown_address
from headgate.intake.listings.sources import ListingSources, NewSource
from headgate.lanes.links import AccountRef
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.listings import series

PLATFORM = "feeds"
_BATCH = 100


@dataclass(frozen=True)
class Refusal:
    """A feed of a list that is not followed, and why."""

    feed: OpmlFeed
    reason: str


@dataclass(frozen=True)
class Imported:
    """What became of the feeds of a list."""

    added: Sequence[OpmlFeed]
    known: Sequence[OpmlFeed]
    """They were followed before, and nothing about them has changed."""
    refused: Sequence[Refusal]


@dataclass
class OpmlLists:
    """Takes lists of feeds, and writes them."""

    sources: ListingSources

    async def take(self, document: bytes) -> Imported:
        """Follow the feeds of a document; those that are followed already are left as they are."""
        feeds = await asyncio.to_thread(parse_opml, document)
        if not feeds:
            raise UserError(
                "The document has no feeds.",
                remedy="A feed is an outline with an xmlUrl; export the list again from your reader.",
            )
        wanted, refused = self._judge(feeds)
        account = await self.sources.reader_of(PLATFORM)
        added, known = list[OpmlFeed](), list[OpmlFeed]()
        # By address, so that two imports at the same time wait for each other instead of for ever.
        wanted.sort(key=lambda feed: feed.url)
        for start in range(0, len(wanted), _BATCH):
            async with self.sources.database.transaction() as tx:
                taking = _Taking(self.sources, tx, account, self.sources.clock.now())
                await taking.take(wanted[start : start + _BATCH])
            added += taking.added
            known += taking.known
            refused += taking.refused
        return Imported(added, known, refused)

    async def write(self, *, with_secrets: bool = False) -> str:
        """Return all feeds that are followed, as a document; one that brings two series is there twice."""
        async with self.sources.database.transaction() as tx:
            sourced = await series.list_sourced(tx, platform=PLATFORM)
            urls = {one.channel_id: one.key for one in sourced}
            if with_secrets:
                urls = await ListingAddresses(tx, self.sources.links.secrets).addresses_of(urls)
        feeds = [
            OpmlFeed(
                shown_address(urls[one.channel_id]),
                one.title,
                series=one.series_title,
                pattern=one.pattern,
                language=one.language,
            )
            for one in sourced
        ]
        now = self.sources.clock.now()
        return await asyncio.to_thread(write_opml, feeds, title="Feeds in Headgate", now=now)

    def _judge(self, feeds: Iterable[OpmlFeed]) -> tuple[list[OpmlFeed], list[Refusal]]:
        """Tell apart what can be followed, by its one name, and what cannot."""
        wanted, refused = dict[tuple[str, str], OpmlFeed](), list[Refusal]()
        for feed in feeds:
            try:
                checked = self._checked(feed)
                # A feed that lies in two folders is one.
                wanted.setdefault((checked.url, checked.series.lower()), checked)
            except Elsewhere:
                raise UserError(
                    "Feeds cannot be read in this installation.", remedy="Install headgate[feeds]."
                ) from None
            except (UserError, WorkError) as error:
                refused.append(Refusal(feed, str(error)))
        return list(wanted.values()), refused

    def _checked(self, feed: OpmlFeed) -> OpmlFeed:
        if feed.pattern:
            TitlePattern.parse(feed.pattern)
        url = self.sources.links.key_of(PLATFORM, feed.url)
        if len(url) > MAX_ADDRESS:
            raise UserError(f"The address has more than {MAX_ADDRESS:,} characters.")
        return replace(feed, url=url)


class _Taking:
    """One batch, in one transaction."""

    def __init__(self, sources: ListingSources, tx: Tx, account: AccountRef, now: datetime) -> None:
        self.sources, self.tx, self.account, self.now = sources, tx, account, now
        self.added: list[OpmlFeed] = []
        self.known: list[OpmlFeed] = []
        self.refused: list[Refusal] = []

    async def take(self, feeds: Sequence[OpmlFeed]) -> None:
        addresses = ListingAddresses(self.tx, self.sources.links.secrets)
        keys = {feed.url: await addresses.key_of(feed.url) for feed in feeds}
        sourced = await series.list_sourced(self.tx, platform=PLATFORM, keys=list(keys.values()))
        brought = {(one.key, one.series_title.lower()) for one in sourced}
        listed = {one.key for one in sourced}
        titled = await series.list_titled(self.tx, [feed.series for feed in feeds if feed.series])
        named = {title.lower(): series_id for title, series_id in titled.items()}
        for feed in feeds:
            key = keys[feed.url]
            if key in listed and (not feed.series or (key, feed.series.lower()) in brought):
                self.known.append(feed)
            else:
                await self._add(feed, named)
        if self.added:
            await publish(self.tx, Event("series"))

    async def _add(self, feed: OpmlFeed, named: dict[str, UUID]) -> None:
        try:
            source = NewSource(FoundChannel(feed.url, feed.title, "listing"))
            added = await self.sources.add_in(self.tx, self.account, source, now=self.now)
        except UserError as error:
            self.refused.append(Refusal(feed, str(error)))
            return
        if feed.series:
            await self._map(feed, added.channel_id, named)
        self.added.append(feed)

    async def _map(self, feed: OpmlFeed, channel_id: UUID, named: dict[str, UUID]) -> None:
        """Let a feed bring its series; one of the same name is the one that is meant."""
        series_id = named.get(feed.series.lower())
        if series_id is None:
            series_id = named[feed.series.lower()] = self.sources.ids.new()
            await series.insert_series(self.tx, series_id, title=feed.series, now=self.now)
        await series.upsert_source(
            self.tx,
            series_id=series_id,
            channel_id=channel_id,
            pattern=feed.pattern,
            language=feed.language,
            now=self.now,
        )
