"""Series with chapters and sources, follows and notifications as a person would have them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.domain.listings.listings import Entry
from headgate.intake.listings.entries import Answered, News
from headgate.kernel.clock import RealClock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.outflow.notifications import follows, reading
from headgate.storage.channels.channels import upsert_account
from headgate.storage.database import Database, Tx
from headgate.storage.listings import hosts, listings, series
from headgate.storage.listings.hosts import HostName
from headgate.storage.listings.releases import take_releases
from headgate.storage.notifications.follows import Subject, Switches

LONG = (
    "A series whose title goes on and on, because its author could not decide which of the names was the best"
)
TITLES = ("The Lighthouse Keeper’s Cat", "Tidewater", "Paper Cranes", LONG, "Second Harvest")
GROUPS = ("Harbour Scans", "", "Old Mill Translations")
LANGUAGES = ("en", "pt-br", "")


@dataclass(frozen=True)
class SeriesScene:
    """What there is to look at."""

    series_id: UUID
    failing_id: UUID
    feed_id: UUID


@dataclass
class _Maker:
    tx: Tx
    ids: Ids
    now: datetime
    account_id: UUID

    async def listing(self, key: str, title: str, *, platform: str, host: str) -> UUID:
        await hosts.upsert_host(self.tx, HostName(platform, host), swept=False, now=self.now)
        added = await listings.insert_listing(
            self.tx,
            self.ids.new(),
            platform=platform,
            key=key,
            title=title,
            host=host,
            reader_id=self.account_id,
            now=self.now,
        )
        assert added is not None
        return added.channel_id

    async def source(self, series_id: UUID, channel_id: UUID, *, pattern: str = "") -> None:
        await series.upsert_source(
            self.tx, series_id=series_id, channel_id=channel_id, pattern=pattern, now=self.now
        )

    async def publish(self, channel_id: UUID, entries: list[Entry]) -> None:
        sources = (await listings.list_sources(self.tx, [channel_id]))[channel_id]
        answered, found = Answered.of(channel_id, entries, sources, first_poll=True), News()
        answered.sort(range(len(answered.entries)), into=found)
        await take_releases(self.tx, found.releases, ids=self.ids, now=self.now)

    def entries(self, prefix: str, numbers: range, *, every: timedelta) -> list[Entry]:
        last = numbers[-1]
        return [
            Entry(
                key=f"{prefix}-{number}",
                title=f"The {('storm', 'letter', 'long way round')[number % 3]}",
                url=f"https://{prefix}.example/{number}",
                published_at=self.now - every * (last - number) - timedelta(minutes=40),
                number=str(number) if number % 12 else f"{number}.5",
                volume=str(number // 10 + 1),
                language=LANGUAGES[number % 3],
                group=GROUPS[number % 3],
                external=number % 7 == 0,
            )
            for number in numbers
        ]


async def set_series(database: Database, user_id: UUID) -> SeriesScene:
    """Make five series, one with three sources of which one fails, and notifications of a week."""
    ids, now = Ids(RealClock(), Randomness(5)), RealClock().now()
    async with database.transaction() as tx:
        account_id = await upsert_account(
            tx, ids.new(), platform="feeds", name="anonymous", established=True, now=now
        )
        maker = _Maker(tx, ids, now, account_id)
        made = [await _series(maker, number, title) for number, title in enumerate(TITLES)]
        first = made[0]
        failing = await maker.listing(
            "https://slow.example/rss", "Slow mirror", platform="feeds", host="slow.example"
        )
        await maker.source(first, failing, pattern="The Lighthouse Keeper’s Cat {number}*")
        await _fail(tx, failing, account_id, now)
        feed = await maker.listing(
            "https://journal.example/feed.xml", "Harbour journal", platform="feeds", host="journal.example"
        )
        await tx.raw(
            "update listing set succeeded_at = $2, checked_at = $2, due_at = $3 where channel_id = $1",
            [feed, now - timedelta(minutes=12), now + timedelta(minutes=18)],
        )
        for series_id in made[:4]:
            await follows.follow(
                tx,
                Subject(series_id=series_id),
                Switches(languages=("en", "pt-br") if series_id == first else ()),
                user_id=user_id,
                ids=ids,
                now=now - timedelta(days=3),
            )
        chapters = await series.list_chapters(tx, first, limit=10)
        await reading.mark_read_up_to(tx, chapters[3].id, user_id=user_id, now=now)
        await _tell(maker, made, user_id)
    return SeriesScene(first, failing, feed)


async def _series(maker: _Maker, number: int, title: str) -> UUID:
    series_id = maker.ids.new()
    await series.insert_series(maker.tx, series_id, title=title, now=maker.now)
    channel_id = await maker.listing(
        f"series-{number}", f"{title} on the site", platform="mangadex", host="site.example"
    )
    await maker.source(series_id, channel_id)
    every = timedelta(days=(1, 7, 3, 30, 90)[number])
    await maker.publish(
        channel_id, maker.entries(f"s{number}", range(1, 64 if not number else 9), every=every)
    )
    await maker.tx.raw(
        "update listing set tier = $2, tier_reason = $3, succeeded_at = $4, checked_at = $4, due_at = $5,"
        " reason = 'due', asked = false where channel_id = $1",
        [
            channel_id,
            ("HOT", "COLD", "WARM", "COLD", "COLD")[number],
            ("daily_due", "weekly_resting", "irregular", "slow", "silent")[number],
            maker.now - timedelta(minutes=2),
            maker.now + timedelta(minutes=3 + 50 * number),
        ],
    )
    if not number:
        await maker.tx.raw(
            "insert into tier_change (channel_id, number, at, from_tier, to_tier, reason)"
            " values ($1, 1, $2, 'WARM', 'HOT', 'daily_due')",
            [channel_id, maker.now - timedelta(hours=2)],
        )
        mirror = await maker.listing("mirror", "Mirror of the Cat", platform="feeds", host="mirror.example")
        await maker.source(series_id, mirror)
        await maker.publish(mirror, maker.entries("mirror", range(55, 64), every=every))
        await maker.tx.raw(
            "update release set removed_at = $2"
            " where channel_id = $1 and entry_key in ('mirror-62', 'mirror-60')",
            [mirror, maker.now - timedelta(hours=5)],
        )
        await maker.tx.raw(
            "update listing set succeeded_at = $2, due_at = $3, reason = 'due' where channel_id = $1",
            [mirror, maker.now - timedelta(minutes=9), maker.now + timedelta(minutes=21)],
        )
    return series_id


async def _fail(tx: Tx, channel_id: UUID, account_id: UUID, now: datetime) -> None:
    await tx.raw(
        "insert into watch"
        " (account_id, channel_id, failures, opened, open_until, error_class, error_message, created_at)"
        " values ($1, $2, 6, 2, $3, 'Transient', 'The server answered 502 Bad Gateway.', $4)"
        " on conflict (account_id, channel_id) do update set failures = 6, opened = 2, open_until = $3,"
        " error_class = 'Transient', error_message = excluded.error_message",
        [account_id, channel_id, now + timedelta(minutes=9), now],
    )
    await tx.raw(
        "update listing set due_at = $2, reason = 'breaker_open' where channel_id = $1",
        [channel_id, now + timedelta(minutes=9)],
    )


async def _tell(maker: _Maker, made: list[UUID], user_id: UUID) -> None:
    """Tell of chapters of the last days, as telling does it."""
    for number in range(14):
        which = number % 4
        at = maker.now - timedelta(hours=1 + number * 9)
        await maker.tx.raw(
            "insert into notification"
            " (id, user_id, subject, series_id, title, body, url, at, in_app, push, read_at)"
            " values ($1, $2, $3, $4, $5, $6, $7, $8, true, true, $9)",
            [
                maker.ids.new(),
                user_id,
                f"scene {number}",
                made[which],
                TITLES[which],
                f"Chapter {63 - number}: The long way round ({GROUPS[number % 3] or 'en'})",
                f"https://site.example/{number}",
                at,
                None if number < 3 else at + timedelta(minutes=20),
            ],
        )
