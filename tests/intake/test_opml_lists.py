"""Lists of feeds: many are followed at once, and what is exported comes back the same."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from bench import Bench

from headgate.connectors.feeds import FeedBounds, FeedsConnector
from headgate.domain.errors import UserError
from headgate.domain.listings.opml import NAMESPACE, OpmlFeed, parse_opml, write_opml
from headgate.intake.listings.opml import PLATFORM, OpmlLists
from headgate.intake.listings.sources import ListingSources
from headgate.lanes.links import Links
from headgate.storage.listings import series
from headgate.storage.listings.series import SourcedListing

OLD = datetime(2026, 1, 1, tzinfo=UTC)
BOUNDS = FeedBounds(timeout_s=5, max_bytes=1_000_000, user_agent="Headgate tests", allow_private=True)


@pytest.fixture
def lists(bench: Bench) -> OpmlLists:
    parts = bench.parts
    connectors = {PLATFORM: FeedsConnector(BOUNDS, parts.clock)}
    links = Links(connectors, parts.links.lanes, parts.links.secrets)
    return OpmlLists(ListingSources(links, parts.database, parts.clock, parts.ids))


def document(*feeds: OpmlFeed) -> bytes:
    return write_opml(feeds, title="Mine", now=OLD).encode()


async def followed(lists: OpmlLists) -> list[SourcedListing]:
    async with lists.sources.database.transaction() as tx:
        return await series.list_sourced(tx, platform=PLATFORM)


async def test_feeds_of_a_list_are_followed_once(lists: OpmlLists) -> None:
    first = await lists.take(document(OpmlFeed("https://a.example/feed", "A")))
    again = await lists.take(document(OpmlFeed("HTTPS://A.example:443/feed", "Other")))
    assert ([feed.title for feed in first.added], [feed.title for feed in again.known]) == (["A"], ["Other"])
    assert [(one.key, one.title) for one in await followed(lists)] == [("https://a.example/feed", "A")]


async def test_what_cannot_be_followed_is_named_and_the_rest_goes_on(lists: OpmlLists) -> None:
    told = await lists.take(
        document(
            OpmlFeed("ftp://a.example/", "Ftp"),
            OpmlFeed("https://b.example/" + "x" * 3000, "Long"),
            OpmlFeed("https://c.example/", "Vague", series="C", pattern="*"),
            OpmlFeed("https://d.example/", "Good"),
        )
    )
    assert [feed.title for feed in told.added] == ["Good"]
    assert [(one.feed.title, one.reason.partition(".")[0][:40]) for one in told.refused] == [
        ("Ftp", "the address is ftp:, but feeds are read "),
        ("Long", "The address has more than 2,000 characte"),
        ("Vague", "The title pattern has no fixed text, so "),
    ]


async def test_a_feed_in_two_folders_is_one(lists: OpmlLists) -> None:
    outline = '<outline text="X"><outline xmlUrl="https://a.example/"/></outline>'
    body = f'<opml version="2.0"><body>{outline}{outline.replace("X", "Y")}</body></opml>'
    told = await lists.take(body.encode())
    assert (len(told.added), len(told.known), len(told.refused)) == (1, 0, 0)


async def test_sources_of_one_series_meet_again(lists: OpmlLists) -> None:
    await lists.take(
        document(
            OpmlFeed("https://a.example/", "A", series="One Piece", pattern="One Piece {number}*"),
            OpmlFeed("https://b.example/", "B", series="one piece"),
            OpmlFeed("https://a.example/", "A", series="Berserk", pattern="Berserk {number}"),
        )
    )
    found = await followed(lists)
    assert [(one.title, one.series_title, one.pattern) for one in found] == [
        ("A", "Berserk", "Berserk {number}"),
        ("A", "One Piece", "One Piece {number}*"),
        ("B", "One Piece", ""),
    ]
    assert found[1].series_id == found[2].series_id


async def test_an_export_imports_back_the_same(lists: OpmlLists) -> None:
    await lists.take(
        document(
            OpmlFeed(
                "https://me:pw@a.example/?k=1&l=2",
                "A <b>",
                series="S & T",
                pattern='"{number}" S',
                language="en",
            ),
            OpmlFeed("https://b.example/", "B"),
        )
    )
    exported = await lists.write(with_secrets=True)
    told = await lists.take(exported.encode())
    assert (len(told.added), len(told.known), len(told.refused)) == (0, 2, 0)
    assert await lists.write(with_secrets=True) == exported
    assert f'xmlns:headgate="{NAMESPACE}"' in exported
    assert [feed.pattern for feed in parse_opml(exported.encode())] == ['"{number}" S', ""]


async def test_a_known_feed_keeps_the_pattern_that_a_person_gave_it(lists: OpmlLists) -> None:
    await lists.take(document(OpmlFeed("https://a.example/", "A", series="S", pattern="S {number}")))
    await lists.take(document(OpmlFeed("https://a.example/", "A", series="S", pattern="S - {number}")))
    assert [one.pattern for one in await followed(lists)] == ["S {number}"]


async def test_an_empty_list_is_refused(lists: OpmlLists) -> None:
    with pytest.raises(UserError, match="no feeds"):
        await lists.take(document())


async def test_more_feeds_than_one_batch_are_all_followed(lists: OpmlLists) -> None:
    told = await lists.take(document(*(OpmlFeed(f"https://a.example/{n}", f"F{n}") for n in range(250))))
    assert (len(told.added), len(await followed(lists))) == (250, 250)
